/* Protobuf's serialized schemas by themselves: built here piece by piece, and damaged in every place. That they read data as their texts do show
 * tests/cases/run_payload_cases.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <millrace/base/encode.h>
#include <millrace/base/mem.h>

#include "decode/proto.h"

/* ---- Builders ---- */

/* A part of a descriptor that is being written. */
struct part {
    unsigned char bytes[4096];
    size_t len;
};

static void put_varint(struct part *p, uint64_t v)
{
    for (; v > 127; v >>= 7)
        p->bytes[p->len++] = (unsigned char)(v | 128);
    p->bytes[p->len++] = (unsigned char)v;
}

static void put_number(struct part *p, unsigned field, uint64_t v)
{
    put_varint(p, field << 3);
    put_varint(p, v);
}

static void put_bytes(struct part *p, unsigned field, const void *bytes, size_t len)
{
    put_varint(p, field << 3 | 2);
    put_varint(p, len);
    memcpy(p->bytes + p->len, bytes, len);
    p->len += len;
}

static void put_text(struct part *p, unsigned field, const char *text_z)
{
    put_bytes(p, field, text_z, strlen(text_z));
}

static void put_part(struct part *p, unsigned field, const struct part *in)
{
    put_bytes(p, field, in->bytes, in->len);
}

enum { OPTIONAL = 1, REPEATED = 3 };
enum { INT32 = 5, STRING = 9, GROUP = 10, MESSAGE = 11, BYTES = 12, ENUM = 14 };

static struct part field_of(const char *name_z, unsigned number, unsigned type, unsigned label)
{
    struct part f = {.len = 0};
    put_text(&f, 1, name_z);
    put_number(&f, 3, number);
    put_number(&f, 4, label);
    put_number(&f, 5, type);
    return f;
}

static void add_field(struct part *msg, const char *name_z, unsigned number, unsigned type)
{
    struct part f = field_of(name_z, number, type, OPTIONAL);
    put_part(msg, 2, &f);
}

static struct part message_of(const char *name_z)
{
    struct part m = {.len = 0};
    put_text(&m, 1, name_z);
    return m;
}

static struct part file_of(const char *syntax_z)
{
    struct part f = {.len = 0};
    put_text(&f, 1, "a.proto");
    put_text(&f, 2, "p");
    if (syntax_z != NULL)
        put_text(&f, 12, syntax_z);
    return f;
}

/* ---- Reading ---- */

struct proto {
    struct mr_proto *p;
    struct mr_json_build build;
    struct mr_arena *ar;
    struct mr_json_doc doc;
    struct mr_error err;
};

static struct proto *with_descriptor(const struct part *file, bool counts_entries)
{
    struct proto *t = mr_xcalloc(1, sizeof(*t));
    t->p = mr_proto_create();
    t->ar = mr_arena_create(0);
    mr_json_build_init(&t->build, 1 << 20);
    struct mr_str bytes = mr_str_of((const char *)file->bytes, file->len);
    if (mr_proto_add_descriptor(t->p, MR_STR(""), bytes, counts_entries, &t->err) != MR_OK ||
        mr_proto_link(t->p, &t->err) != MR_OK)
        fail_msg("%s", t->err.message);
    return t;
}

static void proto_free(struct proto *t)
{
    mr_json_build_free(&t->build);
    mr_arena_destroy(t->ar);
    mr_proto_destroy(t->p);
    mr_xfree(t);
}

static void assert_reads(struct proto *t, const void *bytes, size_t len, const char *json_z)
{
    struct mr_str rest = mr_str_of(bytes, len);
    struct mr_proto_message *msg;
    mr_json_build_reset(&t->build);
    assert_int_equal(mr_proto_message_of(t->p, &rest, false, &msg, &t->err), MR_OK);
    assert_int_equal(mr_proto_read(msg, rest, false, &t->build, &t->err), MR_OK);
    assert_int_equal(mr_json_build_finish(&t->build, t->ar, &t->doc, &t->err), MR_OK);
    assert_string_equal(mr_arena_strndup(t->ar, t->doc.text.ptr, t->doc.text.len), json_z);
}
#define ASSERT_READS(t, literal, json) assert_reads((t), (literal), sizeof(literal) - 1, (json))

static void assert_refused(const struct part *file, const char *part_z)
{
    struct mr_proto *p = mr_proto_create();
    struct mr_error err = {0};
    struct mr_str bytes = mr_str_of((const char *)file->bytes, file->len);
    enum mr_status status = mr_proto_add_descriptor(p, MR_STR(""), bytes, true, &err);
    if (status == MR_OK)
        status = mr_proto_link(p, &err);
    assert_int_equal(status, MR_E_DATA);
    assert_string_equal(err.code, MR_CODE_BAD_SCHEMA);
    if (strstr(err.message, part_z) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part_z, err.message);
    mr_proto_destroy(p);
}

/* ---- Tests ---- */

static void test_presence_follows_syntax_and_oneofs(void **state)
{
    (void)state;
    struct part m = message_of("A"), f, oneof = {.len = 0};
    put_text(&oneof, 1, "o");
    add_field(&m, "plain", 1, INT32);
    f = field_of("said", 2, INT32, OPTIONAL);
    put_number(&f, 9, 1);
    put_number(&f, 17, 1); /* proto3_optional, in a oneof of its own */
    put_part(&m, 2, &f);
    f = field_of("either", 3, INT32, OPTIONAL);
    put_number(&f, 9, 0);
    put_part(&m, 2, &f);
    f = field_of("or", 4, STRING, OPTIONAL);
    put_number(&f, 9, 0);
    put_part(&m, 2, &f);
    put_part(&m, 8, &oneof);
    put_part(&m, 8, &oneof);
    struct part three = file_of("proto3"), two = file_of(NULL);
    put_part(&three, 4, &m);
    put_part(&two, 4, &m);
    struct proto *t = with_descriptor(&three, true);
    ASSERT_READS(t, "\x00\x18\x05\x22\x01x", "{\"plain\":0,\"said\":null,\"either\":null,\"or\":\"x\"}");
    proto_free(t);
    t = with_descriptor(&two, true);
    ASSERT_READS(t, "\x00", "{\"plain\":null,\"said\":null,\"either\":null,\"or\":null}");
    proto_free(t);
}

static void test_proto2_has_defaults_and_groups(void **state)
{
    (void)state;
    struct part m = message_of("A"), inner = message_of("G"), f, e = message_of("E"),
                symbol = message_of("ONE");
    f = field_of("n", 1, INT32, OPTIONAL);
    put_text(&f, 7, "-7");
    put_part(&m, 2, &f);
    f = field_of("b", 2, BYTES, OPTIONAL);
    put_text(&f, 7, "\\001\\\"z\\377");
    put_part(&m, 2, &f);
    f = field_of("g", 3, GROUP, OPTIONAL);
    put_text(&f, 6, ".p.A.G");
    put_part(&m, 2, &f);
    f = field_of("e", 4, ENUM, OPTIONAL);
    put_text(&f, 6, "E"); /* relative: from the inside out */
    put_text(&f, 7, "ONE");
    put_part(&m, 2, &f);
    add_field(&inner, "x", 5, INT32);
    put_part(&m, 3, &inner);
    put_number(&symbol, 2, (uint64_t)-3);
    put_part(&e, 2, &symbol);
    struct part file = file_of("proto2");
    put_part(&file, 4, &m);
    put_part(&file, 5, &e);
    struct proto *t = with_descriptor(&file, true);
    ASSERT_READS(t, "\x00\x1b\x28\x09\x1c", "{\"n\":-7,\"b\":\"ASJ6/w==\",\"g\":{\"x\":9},\"e\":\"ONE\"}");
    ASSERT_READS(t, "\x00\x20\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                 "{\"n\":-7,\"b\":\"ASJ6/w==\",\"g\":null,\"e\":\"ONE\"}");
    proto_free(t);
}

static void test_entries_of_maps_take_an_index_only_where_they_are_counted(void **state)
{
    (void)state;
    struct part m = message_of("A"), entry = message_of("OddlyNamed"), after = message_of("N"), f,
                is_entry = {.len = 0};
    f = field_of("counts", 1, MESSAGE, REPEATED);
    put_text(&f, 6, ".p.A.OddlyNamed");
    put_part(&m, 2, &f);
    add_field(&entry, "key", 1, STRING);
    add_field(&entry, "value", 2, INT32);
    put_number(&is_entry, 7, 1);
    put_part(&entry, 7, &is_entry);
    put_part(&m, 3, &entry);
    add_field(&after, "q", 1, STRING);
    put_part(&m, 3, &after);
    struct part file = file_of("proto3");
    put_part(&file, 4, &m);
    struct proto *t = with_descriptor(&file, true);
    ASSERT_READS(t, "\x00\x0a\x05\x0a\x01k\x10\x03", "{\"counts\":{\"k\":3}}");
    ASSERT_READS(t, "\x04\x00\x02\x0a\x01x", "{\"q\":\"x\"}");
    proto_free(t);
    t = with_descriptor(&file, false);
    ASSERT_READS(t, "\x00\x0a\x05\x0a\x01k\x10\x03", "{\"counts\":{\"k\":3}}");
    ASSERT_READS(t, "\x04\x00\x00\x0a\x01x", "{\"q\":\"x\"}");
    proto_free(t);
}

static void test_editions_have_features(void **state)
{
    (void)state;
    struct part implicit = {.len = 0}, delimited = {.len = 0}, options = {.len = 0},
                field_options = {.len = 0}, f;
    put_number(&implicit, 1, 2);
    put_number(&delimited, 5, 2);
    put_part(&options, 50, &implicit);
    put_part(&field_options, 21, &delimited);
    struct part m = message_of("A"), other = message_of("B");
    add_field(&m, "a", 1, INT32);
    f = field_of("b", 2, MESSAGE, OPTIONAL);
    put_text(&f, 6, ".p.B");
    put_part(&f, 8, &field_options);
    put_part(&m, 2, &f);
    add_field(&other, "x", 1, INT32);
    struct part file = file_of("editions");
    put_part(&file, 4, &m);
    put_part(&file, 4, &other);
    put_part(&file, 8, &options); /* behind what it decides about */
    struct proto *t = with_descriptor(&file, true);
    ASSERT_READS(t, "\x00\x13\x08\x05\x14", "{\"a\":0,\"b\":{\"x\":5}}");
    proto_free(t);
}

static void test_fields_carry_what_connect_wrote_about_them(void **state)
{
    (void)state;
    struct part param = {.len = 0}, meta = {.len = 0}, options = {.len = 0}, m = message_of("A"), f;
    put_text(&param, 1, "connect.type");
    put_text(&param, 2, "int16");
    put_part(&meta, 2, &param);
    put_part(&options, 1088, &meta);
    f = field_of("s", 1, INT32, OPTIONAL);
    put_part(&f, 8, &options);
    put_part(&m, 2, &f);
    struct part file = file_of("proto3");
    put_part(&file, 4, &m);
    struct proto *t = with_descriptor(&file, true);
    const struct mr_connect_schema *connect = mr_proto_connect(t->p, t->p->root.nested[0]);
    assert_int_equal(connect->fields[0].schema->kind, MR_C_INT16);
    proto_free(t);
}

static void test_descriptors_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    struct part file = {.len = 0}, m = message_of("A"), f = {.len = 0};
    put_text(&file, 2, "p");
    assert_refused(&file, "file's name");
    put_text(&f, 1, "e"); /* as Karapace writes a field of a message: no type, the name as in the text */
    put_number(&f, 3, 1);
    put_number(&f, 4, OPTIONAL);
    put_text(&f, 6, "map<string, int64>");
    put_part(&m, 2, &f);
    file = file_of("proto3");
    put_part(&file, 4, &m);
    assert_refused(&file, "without type");
}

static void test_hostile_descriptors_are_refused(void **state)
{
    (void)state;
    struct part file = file_of("proto3"), m = message_of("A"), f = field_of("a", 1, INT32, OPTIONAL);
    put_number(&f, 9, 1u << 30); /* a oneof that is not there */
    put_part(&m, 2, &f);
    put_part(&file, 4, &m);
    assert_refused(&file, "oneof");

    file = file_of("proto3");
    m = message_of("A");
    add_field(&m, "a", 0, INT32);
    put_part(&file, 4, &m);
    assert_refused(&file, "number");

    file = file_of("proto3");
    m = message_of("A\nB");
    put_part(&file, 4, &m);
    assert_refused(&file, "without name");

    file = file_of("proto3");
    m = message_of("A");
    f = field_of("a", 1, MESSAGE, OPTIONAL);
    put_text(&f, 6, ".p.Missing");
    put_part(&m, 2, &f);
    put_part(&file, 4, &m);
    assert_refused(&file, "Missing");

    file = file_of("proto3");
    put_varint(&file, 4 << 3 | 2);
    put_varint(&file, UINT64_MAX);
    assert_refused(&file, "damaged");

    struct part nested = message_of("A");
    for (int i = 0; i < 80; i++) {
        struct part outer = message_of("A");
        put_part(&outer, 3, &nested);
        nested = outer;
    }
    file = file_of("proto3");
    put_part(&file, 4, &nested);
    assert_refused(&file, "nested");
}

static void test_a_message_in_itself_ends(void **state)
{
    (void)state;
    struct part m = message_of("A"), f = field_of("a", 1, MESSAGE, OPTIONAL);
    put_text(&f, 6, ".p.A");
    put_part(&m, 2, &f);
    struct part file = file_of("proto3");
    put_part(&file, 4, &m);
    struct proto *t = with_descriptor(&file, true);
    assert_non_null(mr_proto_connect(t->p, t->p->root.nested[0]));
    ASSERT_READS(t, "\x00\x0a\x00", "{\"a\":{\"a\":null}}");
    proto_free(t);
}

static void try_bytes(const unsigned char *bytes, size_t len)
{
    struct mr_proto *p = mr_proto_create();
    struct mr_error err = {0};
    enum mr_status status =
        mr_proto_add_descriptor(p, MR_STR(""), mr_str_of((const char *)bytes, len), true, &err);
    if (status == MR_OK)
        status = mr_proto_link(p, &err);
    if (status != MR_OK) {
        assert_int_equal(status, MR_E_DATA);
        assert_string_equal(err.code, MR_CODE_BAD_SCHEMA);
    }
    mr_proto_destroy(p);
}

static void test_damage_in_any_place_is_survived(void **state)
{
    (void)state;
    struct part m = message_of("A"), f = field_of("a", 1, BYTES, OPTIONAL), entry = message_of("E"),
                options = {.len = 0};
    put_text(&f, 7, "\\001");
    put_part(&m, 2, &f);
    put_number(&options, 7, 1);
    put_part(&entry, 7, &options);
    put_part(&m, 3, &entry);
    struct part file = file_of("proto2");
    put_part(&file, 4, &m);
    for (size_t i = 0; i <= file.len; i++)
        try_bytes(file.bytes, i);
    for (size_t i = 0; i < file.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct part damaged = file;
            damaged.bytes[i] ^= (unsigned char)(1u << bit);
            try_bytes(damaged.bytes, damaged.len);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presence_follows_syntax_and_oneofs),
        cmocka_unit_test(test_proto2_has_defaults_and_groups),
        cmocka_unit_test(test_entries_of_maps_take_an_index_only_where_they_are_counted),
        cmocka_unit_test(test_editions_have_features),
        cmocka_unit_test(test_fields_carry_what_connect_wrote_about_them),
        cmocka_unit_test(test_descriptors_that_are_not_whole_are_refused),
        cmocka_unit_test(test_hostile_descriptors_are_refused),
        cmocka_unit_test(test_a_message_in_itself_ends),
        cmocka_unit_test(test_damage_in_any_place_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
