/* .proto text (proto2, proto3, editions) to messages and enums. See proto.h. Services, extensions and options that do not change how data is
 * read are passed over. */
#include "proto_parts.h"

#define MAX_TEXT (1u << 20) /* of one option */

struct parse {
    struct mr_proto *p;
    struct mr_proto_lex lex;
    struct mr_str package;
    bool is_proto3;    /* a scalar that is absent is its default */
    bool is_delimited; /* messages are written as groups */
    unsigned depth;
    struct mr_error *err;
};

static enum mr_status wrong(struct parse *ps, const char *what_z)
{
    return mr_fail_data(ps->err, MR_CODE_BAD_SCHEMA,
                        "the Protobuf schema, line %u: %s expected, there is \"%.*s\"", ps->lex.line, what_z,
                        (int)(ps->lex.word.len < 40 ? ps->lex.word.len : 40),
                        ps->lex.word.len ? ps->lex.word.ptr : "");
}

static bool is_sign(const struct parse *ps, char c)
{
    return ps->lex.kind == MR_W_SIGN && ps->lex.word.ptr[0] == c;
}

static bool is_name(const struct parse *ps, const char *name_z)
{
    return ps->lex.kind == MR_W_NAME && mr_str_eq_z(ps->lex.word, name_z);
}

static bool take_sign(struct parse *ps, char c)
{
    if (!is_sign(ps, c))
        return false;
    mr_proto_lex_next(&ps->lex);
    return true;
}

static enum mr_status want_sign(struct parse *ps, char c)
{
    char text[2] = {c, 0};
    return take_sign(ps, c) ? MR_OK : wrong(ps, text);
}

static enum mr_status want_name(struct parse *ps, struct mr_str *out)
{
    if (ps->lex.kind != MR_W_NAME)
        return wrong(ps, "a name");
    *out = mr_arena_copy(ps->p->ar, ps->lex.word);
    mr_proto_lex_next(&ps->lex);
    return MR_OK;
}

static bool number_of(struct mr_str s, int64_t *out)
{
    if (s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] == 'x' || s.ptr[1] == 'X')) {
        *out = 0;
        for (size_t i = 2; i < s.len && i < 10; i++) {
            char c = s.ptr[i];
            *out = *out * 16 + (c >= '0' && c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        }
        return s.len <= 10;
    }
    return mr_parse_int64(s, out);
}

static enum mr_status want_number(struct parse *ps, int64_t least, int64_t most, int64_t *out)
{
    bool is_negative = take_sign(ps, '-');
    if (ps->lex.kind != MR_W_NUMBER || !number_of(ps->lex.word, out))
        return wrong(ps, "a whole number");
    *out = is_negative ? -*out : *out;
    if (*out < least || *out > most)
        return wrong(ps, "a number in range");
    mr_proto_lex_next(&ps->lex);
    return MR_OK;
}

/* To the semicolon, over everything in brackets. */
static enum mr_status skip_statement(struct parse *ps)
{
    size_t depth = 0;
    for (;; mr_proto_lex_next(&ps->lex)) {
        if (ps->lex.kind == MR_W_END || ps->lex.kind == MR_W_BAD)
            return wrong(ps, "a semicolon");
        if (ps->lex.kind != MR_W_SIGN)
            continue;
        char c = ps->lex.word.ptr[0];
        if (c == '{' || c == '[' || c == '(')
            depth++;
        if ((c == '}' || c == ']' || c == ')') && depth > 0 && --depth == 0 && c == '}') {
            mr_proto_lex_next(&ps->lex);
            (void)take_sign(ps, ';');
            return MR_OK;
        }
        if (c == ';' && depth == 0) {
            mr_proto_lex_next(&ps->lex);
            return MR_OK;
        }
    }
}

/* ---- Enums ---- */

static enum mr_status parse_enum(struct parse *ps, struct mr_str scope)
{
    struct mr_str name;
    int64_t number;
    MR_TRY(want_name(ps, &name));
    MR_TRY(mr_proto_count(ps->p, ps->err));
    struct mr_proto_enum *e = mr_proto_add_enum(ps->p, mr_proto_full_name(ps->p, scope, name));
    MR_TRY(want_sign(ps, '{'));
    while (!take_sign(ps, '}')) {
        if (take_sign(ps, ';'))
            continue;
        if (is_name(ps, "option") || is_name(ps, "reserved")) {
            MR_TRY(skip_statement(ps));
            continue;
        }
        MR_TRY(want_name(ps, &name));
        MR_TRY(want_sign(ps, '='));
        MR_TRY(want_number(ps, INT32_MIN, INT32_MAX, &number));
        MR_TRY(mr_proto_count(ps->p, ps->err));
        mr_proto_add_symbol(ps->p, e, name, (int32_t)number);
        MR_TRY(skip_statement(ps));
    }
    return MR_OK;
}

/* ---- Fields ---- */

static const char *const scalar_names[] = {
    [MR_P_DOUBLE] = "double",     [MR_P_FLOAT] = "float",   [MR_P_INT64] = "int64",
    [MR_P_UINT64] = "uint64",     [MR_P_INT32] = "int32",   [MR_P_FIXED64] = "fixed64",
    [MR_P_FIXED32] = "fixed32",   [MR_P_BOOL] = "bool",     [MR_P_STRING] = "string",
    [MR_P_BYTES] = "bytes",       [MR_P_UINT32] = "uint32", [MR_P_SFIXED32] = "sfixed32",
    [MR_P_SFIXED64] = "sfixed64", [MR_P_SINT32] = "sint32", [MR_P_SINT64] = "sint64",
};

static void set_type(struct mr_proto_field *f, struct mr_str name)
{
    f->type = MR_P_NAMED;
    f->type_name = name;
    for (size_t i = 0; i < sizeof(scalar_names) / sizeof(scalar_names[0]); i++)
        if (mr_str_eq_z(name, scalar_names[i]))
            f->type = (uint8_t)i;
}

/* confluent.field_meta: {params: [{key: "precision", value: "6"}, …]} */
static enum mr_status parse_meta(struct parse *ps, struct mr_proto_field *f)
{
    size_t depth = 0;
    struct mr_str key = MR_STR("");
    bool is_key = false, is_value = false;
    do {
        if (ps->lex.kind == MR_W_END || ps->lex.kind == MR_W_BAD)
            return wrong(ps, "a closing brace");
        if (is_sign(ps, '{') || is_sign(ps, '['))
            depth++;
        else if (is_sign(ps, '}') || is_sign(ps, ']'))
            depth--;
        else if (ps->lex.kind == MR_W_NAME) {
            is_key = is_name(ps, "key");
            is_value = is_name(ps, "value");
        } else if (ps->lex.kind == MR_W_TEXT && is_key) {
            key = ps->lex.word;
        } else if (ps->lex.kind == MR_W_TEXT && is_value) {
            if (mr_str_eq_z(key, "precision"))
                f->meta_precision = ps->lex.word;
            else if (mr_str_eq_z(key, "scale"))
                f->meta_scale = ps->lex.word;
            else if (mr_str_eq_z(key, "connect.type"))
                f->meta_type = ps->lex.word;
        }
        mr_proto_lex_next(&ps->lex);
    } while (depth > 0);
    return MR_OK;
}

/* A scalar as an option's value; texts that stand behind one another are one. */
static enum mr_status parse_value(struct parse *ps, struct mr_str *out)
{
    bool is_negative = take_sign(ps, '-'), is_text = ps->lex.kind == MR_W_TEXT;
    if (ps->lex.kind == MR_W_SIGN || ps->lex.kind == MR_W_END || ps->lex.kind == MR_W_BAD)
        return wrong(ps, "a value");
    *out = mr_arena_printf(ps->p->ar, "%s%.*s", is_negative ? "-" : "", MR_STR_FMT(ps->lex.word));
    if (is_text)
        *out = mr_arena_copy(ps->p->ar, ps->lex.word); /* there may be zero bytes in it */
    mr_proto_lex_next(&ps->lex);
    if (!is_text || ps->lex.kind != MR_W_TEXT)
        return MR_OK;
    struct mr_buf all = MR_BUF_INIT(MAX_TEXT);
    mr_buf_append_str(&all, *out);
    for (; ps->lex.kind == MR_W_TEXT; mr_proto_lex_next(&ps->lex))
        mr_buf_append_str(&all, ps->lex.word);
    *out = mr_arena_copy(ps->p->ar, mr_buf_str(&all));
    mr_buf_free(&all);
    return MR_OK;
}

/* [name = value, …] */
static enum mr_status parse_options(struct parse *ps, struct mr_proto_field *f)
{
    while (!take_sign(ps, ']')) {
        struct mr_str name = MR_STR("");
        while (ps->lex.kind == MR_W_NAME || is_sign(ps, '(') || is_sign(ps, ')')) {
            if (ps->lex.kind == MR_W_NAME && name.len == 0)
                name = ps->lex.word;
            mr_proto_lex_next(&ps->lex);
        }
        MR_TRY(want_sign(ps, '='));
        bool is_meta = mr_str_ends(name, MR_STR("field_meta"));
        if (is_sign(ps, '{')) {
            struct mr_proto_field ignored = {0};
            MR_TRY(parse_meta(ps, is_meta ? f : &ignored));
        } else {
            struct mr_str value;
            MR_TRY(parse_value(ps, &value));
            if (mr_str_eq_z(name, "default")) {
                f->has_fallback = true;
                f->fallback = value;
            } else if (mr_str_eq_z(name, "features.field_presence")) {
                f->has_presence = f->oneof != 0 || !mr_str_eq_z(value, "IMPLICIT");
            } else if (mr_str_eq_z(name, "features.message_encoding")) {
                f->is_delimited = mr_str_eq_z(value, "DELIMITED");
            }
        }
        if (!is_sign(ps, ']'))
            MR_TRY(want_sign(ps, ','));
    }
    return MR_OK;
}

static enum mr_status parse_body(struct parse *ps, struct mr_proto_message *msg);

/* map<K, V> name = n; is what the compiler makes of it: repeated entries of a message of its own. */
static enum mr_status parse_map(struct parse *ps, struct mr_proto_message *msg, struct mr_proto_field *f)
{
    struct mr_str key, value;
    MR_TRY(want_sign(ps, '<'));
    MR_TRY(want_name(ps, &key));
    MR_TRY(want_sign(ps, ','));
    MR_TRY(want_name(ps, &value));
    MR_TRY(want_sign(ps, '>'));
    /* It takes no index among the nested messages: those of the text come first. */
    struct mr_proto_message *entry = mr_arena_zalloc(ps->p->ar, sizeof(*entry));
    entry->name = msg->name;
    entry->is_map_entry = true;
    struct mr_proto_field *k = mr_proto_add_field(ps->p, entry);
    k->name = MR_STR("key");
    k->number = 1;
    set_type(k, key);
    struct mr_proto_field *v = mr_proto_add_field(ps->p, entry);
    v->name = MR_STR("value");
    v->number = 2;
    set_type(v, value);
    f->type = MR_P_MESSAGE;
    f->message = entry;
    f->is_map = f->is_repeated = true;
    return MR_OK;
}

static struct mr_str lower_case(struct parse *ps, struct mr_str name)
{
    char *out = mr_arena_alloc(ps->p->ar, name.len + 1);
    for (size_t i = 0; i < name.len; i++)
        out[i] = (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] - 'A' + 'a' : name.ptr[i]);
    return mr_str_of(out, name.len);
}

static enum mr_status parse_field(struct parse *ps, struct mr_proto_message *msg, uint32_t oneof)
{
    struct mr_proto_field f = {
        .oneof = oneof, .has_presence = oneof != 0 || !ps->is_proto3, .is_delimited = ps->is_delimited};
    struct mr_str type;
    int64_t number;
    MR_TRY(mr_proto_count(ps->p, ps->err));
    if (is_name(ps, "repeated") || is_name(ps, "optional") || is_name(ps, "required")) {
        f.is_repeated = is_name(ps, "repeated");
        f.has_presence = true;
        mr_proto_lex_next(&ps->lex);
    }
    MR_TRY(want_name(ps, &type));
    if (mr_str_eq_z(type, "map") && is_sign(ps, '<'))
        MR_TRY(parse_map(ps, msg, &f));
    else
        set_type(&f, type);
    MR_TRY(want_name(ps, &f.name));
    MR_TRY(want_sign(ps, '='));
    MR_TRY(want_number(ps, 1, (1 << 29) - 1, &number));
    f.number = (uint32_t)number;
    if (take_sign(ps, '['))
        MR_TRY(parse_options(ps, &f));
    if (mr_str_eq_z(type, "group") && is_sign(ps, '{')) {
        f.type = MR_P_GROUP;
        struct mr_proto_message *group =
            mr_proto_add_message(ps->p, msg, mr_proto_full_name(ps->p, msg->name, f.name));
        f.message = group;
        f.name = lower_case(ps, f.name); /* as the compiler names it */
        MR_TRY(parse_body(ps, group));
    } else {
        MR_TRY(want_sign(ps, ';'));
    }
    *mr_proto_add_field(ps->p, msg) = f;
    return MR_OK;
}

static enum mr_status parse_oneof(struct parse *ps, struct mr_proto_message *msg)
{
    struct mr_str name;
    uint32_t oneof = ++msg->oneofs;
    MR_TRY(want_name(ps, &name));
    MR_TRY(want_sign(ps, '{'));
    while (!take_sign(ps, '}')) {
        if (take_sign(ps, ';'))
            continue;
        if (is_name(ps, "option"))
            MR_TRY(skip_statement(ps));
        else
            MR_TRY(parse_field(ps, msg, oneof));
    }
    return MR_OK;
}

/* ---- Messages ---- */

static enum mr_status parse_message(struct parse *ps, struct mr_proto_message *into, struct mr_str scope)
{
    struct mr_str name;
    MR_TRY(want_name(ps, &name));
    MR_TRY(mr_proto_count(ps->p, ps->err));
    return parse_body(ps, mr_proto_add_message(ps->p, into, mr_proto_full_name(ps->p, scope, name)));
}

static bool take_word(struct parse *ps, const char *word_z)
{
    /* A field may have a type of that name: then another name follows, and no brace comes soon. */
    if (!is_name(ps, word_z))
        return false;
    struct mr_proto_lex ahead = ps->lex;
    mr_proto_lex_next(&ahead);
    if (ahead.kind != MR_W_NAME)
        return false;
    mr_proto_lex_next(&ahead);
    if (ahead.kind != MR_W_SIGN || ahead.word.ptr[0] != '{')
        return false;
    mr_proto_lex_next(&ps->lex);
    return true;
}

static enum mr_status parse_member(struct parse *ps, struct mr_proto_message *msg)
{
    if (take_sign(ps, ';'))
        return MR_OK;
    if (take_word(ps, "message"))
        return parse_message(ps, msg, msg->name);
    if (take_word(ps, "enum"))
        return parse_enum(ps, msg->name);
    if (take_word(ps, "oneof"))
        return parse_oneof(ps, msg);
    if (is_name(ps, "option") || is_name(ps, "reserved") || is_name(ps, "extensions") ||
        is_name(ps, "extend"))
        return skip_statement(ps);
    return parse_field(ps, msg, 0);
}

static enum mr_status parse_body(struct parse *ps, struct mr_proto_message *msg)
{
    if (++ps->depth > MR_PROTO_NESTING)
        return mr_fail_data(ps->err, MR_CODE_BAD_SCHEMA, "the Protobuf schema is nested more than %d deep",
                            MR_PROTO_NESTING);
    MR_TRY(want_sign(ps, '{'));
    while (!take_sign(ps, '}'))
        MR_TRY(parse_member(ps, msg));
    ps->depth--;
    return MR_OK;
}

/* Of editions: what holds for all fields. Everything else is passed over. */
static enum mr_status parse_file_option(struct parse *ps)
{
    struct mr_proto_lex ahead = ps->lex;
    mr_proto_lex_next(&ahead);
    struct mr_str name = ahead.word;
    bool is_known = ahead.kind == MR_W_NAME;
    mr_proto_lex_next(&ahead);
    is_known = is_known && ahead.kind == MR_W_SIGN && ahead.word.ptr[0] == '=';
    mr_proto_lex_next(&ahead);
    if (is_known && mr_str_eq_z(name, "features.field_presence"))
        ps->is_proto3 = mr_str_eq_z(ahead.word, "IMPLICIT");
    if (is_known && mr_str_eq_z(name, "features.message_encoding"))
        ps->is_delimited = mr_str_eq_z(ahead.word, "DELIMITED");
    return skip_statement(ps);
}

static enum mr_status parse_top(struct parse *ps, struct mr_proto_message *into)
{
    if (take_sign(ps, ';'))
        return MR_OK;
    if (take_word(ps, "message"))
        return parse_message(ps, into, ps->package);
    if (take_word(ps, "enum"))
        return parse_enum(ps, ps->package);
    if (is_name(ps, "package")) {
        mr_proto_lex_next(&ps->lex);
        MR_TRY(want_name(ps, &ps->package));
        return want_sign(ps, ';');
    }
    if (is_name(ps, "syntax") || is_name(ps, "edition")) {
        bool is_edition = is_name(ps, "edition");
        mr_proto_lex_next(&ps->lex);
        MR_TRY(want_sign(ps, '='));
        ps->is_proto3 = !is_edition && mr_str_eq_z(ps->lex.word, "proto3");
        return skip_statement(ps);
    }
    if (is_name(ps, "option"))
        return parse_file_option(ps);
    if (is_name(ps, "import") || is_name(ps, "service") || is_name(ps, "extend"))
        return skip_statement(ps);
    return wrong(ps, "a message, an enum or an import");
}

enum mr_status mr_proto_parse(struct mr_proto *p, struct mr_str text, struct mr_proto_message *into,
                              struct mr_error *err)
{
    struct parse ps = {.p = p, .err = err, .package = MR_STR("")};
    mr_proto_lex_begin(&ps.lex, mr_arena_copy(p->ar, text), p->ar);
    while (ps.lex.kind != MR_W_END)
        MR_TRY(parse_top(&ps, into));
    return MR_OK;
}
