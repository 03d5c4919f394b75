/* MongoDB envelopes to changes: which part of the envelope counts, keys, partial updates, deletes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/mem.h>

#include "decode/debezium_mongodb.h"

struct fixture {
    struct mr_json_reader *reader;
    struct mr_arena *ar;
    struct mr_config cfg;
    struct mr_debezium_mongodb *mg;
    struct mr_table_rule rule;
    struct mr_change ev; /* the last one emitted */
    size_t emitted;
    struct mr_error err;
    struct mr_buf text;
};

static int set_up(void **state)
{
    struct fixture *f = mr_xcalloc(1, sizeof *f);
    struct mr_json_limits limits = {.max_depth = 100, .max_bytes = 1 << 20};
    static char everything[] = "*";

    f->reader = mr_json_reader_create(&limits);
    f->ar = mr_arena_create(0);
    f->rule = (struct mr_table_rule){.pattern = everything, .key_mode = MR_KEY_RECORD_TEXT};
    f->cfg = (struct mr_config){.flatten_struct = true, .max_depth = 100, .max_message_bytes = 1 << 20,
                                .tables = &f->rule, .table_count = 1};
    f->mg = mr_debezium_mongodb_create(&f->cfg);
    f->text = MR_BUF_INIT(1 << 20);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mr_buf_free(&f->text);
    mr_debezium_mongodb_destroy(f->mg);
    mr_json_reader_destroy(f->reader);
    mr_arena_destroy(f->ar);
    mr_xfree(f);
    return 0;
}

static enum mr_status keep(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    (void)err;
    struct fixture *f = ctx;
    f->ev = *ev;
    f->emitted++;
    return MR_OK;
}

static const struct mr_json_doc *parsed(struct fixture *f, const char *json_z)
{
    struct mr_json_doc *doc = mr_arena_alloc(f->ar, sizeof *doc);
    struct mr_str copy = mr_arena_copy(f->ar, mr_str_z(json_z));

    if (mr_json_parse_arena(f->reader, copy, f->ar, doc, &f->err) != MR_OK)
        fail_msg("%s: %s", json_z, f->err.message);
    return doc;
}

/* Write JSON with single quotes for the reader's sake: 'a' is "a", and ` is the \" of a text within the text. */
static const char *quoted(struct fixture *f, const char *text)
{
    struct mr_buf buf = MR_BUF_INIT(1 << 20);

    for (; *text != '\0'; text++) {
        if (*text == '\'')
            mr_buf_append_char(&buf, '"');
        else if (*text == '`')
            mr_buf_append_z(&buf, "\\\"");
        else
            mr_buf_append_char(&buf, *text);
    }
    const char *copy = mr_arena_strndup(f->ar, buf.data, buf.len);
    mr_buf_free(&buf);
    return copy;
}

static enum mr_status decode(struct fixture *f, const char *key, const char *envelope)
{
    struct mr_record rec = {.offset = 1};
    const struct mr_json_doc *key_doc = key ? parsed(f, quoted(f, key)) : NULL;

    f->emitted = 0;
    memset(&f->err, 0, sizeof f->err);
    return mr_debezium_mongodb_decode(f->mg, &rec, key_doc, 0, parsed(f, quoted(f, envelope)), 0, NULL, f->ar,
                                      keep, f, &f->err);
}

static void put_fields(struct mr_buf *out, const char *label, struct mr_fields fields, bool values)
{
    for (size_t i = 0; i < fields.count; i++) {
        mr_buf_printf(out, "%s %.*s", label, MR_STR_FMT(fields.items[i].path));
        if (values) {
            mr_buf_append_char(out, '=');
            mr_value_append_json(fields.items[i].value, out);
        }
        mr_buf_append_char(out, '\n');
    }
}

/* "set a/b/2 path <JSON>", an element's value as JSON behind it where it can be one; then the fields that it is where columns lie below the path. */
static void put_parts(struct mr_buf *out, struct mr_part_list parts)
{
    static const char *const kinds[] = {"set", "unset", "cut"};

    for (size_t i = 0; i < parts.count; i++) {
        const struct mr_part *part = &parts.items[i];
        mr_buf_printf(out, "%s ", kinds[part->step.kind]);
        for (uint32_t n = 0; n < part->step.count; n++)
            mr_buf_printf(out, "%s%.*s", n > 0 ? "/" : "", MR_STR_FMT(part->step.names[n]));
        if (part->may_be_columns)
            mr_buf_printf(out, " or %.*s", MR_STR_FMT(part->path));
        if (part->step.kind == MR_STEP_CUT)
            mr_buf_printf(out, " %lld", (long long)part->step.size);
        if (part->step.kind == MR_STEP_SET)
            mr_buf_printf(out, " %.*s", MR_STR_FMT(part->step.json));
        if (part->step.item.tag != MR_V_ABSENT) {
            mr_buf_append_char(out, ' ');
            mr_value_append_json(part->step.item, out);
        }
        mr_buf_append_z(out, part->step.is_empty ? " empty\n" : "\n");
        put_fields(out, " field", part->fields, true);
    }
}

static const char *change_text(struct fixture *f)
{
    const struct mr_change *ev = &f->ev;
    struct mr_buf *out = &f->text;

    mr_buf_clear(out);
    mr_buf_printf(out, "%s%s%s%s %.*s.%.*s\n", ev->op == MR_OP_DELETE ? "delete" : ev->op == MR_OP_UPSERT ? "upsert" : "?",
                  ev->partial ? " partial" : "", ev->is_new ? " new" : "", ev->is_tombstone ? " tombstone" : "",
                  MR_STR_FMT(ev->relation.database), MR_STR_FMT(ev->relation.table));
    assert_int_equal(ev->has_key, ev->key.count > 0);
    put_fields(out, "key", ev->key, true);
    put_fields(out, "before", ev->before, true);
    put_fields(out, "removed", ev->removed, false);
    put_fields(out, "after", ev->after, true);
    put_parts(out, ev->parts);
    return mr_buf_z(out);
}

static void assert_change(struct fixture *f, const char *key, const char *envelope, const char *want_z)
{
    if (decode(f, key, envelope) != MR_OK)
        fail_msg("%s: %s", envelope, f->err.message);
    assert_int_equal(f->emitted, 1);
    const char *got = change_text(f);
    if (strcmp(got, want_z) != 0)
        fail_msg("%s gives\n%swant\n%s", envelope, got, want_z);
}

static void assert_refused(struct fixture *f, const char *key, const char *envelope, const char *code_z,
                           const char *part_of_message)
{
    if (decode(f, key, envelope) == MR_OK)
        fail_msg("%s gives\n%s", envelope, change_text(f));
    assert_int_equal(f->emitted, 0);
    assert_int_equal(f->err.status, MR_E_DATA);
    if (strcmp(f->err.code, code_z) != 0 || strstr(f->err.message, part_of_message) == NULL)
        fail_msg("%s: %s %s", envelope, f->err.code, f->err.message);
}

#define SOURCE "'source':{'db':'inv','collection':'cust','ts_ms':1700000000123}"

static void test_a_full_document_is_the_whole_row(void **state)
{
    struct fixture *f = *state;

    assert_change(f, "{'id':'{`$oid`: `64b8f0c2a1b2c3d4e5f60718`}'}",
                  "{'before':null,'after':'{`_id`: {`$oid`: `64b8f0c2a1b2c3d4e5f60718`},`a`: {`b`: 1}}','updateDescription':null," SOURCE
                  ",'op':'c'}",
                  "upsert new inv.cust\nkey _id=\"64b8f0c2a1b2c3d4e5f60718\"\n"
                  "after _id=\"64b8f0c2a1b2c3d4e5f60718\"\nafter a.b=1\n");
    assert_true(f->ev.source_us == INT64_C(1700000000123000));
    assert_true(mr_str_eq_z(f->ev.key_text, "{\"id\":\"{\\\"$oid\\\": \\\"64b8f0c2a1b2c3d4e5f60718\\\"}\"}"));
}

static void test_an_update_with_a_document_ignores_its_description(void **state)
{
    struct fixture *f = *state;

    assert_change(f, "{'id':'1'}",
                  "{'before':'{`_id`: 1,`x`: 5}','after':'{`_id`: 1,`b`: 2}','updateDescription':{'removedFields':['a'],'updatedFields':"
                  "'{}','truncatedArrays':[{'field':'t','size':1}]}," SOURCE ",'op':'u'}",
                  "upsert inv.cust\nkey _id=1\nbefore _id=1\nbefore x=5\nafter _id=1\nafter b=2\n");
    assert_change(f, "{'id':'1'}", "{'after':'{`_id`: 1}'," SOURCE ",'op':'r'}",
                  "upsert new inv.cust\nkey _id=1\nafter _id=1\n");
}

static void test_keys_of_all_types_equal_the_documents_id(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *key, *after, *want;
    } ids[] = {
        {"1004", "{`$numberLong`: `1004`}", "_id=1004\n"},
        {"10.0", "{`$numberDouble`: `10.0`}", "_id=10\n"},
        {"`1004`", "`1004`", "_id=\"1004\"\n"},
        {"{`$date`: `2020-01-01T00:00:00Z`}", "{`$date`: 1577836800000}", NULL},
        {"{`$binary`: {`base64`: `AQ==`,`subType`: `04`}}", "{`$binary`: `AQ==`,`$type`: `04`}", "_id=\"AQ==\"\n"},
        {"{`$numberDecimal`: `1.5`}", "{`$numberDecimal`: `1.5`}", "_id=1.5\n"},
        {"{`company`: 32,`dept`: `x`}", "{`company`: {`$numberInt`: `32`},`dept`: `x`}", "_id.company=32\n"},
        {"{}", "{}", "_id={}\n"},
        {"{`a`: {}}", "{`a`: {}}", "_id={\"a\":{}}\n"},
        {"null", "null", "_id=null\n"},
        {"true", "true", "_id=true\n"},
    };

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct mr_str key = mr_arena_printf(f->ar, "{'id':'%s'}%c", ids[i].key, 0);
        struct mr_str value = mr_arena_printf(f->ar, "{'after':'{`_id`: %s}'," SOURCE ",'op':'c'}%c", ids[i].after, 0);

        if (decode(f, key.ptr, value.ptr) != MR_OK)
            fail_msg("%s: %s", ids[i].key, f->err.message);
        assert_true(f->ev.has_key);
        assert_int_equal(f->ev.key.count, f->ev.after.count);
        for (size_t j = 0; j < f->ev.key.count; j++) {
            const struct mr_field *a = &f->ev.key.items[j], *b = &f->ev.after.items[j];
            assert_true(mr_str_eq(a->path, b->path));
            assert_int_equal(a->type.kind, b->type.kind);
            assert_int_equal(a->value.tag, b->value.tag);
        }
        mr_buf_clear(&f->text);
        put_fields(&f->text, "", (struct mr_fields){f->ev.key.items, 1}, true);
        if (ids[i].want != NULL)
            assert_string_equal(mr_buf_z(&f->text) + 1, ids[i].want);
    }
}

static void test_a_document_key_is_json_without_flattening(void **state)
{
    struct fixture *f = *state;

    f->cfg.flatten_struct = false;
    assert_change(f, "{'id':'{`company`: 32,`at`: {`$date`: `1970-01-01T00:00:01Z`}}'}",
                  "{'after':'{`_id`: {`company`: 32,`at`: {`$date`: 1000}},`n`: {`m`: {`$numberLong`: `7`}}}'," SOURCE ",'op':'c'}",
                  "upsert new inv.cust\nkey _id={\"company\":32,\"at\":1000}\nafter _id={\"company\":32,\"at\":1000}\n"
                  "after n={\"m\":7}\n");
}

static void test_a_record_without_key_takes_the_documents_id(void **state)
{
    struct fixture *f = *state;

    assert_change(f, NULL, "{'after':'{`a`: 1,`_id`: {`k`: 2}}'," SOURCE ",'op':'c'}",
                  "upsert new inv.cust\nkey _id.k=2\nafter a=1\nafter _id.k=2\n");
    assert_change(f, NULL, "{'before':'{`_id`: 3,`a`: 1}','after':null," SOURCE ",'op':'d'}",
                  "delete inv.cust\nkey _id=3\nbefore _id=3\nbefore a=1\n");
    assert_change(f, NULL, "{'after':null," SOURCE ",'op':'d'}", "delete inv.cust\n");
    assert_int_equal(f->ev.key_text.len, 0);
}

static void test_a_delete_goes_by_key(void **state)
{
    assert_change(*state, "{'id':'1'}", "{'before':null,'after':null,'updateDescription':null," SOURCE ",'op':'d'}",
                  "delete inv.cust\nkey _id=1\n");
}

static void test_a_partial_update_sets_paths_and_clears_what_they_replace(void **state)
{
    struct fixture *f = *state;

    assert_change(f, "{'id':'1'}",
                  "{'before':null,'after':null,'updateDescription':{'removedFields':['address.zip','old'],'updatedFields':"
                  "'{`address.city`: `X`, `geo`: {`lat`: 1.5}, `at`: {`$date`: `1970-01-01T00:00:00.005Z`}, `u`: {`$undefined`: true}}',"
                  "'truncatedArrays':null}," SOURCE ",'op':'u'}",
                  "upsert partial inv.cust\nkey _id=1\nremoved old\nremoved geo\nremoved at\nremoved u\nafter geo.lat=1.5\n"
                  "after at=\"1970-01-01T00:00:00.005000Z\"\nunset address/zip or address.zip\n"
                  "set address/city or address.city \"X\" \"X\"\n field address.city=\"X\"\n");
    assert_change(f, "{'id':'1'}",
                  "{'after':null,'updateDescription':{'removedFields':['a'],'updatedFields':'{}','truncatedArrays':[]}," SOURCE ",'op':'u'}",
                  "upsert partial inv.cust\nkey _id=1\nremoved a\n");
    assert_change(f, "{'id':'1'}", "{'after':null,'updateDescription':{'updatedFields':null}," SOURCE ",'op':'u'}",
                  "upsert partial inv.cust\nkey _id=1\n");
}

static void test_a_partial_update_of_whole_columns_needs_no_clearing_without_flattening(void **state)
{
    struct fixture *f = *state;

    f->cfg.flatten_struct = false;
    assert_change(f, "{'id':'1'}",
                  "{'after':null,'updateDescription':{'removedFields':['a'],'updatedFields':'{`geo`: {`lat`: 1.5}, `n`: null}'}," SOURCE "}",
                  "upsert partial inv.cust\nkey _id=1\nremoved a\nafter geo={\"lat\":1.5}\nafter n=null\n");
}

static void test_updates_within_a_field_are_parts(void **state)
{
    struct fixture *f = *state;

    assert_change(f, "{'id':'1'}",
                  "{'after':null,'updateDescription':{'removedFields':['a.10'],'updatedFields':'{`k`: 1, `tags.2`: {`$date`: 5}, `i.0`: {`p`: "
                  "{`$numberDecimal`: `1.10`}}, `e.0`: [], `n.1`: null, `u.1`: {`$undefined`: true}}','truncatedArrays':[{'field':'tags','size':2},"
                  "{'field':'a.b','newSize':0}]}," SOURCE ",'op':'u'}",
                  "upsert partial inv.cust\nkey _id=1\nremoved k\nafter k=1\ncut tags 2\ncut a/b 0\nunset a/10 or a.10\n"
                  "set tags/2 or tags.2 5 \"1970-01-01T00:00:00.005000Z\"\n field tags.2=\"1970-01-01T00:00:00.005000Z\"\n"
                  "set i/0 or i.0 {\"p\":\"1.10\"}\n field i.0.p=1.10\nset e/0 or e.0 [] empty\n field e.0=[]\n"
                  "set n/1 or n.1 null null\n field n.1=null\nunset u/1 or u.1\n");
    f->cfg.flatten_struct = false;
    assert_change(f, "{'id':'1'}", "{'after':null,'updateDescription':{'removedFields':['a.b'],'updatedFields':'{`a..c`: {`d`: 1}}'}," SOURCE "}",
                  "upsert partial inv.cust\nkey _id=1\nunset a/b\nset a//c {\"d\":1}\n field a\\.\\.c={\"d\":1}\n");
    f->cfg.flatten_struct = true;
    f->cfg.array_encoding = MR_ARRAY_DOCUMENT;
    assert_change(f, "{'id':'1'}", "{'after':null,'updateDescription':{'updatedFields':'{`a.1`: 2}'}," SOURCE "}",
                  "upsert partial inv.cust\nkey _id=1\nremoved a.1\nafter a.1=2\n");
    assert_true(f->ev.has_positions);
}

static void test_paths_of_absurd_length_are_no_columns(void **state)
{
    struct fixture *f = *state;
    struct mr_buf name = MR_BUF_INIT(1 << 20);

    for (int i = 0; i < 200; i++)
        mr_buf_append_z(&name, "abcdefgh.");
    struct mr_str value = mr_arena_printf(f->ar, "{'after':null,'updateDescription':{'updatedFields':'{`%.*sx`: 1}'}," SOURCE "}%c",
                                          (int)name.len, name.data, 0);
    assert_int_equal(decode(f, "{'id':'1'}", value.ptr), MR_OK);
    assert_int_equal(f->ev.parts.items[0].step.count, 201);
    assert_false(f->ev.parts.items[0].may_be_columns);
    value = mr_arena_printf(f->ar, "{'after':null,'updateDescription':{'updatedFields':'{`%.*s%.*sx`: 1}'}," SOURCE "}%c", (int)name.len,
                            name.data, (int)name.len, name.data, 0);
    assert_refused(f, "{'id':'1'}", value.ptr, MR_CODE_UNSUPPORTED, "without the document: its path is too long");
    assert_non_null(strstr(f->err.hint, "change_streams_update_full"));
    assert_true(f->err.field[0] != '\0');
    mr_buf_free(&name);
}

static void test_names_that_only_look_like_positions_pass(void **state)
{
    assert_change(*state, "{'id':'1'}",
                  "{'after':null,'updateDescription':{'updatedFields':'{`2`: 1, `a.01`: 2, `b.1x`: 3, `c\\\\\\\\d.e`: 4}'}," SOURCE "}",
                  "upsert partial inv.cust\nkey _id=1\nremoved 2\nafter 2=1\nset a/01 or a.01 2 2\n field a.01=2\n"
                  "set b/1x or b.1x 3 3\n field b.1x=3\nset c\\d/e or c\\\\d.e 4 4\n field c\\\\d.e=4\n");
}

static void test_the_oplog_era_speaks_through_patch_and_filter(void **state)
{
    struct fixture *f = *state;

#define OLD "'source':{'ns':'inv.cust.old','sec':5}"
    assert_change(f, "{'id':'1'}", "{'after':null,'patch':'{`$v`: 1,`$set`: {`a.b`: {`$numberLong`: `2`}},`$unset`: {`c`: true}}','filter':'{`_id`: 1}'," OLD "}",
                  "upsert partial inv.cust.old\nkey _id=1\nremoved c\nset a/b or a.b 2 2\n field a.b=2\n");
    assert_true(f->ev.source_us == 5000000);
    assert_change(f, NULL, "{'after':null,'patch':'{`$unset`: {`c`: true}}','filter':'{`_id`: {`$oid`: `64b8f0c2a1b2c3d4e5f60718`}}'," OLD "}",
                  "upsert partial inv.cust.old\nkey _id=\"64b8f0c2a1b2c3d4e5f60718\"\nremoved c\n");
    assert_change(f, "{'id':'1'}", "{'after':null,'patch':'{`_id`: 1,`a`: 2}','filter':'{`_id`: 1}'," OLD ",'op':'u'}",
                  "upsert inv.cust.old\nkey _id=1\nafter _id=1\nafter a=2\n");
    assert_refused(f, "{'id':'1'}", "{'after':null,'patch':'{`$v`: 2,`diff`: {}}'," OLD "}", MR_CODE_UNSUPPORTED, "patch holds more");
    assert_refused(f, "{'id':'1'}", "{'after':null,'patch':'{`$set`: [1,2]}'," OLD "}", MR_CODE_BAD_IMAGE, "without a document");
    assert_change(f, "{'id':'1'}", "{'after':null,'patch':'{`$set`: {`a.1`: 2},`$unset`: {`b.c`: 1}}'," OLD "}",
                  "upsert partial inv.cust.old\nkey _id=1\nset a/1 or a.1 2 2\n field a.1=2\nunset b/c or b.c\n");
}

static void test_bare_words_of_v1_strict_are_read(void **state)
{
    struct fixture *f = *state;

    assert_change(f, "{'id':'NaN'}", "{'after':'{`_id`: NaN,`a`: -Infinity}'," SOURCE ",'op':'c'}",
                  "upsert new inv.cust\nkey _id=\"NaN\"\nafter _id=\"NaN\"\nafter a=\"-Infinity\"\n");
}

static void test_documents_that_a_producer_has_expanded_are_read_as_they_stand(void **state)
{
    assert_change(*state, "{'id':{'$oid':'64b8f0c2a1b2c3d4e5f60718'}}",
                  "{'after':{'_id':{'$oid':'64b8f0c2a1b2c3d4e5f60718'},'a':{'$numberLong':'5'}}," SOURCE ",'op':'u'}",
                  "upsert inv.cust\nkey _id=\"64b8f0c2a1b2c3d4e5f60718\"\nafter _id=\"64b8f0c2a1b2c3d4e5f60718\"\nafter a=5\n");
}

static void test_broken_parts_are_refused_and_named(void **state)
{
    struct fixture *f = *state;

    assert_refused(f, "{'id':'{`a'}", "{'after':'{}'," SOURCE "}", MR_CODE_BAD_JSON, "the key's id: not JSON");
    assert_refused(f, "{'id':'abc'}", "{'after':'{}'," SOURCE "}", MR_CODE_BAD_JSON, "the key's id: not JSON");
    assert_refused(f, "{'id':'1'}", "{'after':'{`a`: '," SOURCE "}", MR_CODE_BAD_JSON, "after: not JSON: expected a value at byte 6");
    assert_refused(f, "{'id':'1'}", "{'after':'[1]'," SOURCE "}", MR_CODE_BAD_IMAGE, "after is no document");
    assert_refused(f, "{'id':'1'}", "{'after':5," SOURCE "}", MR_CODE_BAD_IMAGE, "after is no document");
    assert_refused(f, "{'id':'1'}", "{'before':'x','after':null," SOURCE "}", MR_CODE_BAD_JSON, "before: not JSON");
    assert_refused(f, "{'id':'1'}", "{'updateDescription':'x'," SOURCE "}", MR_CODE_BAD_IMAGE, "updateDescription is no object");
    assert_refused(f, "{'id':'1'}", "{'updateDescription':{'removedFields':'a'}," SOURCE "}", MR_CODE_BAD_IMAGE, "removedFields is no array");
    assert_refused(f, "{'id':'1'}", "{'updateDescription':{'removedFields':[5]}," SOURCE "}", MR_CODE_BAD_IMAGE, "no text");
    assert_refused(f, "{'id':'1'}", "{'updateDescription':{'updatedFields':'[]'}," SOURCE "}", MR_CODE_BAD_IMAGE, "updatedFields is no document");
}

static void test_an_envelope_without_source_has_no_relation_and_no_time(void **state)
{
    struct fixture *f = *state;

    assert_change(f, "{'id':'1'}", "{'after':'{`_id`: 1}','source':null}", "upsert .\nkey _id=1\nafter _id=1\n");
    assert_true(f->ev.source_us == INT64_MIN);
    assert_change(f, "{'id':'1'}", "{'after':'{`_id`: 1}','source':{'ts_ms':9223372036854775807,'ts_us':null}}", "upsert .\nkey _id=1\nafter _id=1\n");
    assert_true(f->ev.source_us == INT64_MIN);
    assert_change(f, "{'id':'1'}", "{'after':'{`_id`: 1}','source':{'ts_ms':1,'ts_us':1234}}", "upsert .\nkey _id=1\nafter _id=1\n");
    assert_true(f->ev.source_us == 1234);
}

static void test_a_tombstone_deletes_by_key(void **state)
{
    struct fixture *f = *state;
    struct mr_record rec = {.offset = 1};
    struct mr_relation relation = {MR_STR("inv"), MR_STR("cust")};
    struct mr_field op = {.path = MR_STR("__op"), .value = mr_value_text(MR_STR("d"))};
    struct mr_fields meta = {&op, 1};

    assert_int_equal(mr_debezium_mongodb_tombstone(f->mg, &rec, parsed(f, "{\"id\":\"7\"}"), 0, relation, &meta, f->ar, keep, f, &f->err),
                     MR_OK);
    assert_string_equal(change_text(f), "delete tombstone inv.cust\nkey _id=7\n");
    assert_int_equal(f->ev.meta.count, 1);
    assert_true(mr_str_eq_z(f->ev.key_text, "{\"id\":\"7\"}"));
    assert_int_equal(mr_debezium_mongodb_tombstone(f->mg, &rec, parsed(f, "{\"x\":\"7\"}"), 0, relation, NULL, f->ar, keep, f, &f->err),
                     MR_E_DATA);
    assert_string_equal(f->err.code, MR_CODE_NO_KEY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_full_document_is_the_whole_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_update_with_a_document_ignores_its_description, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys_of_all_types_equal_the_documents_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_document_key_is_json_without_flattening, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_record_without_key_takes_the_documents_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_delete_goes_by_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_partial_update_sets_paths_and_clears_what_they_replace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_partial_update_of_whole_columns_needs_no_clearing_without_flattening, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_updates_within_a_field_are_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths_of_absurd_length_are_no_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_that_only_look_like_positions_pass, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_oplog_era_speaks_through_patch_and_filter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bare_words_of_v1_strict_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_documents_that_a_producer_has_expanded_are_read_as_they_stand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_parts_are_refused_and_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_envelope_without_source_has_no_relation_and_no_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_tombstone_deletes_by_key, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
