/* Any Extended JSON: as a document's fields, flattened and not, and as the parts of a MongoDB envelope. What is rendered as JSON must be JSON. */
#include <stdlib.h>

#include <millrace/base/mem.h>

#include "decode/debezium_mongodb.h"
#include "decode/extjson.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct run {
    struct mr_json_reader *reader; /* strict: for what comes out */
};

static void check_fields(struct run *run, struct mr_fields fields)
{
    for (size_t i = 0; i < fields.count; i++) {
        struct mr_value v = fields.items[i].value;
        struct mr_json_doc doc;
        if (v.tag == MR_V_JSON && mr_json_parse(run->reader, mr_value_str(v), &doc, NULL) != MR_OK)
            abort();
    }
}

static enum mr_status check(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    (void)err;
    check_fields(ctx, ev->key);
    check_fields(ctx, ev->before);
    check_fields(ctx, ev->after);
    return MR_OK;
}

/* {"<member>": "<the input>"}; an error is as good as a change. */
static void as_part(struct run *run, struct mr_debezium_mongodb *mg, const char *before_z, struct mr_str text,
                    const char *after_z, struct mr_arena *ar)
{
    struct mr_buf buf = MR_BUF_INIT((size_t)1 << 24);
    struct mr_json_doc doc;
    struct mr_record rec = {0};
    struct mr_error err = {0};

    mr_buf_append_z(&buf, before_z);
    mr_buf_append_json(&buf, text);
    mr_buf_append_z(&buf, after_z);
    if (mr_json_parse_arena(run->reader, mr_buf_str(&buf), ar, &doc, &err) != MR_OK)
        abort();
    enum mr_status status =
        mr_debezium_mongodb_decode(mg, &rec, &doc, 0, &doc, 0, NULL, ar, check, run, &err);
    if (status != MR_OK && (status != MR_E_DATA || err.message[0] == '\0'))
        abort();
    mr_buf_free(&buf);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_str text = mr_str_of((const char *)data, size);

    static char everything[] = "*";
    struct mr_table_rule rule = {.pattern = everything, .key_mode = MR_KEY_RECORD_TEXT};
    for (int way = 0; way < 4; way++) { /* flattened or not; names as they are or adjusted, and rows completed by their key's _id */
        struct mr_json_limits limits = {.max_depth = 60, .max_bytes = 1 << 22};
        struct run run = {.reader = mr_json_reader_create(&limits)};
        struct mr_config cfg = {.flatten_struct = way & 1, .max_depth = 40, .max_message_bytes = 1 << 20};
        if (way & 2) {
            cfg.field_names = MR_NAMES_AVRO;
            cfg.rewrite_with_id = true;
            cfg.unwrap_delete = MR_DELETE_SOFT;
            cfg.tables = &rule;
            cfg.table_count = 1;
        }
        struct mr_debezium_mongodb *mg = mr_debezium_mongodb_create(&cfg);

        as_part(&run, mg, "{\"after\":", text, ",\"op\":\"c\"}", ar);
        as_part(&run, mg, "{\"id\":\"1\",\"before\":", text, ",\"op\":\"d\"}", ar);
        as_part(&run, mg, "{\"id\":", text, "}", ar);
        as_part(&run, mg, "{\"id\":\"1\",\"updateDescription\":{\"updatedFields\":", text, "}}", ar);
        as_part(&run, mg, "{\"id\":\"1\",\"updateDescription\":{\"removedFields\":[", text, "]}}", ar);
        as_part(&run, mg, "{\"patch\":", text, ",\"filter\":\"{\\\"_id\\\":1}\"}", ar);
        mr_debezium_mongodb_destroy(mg);
        mr_json_reader_destroy(run.reader);
        mr_arena_reset(ar);
    }
    mr_arena_destroy(ar);
    return 0;
}
