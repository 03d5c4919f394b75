/* What the tests of the tracker share: one tracker of shop.orders, builders of fields, questions about columns. Included by each test
 * program, hence static. */
#ifndef TESTS_SUPPORT_TRACKER_TEST_H
#define TESTS_SUPPORT_TRACKER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <millrace/schema/tracker.h>

#include "config/node.h"
#include "support/fake_dialect.h"

static struct mr_arena *ar;
static struct mr_dialect dialect;
static struct mr_config *cfg;
static struct mr_tracker *tk;
static struct mr_error err;

/* What mr_tracker_field said last. */
static uint32_t column;
static int nulled;
static struct mr_value stored;

__attribute__((unused)) static int set_up(void **state)
{
    (void)state;
    ar = mr_arena_create(0);
    dialect = fake_dialect();
    cfg = NULL;
    tk = NULL;
    err = (struct mr_error){0};
    return 0;
}

__attribute__((unused)) static int tear_down(void **state)
{
    (void)state;
    mr_tracker_destroy(tk);
    mr_config_destroy(cfg);
    mr_arena_destroy(ar);
    return 0;
}

__attribute__((unused)) static void start(const char *yaml_z)
{
    if (mr_config_load_text("m.yaml", mr_str_z(yaml_z), NULL, 0, &cfg, &err) != MR_OK)
        fail_msg("%s", err.message);
    tk = mr_tracker_create(cfg, &dialect, MR_STR("shop"), MR_STR("orders"), MR_STR("shop"), MR_STR("orders"));
}

/* ---- Builders ---- */

__attribute__((unused)) static struct mr_field field(const char *path_z, struct mr_value v)
{
    return (struct mr_field){.path = mr_str_z(path_z), .type = MR_TYPE(MR_T_NONE), .value = v};
}

__attribute__((unused)) static struct mr_field typed(const char *path_z, const char *type_z, uint8_t origin, struct mr_value v)
{
    struct mr_field f = field(path_z, v);

    assert_true(mr_type_parse(mr_str_z(type_z), &f.type));
    f.type.origin = origin;
    return f;
}

__attribute__((unused)) static struct mr_field declared(const char *path_z, const char *type_z, struct mr_value v)
{
    return typed(path_z, type_z, MR_SCHEMA, v);
}

__attribute__((unused)) static struct mr_value number(const char *text_z)
{
    return mr_value_bytes(MR_V_NUMBER, mr_str_z(text_z));
}

__attribute__((unused)) static struct mr_value text(const char *text_z)
{
    return mr_value_text(mr_str_z(text_z));
}

__attribute__((unused)) static void begin(void)
{
    struct mr_place place = {.topic = MR_STR("srv.shop.orders"), .partition = 3, .offset = 77, .time_us = INT64_MIN};

    mr_tracker_row_begin(tk, &place);
}

__attribute__((unused)) static enum mr_verdict judge(struct mr_field f, bool is_key)
{
    return mr_tracker_field(tk, &f, 0, is_key, ar, &column, &nulled, &stored, &err);
}

/* One row of one field, kept if it may be. */
__attribute__((unused)) static enum mr_verdict row(struct mr_field f)
{
    begin();
    enum mr_verdict verdict = judge(f, false);
    if (verdict == MR_VERDICT_DEAD || verdict == MR_VERDICT_FAIL)
        mr_tracker_row_rollback(tk);
    else
        mr_tracker_row_commit(tk);
    return verdict;
}

__attribute__((unused)) static const struct mr_tracked_column *col(const char *path_z)
{
    int found = mr_tracker_find(tk, mr_str_z(path_z));

    if (found < 0)
        fail_msg("no column for %s", path_z);
    return mr_tracker_column(tk, (size_t)found);
}

__attribute__((unused)) static void type_is(const char *path_z, const char *want_z)
{
    char have[32];

    assert_string_equal(mr_type_text(col(path_z)->type, have), want_z);
}

__attribute__((unused)) static void name_is(size_t i, const char *want_z)
{
    struct mr_str name = mr_tracker_column(tk, i)->name;

    if (!mr_str_eq_z(name, want_z))
        fail_msg("have \"%.*s\", want \"%s\"", MR_STR_FMT(name), want_z);
}

__attribute__((unused)) static void says(const char *code_z, const char *part_z)
{
    assert_string_equal(err.code, code_z);
    if (!strstr(err.message, part_z) && !strstr(err.hint, part_z))
        fail_msg("\"%s\" stands neither in \"%s\" nor in \"%s\"", part_z, err.message, err.hint);
}

#define POLICY(p) "types: {policies: {shop.orders.a: " p "}}"

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
