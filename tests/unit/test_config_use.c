/* The loaded configuration: which rule holds for a table or a column, what is printed and what is hidden. */
#include "config_builders.h"

/* ---- Which rule holds ---- */

static void test_exact_names_win_over_patterns_and_longer_over_shorter(void **state)
{
    (void)state;
    struct mr_config *cfg = from_yaml("tables:\n"
                                      "  shop.orders: {delete: soft}\n"
                                      "  shop.*: {delete: ignore, policy: text}\n"
                                      "  \"*\": {delete: hard, policy: json, missing: keep}\n"
                                      "  shop.order?: {policy: fail}\n");
    struct mr_table_settings orders = settings_of(cfg, "shop", "orders");
    assert_int_equal(orders.delete_mode, MR_DELETE_SOFT);
    assert_int_equal(orders.policy, MR_POLICY_FAIL);
    assert_int_equal(orders.missing, MR_MISSING_KEEP);
    assert_int_equal(orders.key_mode, MR_KEY_RECORD);
    assert_int_equal(settings_of(cfg, "shop", "customers").policy, MR_POLICY_TEXT);
    assert_int_equal(settings_of(cfg, "other", "orders").policy, MR_POLICY_JSON);
    assert_int_equal(settings_of(cfg, "other", "orders").delete_mode, MR_DELETE_HARD);
    mr_config_destroy(cfg);
}

static void test_a_table_is_found_by_its_name_alone_and_names_may_hold_dots(void **state)
{
    (void)state;
    struct mr_config *cfg = from_yaml("tables:\n"
                                      "  orders: {delete: soft, policy: text}\n"
                                      "  shop.orders: {delete: ignore}\n"
                                      "  a.b.c: {delete: soft}\n");
    assert_int_equal(settings_of(cfg, "shop", "orders").delete_mode, MR_DELETE_IGNORE);
    assert_int_equal(settings_of(cfg, "shop", "orders").policy, MR_POLICY_TEXT);
    assert_int_equal(settings_of(cfg, "mall", "orders").delete_mode, MR_DELETE_SOFT);
    assert_int_equal(settings_of(cfg, "", "orders").delete_mode, MR_DELETE_SOFT);
    assert_int_equal(settings_of(cfg, "a.b", "c").delete_mode, MR_DELETE_SOFT);
    assert_int_equal(settings_of(cfg, "a", "b.c").delete_mode, MR_DELETE_SOFT);
    assert_int_equal(settings_of(cfg, "a", "c").delete_mode, MR_DELETE_HARD);
    mr_config_destroy(cfg);
}

static void test_columns_are_found_by_path_with_wildcards(void **state)
{
    (void)state;
    struct mr_config *cfg = from_yaml("types:\n"
                                      "  columns:\n"
                                      "    orders.total: int64\n"
                                      "    shop.orders.total: decimal(18,2)\n"
                                      "    \"*.created_at\": timestamptz\n"
                                      "    'shop.docs.a\\.b': json\n"
                                      "    shop.orders.address.city: text\n"
                                      "  policies:\n"
                                      "    shop.orders.total: fail\n"
                                      "    shop.orders.*: text\n");
    assert_column(cfg, "shop", "orders", "total", "decimal(18,2)", MR_POLICY_FAIL);
    assert_column(cfg, "mall", "orders", "total", "int64", MR_POLICY_UNSET);
    assert_column(cfg, "shop", "orders", "created_at", "timestamptz", MR_POLICY_TEXT);
    assert_column(cfg, "", "x", "created_at", "timestamptz", MR_POLICY_UNSET);
    assert_column(cfg, "shop", "docs", "a\\.b", "json", MR_POLICY_UNSET);
    assert_column(cfg, "shop", "docs", "a.b", "", MR_POLICY_UNSET);
    assert_column(cfg, "shop", "orders", "address.city", "text", MR_POLICY_TEXT);
    assert_column(cfg, "shop", "orders", "address", "", MR_POLICY_TEXT);
    mr_config_destroy(cfg);
}

/* ---- Printing ---- */

static void test_passwords_are_masked_in_urls(void **state)
{
    (void)state;
    static const char *const urls[][2] = {
        {"postgresql://u:secret@h:5432/d", "postgresql://u:***@h:5432/d"},
        {"postgresql://u:a@b/c?d@h/d", "postgresql://u:***@h/d"},
        {"postgresql://u@h/d", "postgresql://u@h/d"},
        {"postgresql://h/d", "postgresql://h/d"},
        {"postgresql://h:5432/d?sslmode=require", "postgresql://h:5432/d?sslmode=require"},
        {"postgresql://h/d?user=u&password=secret&x=1", "postgresql://h/d?user=u&password=***&x=1"},
        {"postgresql://u:secret@h/d?sslpassword=s2", "postgresql://u:***@h/d?sslpassword=***"},
        {"postgresql://:secret@h/d", "postgresql://:***@h/d"},
        {"postgresql:u:secret@h", "postgresql:***@h"},
        {"u:secret@h", "u:***@h"},
        {"postgresql://h/d?host=/run/pg&user=a@b", "postgresql://h/d?host=/run/pg&user=a@b"},
        {"sqlite:a:b@c.db", "sqlite:a:b@c.db"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct mr_buf out = MR_BUF_INIT(1024);
        mr_config_mask_url(urls[i][0], &out);
        assert_string_equal(mr_buf_z(&out), urls[i][1]);
        mr_buf_free(&out);
    }
}

static void test_secrets_are_never_printed(void **state)
{
    (void)state;
    struct mr_config *cfg = from_sets("target.url=postgresql://u:hunter2@h/d?password=hunter2",
                                      "source.kafka.properties.sasl.password=hunter2",
                                      "source.kafka.properties.ssl.key.pem=hunter2",
                                      "source.kafka.properties.sasl.oauthbearer.client.secret=hunter2",
                                      "source.kafka.properties.client.id=me");
    for (int json = 0; json < 2; json++) {
        char *text = printed(cfg, json != 0);
        assert_null(strstr(text, "hunter2"));
        assert_non_null(strstr(text, "u:***@h"));
        assert_non_null(strstr(text, "\"me\""));
        free(text);
    }
    mr_config_destroy(cfg);
    struct mr_error err = {0};
    const char *const bad[] = {"target.url=u:hunter2@h",
                               "source.kafka.properties.sasl.password={a: [hunter2]}"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(load_settings("", &bad[i], 1, &cfg, &err), MR_E_CONFIG);
        assert_null(strstr(err.message, "hunter2"));
    }
}

static void test_print_tells_where_values_come_from(void **state)
{
    (void)state;
    struct mr_config *cfg;
    const char *const sets[] = {"batch.bytes=2MiB"};
    assert_int_equal(load_settings("batch:\n  rows: 7\ntables: {shop.o: {primary_key: [a], delete: soft}}\n"
                                   "types: {columns: {a.b: int}, policies: {a.c: \"null\"}}\n",
                                   sets, 1, &cfg, NULL),
                     MR_OK);
    char *text = printed(cfg, false);
    assert_non_null(strstr(text, "batch.rows                             = 7"));
    assert_non_null(strstr(text, "# m.yaml:2:9 (default 5000)\n"));
    assert_non_null(strstr(text, "= 2MiB"));
    assert_non_null(strstr(text, "# --set (default 16MiB)\n"));
    assert_non_null(strstr(text, "# default\n"));
    assert_non_null(strstr(
        text, "tables.shop.o                          = {\"primary_key\": [\"a\"], \"delete\": \"soft\"}"));
    assert_non_null(strstr(text, "types.columns.a.b                      = \"int32\""));
    assert_non_null(strstr(text, "types.policies.a.c                     = \"null\""));
    free(text);
    text = printed(cfg, true);
    assert_non_null(strstr(
        text, "{\"key\": \"batch.rows\", \"value\": 7, \"default\": 5000, \"source\": \"m.yaml:2:9\"}"));
    free(text);
    mr_config_destroy(cfg);
}

/* A hyphen is written \- there. */
static void assert_man_names(const char *man_z, const char *key_z)
{
    struct mr_buf line = MR_BUF_INIT(1024);
    mr_buf_append_z(&line, "\n.B ");
    for (const char *p = key_z; *p != 0; p++)
        mr_buf_append_z(&line, *p == '-' ? "\\-" : (const char[]){*p, 0});
    mr_buf_append_char(&line, '\n');
    assert_non_null(strstr(man_z, mr_buf_z(&line)));
    mr_buf_free(&line);
}

static void test_the_reference_names_every_option_once(void **state)
{
    (void)state;
    struct mr_buf page = MR_BUF_INIT(1u << 20), man = MR_BUF_INIT(1u << 20);
    mr_config_reference_markdown(&page);
    mr_config_reference_man(&man);
    for (size_t i = 0; i < mr_option_count; i++) {
        char heading[128];
        snprintf(heading, sizeof heading, "\n### `%s`\n", mr_options[i].key_z);
        const char *first = strstr(mr_buf_z(&page), heading);
        assert_non_null(first);
        assert_null(strstr(first + 1, heading));
        assert_man_names(mr_buf_z(&man), mr_options[i].key_z);
        assert_true(mr_options[i].help_z[0] != 0);
    }
    assert_false(page.overflow || man.overflow);
    mr_buf_free(&page);
    mr_buf_free(&man);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_names_win_over_patterns_and_longer_over_shorter),
        cmocka_unit_test(test_a_table_is_found_by_its_name_alone_and_names_may_hold_dots),
        cmocka_unit_test(test_columns_are_found_by_path_with_wildcards),
        cmocka_unit_test(test_passwords_are_masked_in_urls),
        cmocka_unit_test(test_secrets_are_never_printed),
        cmocka_unit_test(test_print_tells_where_values_come_from),
        cmocka_unit_test(test_the_reference_names_every_option_once),
    };
    return cmocka_run_group_tests_name("config use", tests, NULL, NULL);
}
