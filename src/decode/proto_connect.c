/* Protobuf messages as Connect schemas. See proto.h. Every column may be null; a message that stands below itself is a document there. */
#include "proto_parts.h"

#define MAX_DEPTH 64

static struct mr_connect_schema *of_kind(enum mr_connect_kind kind, struct mr_arena *ar)
{
    return mr_connect_make(kind, MR_STR(""), NULL, MR_JSON_NONE, ar);
}

static struct mr_connect_schema *with(enum mr_connect_kind kind, enum mr_semantic semantic,
                                      struct mr_type type, struct mr_arena *ar)
{
    struct mr_connect_schema *out = of_kind(kind, ar);
    out->semantic = (uint8_t)semantic;
    out->type = type;
    out->type.origin = MR_SCHEMA;
    return out;
}

static struct mr_connect_schema *document(struct mr_arena *ar)
{
    return with(MR_C_ANY, MR_S_DOCUMENT, MR_TYPE(MR_T_JSON), ar);
}

static struct mr_connect_schema *make_scalar(const struct mr_proto_field *f, struct mr_arena *ar)
{
    bool is_small = mr_str_eq_z(f->meta_type, "int8") || mr_str_eq_z(f->meta_type, "int16");
    switch ((enum mr_proto_type)f->type) {
    case MR_P_DOUBLE:
        return of_kind(MR_C_FLOAT64, ar);
    case MR_P_FLOAT:
        return of_kind(MR_C_FLOAT32, ar);
    case MR_P_BOOL:
        return of_kind(MR_C_BOOLEAN, ar);
    case MR_P_STRING:
    case MR_P_ENUM:
        return of_kind(MR_C_STRING, ar);
    case MR_P_BYTES:
        return of_kind(MR_C_BYTES, ar);
    case MR_P_INT32:
    case MR_P_SINT32:
    case MR_P_SFIXED32:
        return of_kind(is_small ? MR_C_INT16 : MR_C_INT32, ar);
    case MR_P_UINT32:
    case MR_P_FIXED32:
    case MR_P_INT64:
    case MR_P_SINT64:
    case MR_P_SFIXED64:
        return of_kind(MR_C_INT64, ar);
    case MR_P_UINT64:
    case MR_P_FIXED64:
        return with(MR_C_INT64, MR_S_UNSIGNED64, MR_TYPE_DECIMAL(20, 0), ar);
    case MR_P_MESSAGE:
    case MR_P_GROUP:
    case MR_P_NAMED:
        break;
    }
    return document(ar);
}

static struct mr_connect_schema *make_decimal(const struct mr_proto_field *f, struct mr_arena *ar)
{
    int64_t precision = 0, scale = 0;
    if (f == NULL || !mr_parse_int64(f->meta_precision, &precision) ||
        (f->meta_scale.len != 0 && !mr_parse_int64(f->meta_scale, &scale)) || scale < 0 || scale > 1000)
        precision = 0;
    return with(MR_C_STRING, MR_S_DECIMAL_TEXT, mr_connect_decimal_type(precision, (int32_t)scale), ar);
}

static const struct mr_connect_schema *make_field(const struct mr_proto_field *f, struct mr_arena *ar,
                                                  unsigned depth);

static const struct mr_connect_schema *make_message(const struct mr_proto_message *shared,
                                                    const struct mr_proto_field *f, struct mr_arena *ar,
                                                    unsigned depth)
{
    struct mr_proto_message *msg = (struct mr_proto_message *)shared; /* what is made is kept in it */
    switch ((enum mr_proto_known)msg->known) {
    case MR_PK_TIMESTAMP:
        return with(MR_C_INT64, MR_S_INSTANT_US, MR_TYPE(MR_T_TIMESTAMPTZ), ar);
    case MR_PK_DURATION:
        return with(MR_C_INT64, MR_S_DURATION_US, MR_TYPE(MR_T_DURATION), ar);
    case MR_PK_WRAPPER:
        return make_field(&msg->fields[0], ar, depth + 1);
    case MR_PK_DATE:
        return with(MR_C_INT32, MR_S_DATE, MR_TYPE(MR_T_DATE), ar);
    case MR_PK_TIME_OF_DAY:
        return with(MR_C_INT64, MR_S_DAY_TIME_US, MR_TYPE(MR_T_TIME), ar);
    case MR_PK_DECIMAL:
        return make_decimal(f, ar);
    case MR_PK_STRUCT:
    case MR_PK_VALUE:
    case MR_PK_LIST:
        return document(ar);
    case MR_PK_NONE:
        break;
    }
    if (msg->connect != NULL)
        return msg->connect;
    if (msg->is_compiling || depth > MAX_DEPTH)
        return document(ar);
    msg->is_compiling = true;
    struct mr_connect_schema *out = of_kind(MR_C_STRUCT, ar);
    struct mr_connect_field *fields = mr_arena_zalloc(ar, (msg->field_count + 1) * sizeof(*fields));
    for (size_t i = 0; i < msg->field_count; i++) {
        fields[i].name = msg->fields[i].name;
        fields[i].schema = make_field(&msg->fields[i], ar, depth + 1);
        out->renders = out->renders || fields[i].schema->renders;
    }
    mr_connect_set_fields(out, fields, (uint32_t)msg->field_count, ar);
    msg->is_compiling = false;
    msg->connect = out;
    return out;
}

/* Does a value stand in a document in another form than in the message: as a date, a decimal, … */
static bool has_own_form(const struct mr_connect_schema *schema)
{
    return schema->renders || (schema->semantic != MR_S_PLAIN && schema->semantic != MR_S_DOCUMENT &&
                               schema->semantic != MR_S_UNSIGNED64);
}

static const struct mr_connect_schema *make_field(const struct mr_proto_field *f, struct mr_arena *ar,
                                                  unsigned depth)
{
    const struct mr_proto_field *value = f->is_map ? &f->message->fields[1] : f;
    const struct mr_connect_schema *one = value->type == MR_P_MESSAGE || value->type == MR_P_GROUP
                                              ? make_message(value->message, value, ar, depth)
                                              : make_scalar(value, ar);
    if (!f->is_repeated) {
        struct mr_connect_schema *out = mr_arena_alloc(ar, sizeof(*out));
        *out = *one;
        out->renders = has_own_form(one);
        return out;
    }
    struct mr_connect_schema *out =
        with(f->is_map ? MR_C_MAP : MR_C_ARRAY, MR_S_DOCUMENT, MR_TYPE(MR_T_JSON), ar);
    out->items = one;
    out->renders = has_own_form(one);
    return out;
}

const struct mr_connect_schema *mr_proto_connect(struct mr_proto *p, struct mr_proto_message *msg)
{
    return make_message(msg, NULL, p->ar, 0);
}
