/* Any record through every decoder and through detection. The input is topic, key and value, separated by the byte FF (which stands in no
 * UTF-8 text); without one it is the value alone. The first byte of the topic, if it is one of the characters 0 to 7, chooses settings. Two
 * records in a row with the same bytes also go the way of a known schema, and must then give the same number of changes. */
#include <stdlib.h>

#include <millrace/base/mem.h>
#include <millrace/decoder.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define FORMATS 9
static char formats[FORMATS][10] = {"auto", "debezium", "flat", "json", "canal", "maxwell", "shareplex", "dts-avro", "prostore"};
static char underscore[] = "_", prefix[] = "__", placeholder[] = "__debezium_unavailable_value";
static char berlin[] = "Europe/Berlin", every_column[] = "*.b";
static char no_fields[] = "", some_fields[] = "op,ts_ms,table,source.ts_ms,transaction.id,topic,partition,offset,after.id";

struct seen {
    size_t changes;
    struct mr_arena *ar;
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void look_at(const struct mr_fields *fields, struct mr_buf *out)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct mr_field *f = &fields->items[i];
        mr_buf_append_str(out, f->path);
        mr_value_append_text(f->value, out);
        mr_type_format(f->type, out);
    }
}

static void look_at_element(const struct mr_element *el, struct mr_buf *out)
{
    bool has_own = el->kind == MR_ELEMENT_ROW || el->kind == MR_ELEMENT_PART;
    require(el->depth >= 1 && el->depth <= MR_ARRAY_MAX_DEPTH && el->array.len > 0);
    for (uint32_t i = 0; i + !has_own < el->depth; i++)
        mr_buf_printf(out, "%u", el->pos[i]);
    mr_buf_append_str(out, el->array);
    look_at(&el->fields, out);
    look_at(&el->removed, out);
}

static enum mr_status emit(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct seen *seen = ctx;
    struct mr_buf out = MR_BUF_INIT(1 << 20);
    (void)err;
    seen->changes++;
    look_at(&ev->key, &out);
    look_at(&ev->before, &out);
    look_at(&ev->after, &out);
    look_at(&ev->old_key, &out);
    look_at(&ev->meta, &out);
    look_at(&ev->removed, &out);
    for (size_t i = 0; i < ev->elements.count; i++)
        look_at_element(&ev->elements.items[i], &out);
    mr_buf_append_str(&out, ev->statement_db);
    mr_buf_append_str(&out, ev->new_relation.database);
    mr_buf_append_str(&out, ev->new_relation.table);
    mr_buf_append_str(&out, ev->tx_id);
    mr_buf_append_str(&out, ev->relation.database);
    mr_buf_append_str(&out, ev->relation.table);
    mr_buf_append_str(&out, ev->key_text);
    mr_buf_append_str(&out, ev->statement);
    require(ev->has_key == (ev->key.count != 0));
    mr_buf_free(&out);
    return MR_OK;
}

/* Bytes up to the next FF; NULL pointer if there is no further part. */
static struct mr_str take(const unsigned char **at, const unsigned char *end)
{
    if (*at == NULL)
        return (struct mr_str){NULL, 0};
    const unsigned char *start = *at;
    const unsigned char *stop = memchr(start, 0xff, (size_t)(end - start));
    *at = stop == NULL ? NULL : stop + 1;
    return mr_str_of((const char *)start, (size_t)((stop == NULL ? end : stop) - start));
}

static void decode_with(const struct mr_config *cfg, const struct mr_record *rec)
{
    struct mr_decoder_set *set;
    struct mr_topic_facts facts = {0};
    struct seen first = {0}, second = {0};
    struct mr_arena *ar = mr_arena_create(0);
    require(mr_decoder_set_create(cfg, &set, NULL) == MR_OK);

    struct mr_error err = {0};
    enum mr_status a = mr_decoder_set_decode(set, rec, &facts, ar, emit, &first, &err);
    require(a == MR_OK || (a == MR_E_DATA && err.code[0] != '\0' && err.message[0] != '\0'));
    enum mr_status b = mr_decoder_set_decode(set, rec, &facts, ar, emit, &second, &err);
    require(a == b && first.changes == second.changes);

    struct mr_guess guess;
    enum mr_status c = mr_decoder_set_guess(set, rec, ar, &guess, &err);
    require(c == MR_OK || c == MR_E_DATA);

    mr_decoder_set_destroy(set);
    mr_arena_destroy(ar);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const struct mr_partition part = {"t", 0, 0};
    mr_log_setup(MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    const unsigned char *at = data, *end = data + size;
    struct mr_record rec = {.part = &part, .position = 1, .partition = 0, .offset = 1, .timestamp_ms = -1};
    bool has_parts = size != 0 && memchr(data, 0xff, size) != NULL;
    rec.topic = has_parts ? take(&at, end) : MR_STR("a.b.c");
    if (has_parts)
        rec.key = take(&at, end);
    rec.value = take(&at, end);
    rec.has_key = rec.key.ptr != NULL;
    rec.has_value = rec.value.ptr != NULL;

    unsigned mode = rec.topic.len != 0 && rec.topic.ptr[0] >= '0' && rec.topic.ptr[0] <= '7'
                        ? (unsigned)(rec.topic.ptr[0] - '0')
                        : 0;
    static struct mr_table_rule rule = {.pattern = placeholder, .key_mode = MR_KEY_RECORD_TEXT};
    static struct mr_column_rule column = {.name = every_column, .type = {.kind = MR_T_BYTES, .origin = MR_SCHEMA}, .fixed_bytes = 9};
    column.type.kind = mode == 6 ? MR_T_TIMESTAMPTZ : mode == 4 ? MR_T_TEXT : mode == 2 ? MR_T_JSON : MR_T_BYTES;
    struct mr_config cfg = {
        .source_time_zone = mode & 1 ? berlin : NULL,
        .zero_date = mode & 2 ? MR_ZERO_DATE_ERROR : MR_ZERO_DATE_NULL,
        .name_case = mode & 4 ? MR_CASE_UPPER : mode & 2 ? MR_CASE_LOWER : MR_CASE_PRESERVE,
        .tinyint1_as_bool = mode & 1,
        .canal_image = mode & 4 ? MR_CANAL_DTS_LEGACY : MR_CANAL_STANDARD,
        .canal_enum = mode & 2 ? MR_CANAL_LABEL : MR_CANAL_INDEX,
        .canal_sqltype = mode & 1 ? MR_CANAL_DTS : MR_CANAL_JDBC,
        .maxwell_missing_is_null = mode & 1,
        .columns = &column,
        .column_count = mode & 6 ? 1 : 0,
        .flatten_struct = (mode & 1) == 0,
        .flatten_delimiter = underscore,
        .array_encoding = (mode & 3) == 2 ? MR_ARRAY_TABLE : MR_ARRAY_JSON,
        .add_fields = mode & 2 ? some_fields : no_fields,
        .add_fields_prefix = prefix,
        .add_headers = mode & 4 ? some_fields : no_fields,
        .add_headers_prefix = prefix,
        .field_names = mode & 4 ? MR_NAMES_AVRO_UNICODE : MR_NAMES_NONE,
        .unavailable_placeholder = placeholder,
        .max_depth = 64,
        .max_message_bytes = 1 << 20,
        .text_invalid = mode & 4 ? MR_TEXT_REPLACE : MR_TEXT_DEAD_LETTER,
        .tables = &rule,
        .table_count = mode & 2 ? 1 : 0,
    };
    for (size_t i = 0; i < FORMATS; i++) {
        cfg.format = formats[i];
        decode_with(&cfg, &rec);
    }
    return 0;
}
