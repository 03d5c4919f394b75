/* Loading the configuration: every way to say a thing, and every refusal with its place. */
#include "config_builders.h"

/* ---- Defaults ---- */

static void test_without_a_file_everything_has_its_default(void **state)
{
    (void)state;
    struct mr_config *cfg;
    assert_int_equal(mr_config_load(NULL, NULL, 0, &cfg, NULL), MR_OK);
    assert_string_equal(cfg->target_url, "sqlite:millrace.db");
    assert_string_equal(cfg->target_schema, "{db}");
    assert_string_equal(cfg->target_table, "{table}");
    assert_false(cfg->target_schema_set || cfg->target_table_set);
    assert_string_equal(cfg->control_schema, "");
    assert_string_equal(cfg->pipeline, "millrace");
    assert_string_equal(cfg->kafka_group, "millrace");
    assert_string_equal(cfg->format, "auto");
    assert_int_equal(cfg->evolve, MR_EVOLVE_FULL);
    assert_int_equal(cfg->appliers, 1);
    assert_int_equal(cfg->lock_timeout_ms, 10000);
    assert_int_equal(cfg->connect_timeout_ms, 60000);
    assert_int_equal(cfg->bulk_rows, 50);
    assert_int_equal(cfg->policy, MR_POLICY_WIDEN);
    assert_int_equal(cfg->batch_rows, 5000);
    assert_int_equal(cfg->batch_bytes, 16 << 20);
    assert_int_equal(cfg->batch_interval_ms, 100);
    assert_true(cfg->dead_letter_max_rate == 0.05);
    assert_int_equal(cfg->shutdown_timeout_ms, 30000);
    assert_true(cfg->flatten_struct);
    assert_string_equal(cfg->flatten_delimiter, "_");
    assert_string_equal(cfg->add_fields, "");
    assert_string_equal(cfg->add_fields_prefix, "__");
    assert_string_equal(cfg->unavailable_placeholder, "__debezium_unavailable_value");
    assert_int_equal(cfg->text_invalid, MR_TEXT_DEAD_LETTER);
    assert_int_equal(cfg->max_depth, 256);
    assert_int_equal(cfg->max_message_bytes, 64 << 20);
    assert_int_equal(cfg->log_level, MR_LOG_INFO);
    assert_int_equal(cfg->log_format, MR_LOG_LOGFMT);
    assert_false(cfg->log_values || cfg->file_again || cfg->reset_position);
    mr_config_destroy(cfg);
}

static void test_every_default_of_the_table_can_be_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < mr_option_count; i++) {
        struct mr_config cfg = {0};
        if (mr_option_is_map(&mr_options[i])) {
            assert_null(mr_options[i].default_z);
            continue;
        }
        if (!mr_option_parse(&mr_options[i], &cfg, mr_str_z(mr_options[i].default_z)))
            fail_msg("the default of %s is not valid", mr_options[i].key_z);
        mr_option_free(&mr_options[i], &cfg);
    }
}

/* ---- Reading ---- */

static void test_a_whole_file_is_read(void **state)
{
    (void)state;
    setenv("MR_TEST_BROKERS", "a:9092,b:9092", 1);
    struct mr_config *cfg =
        from_yaml("source:\n"
                  "  kafka:\n"
                  "    brokers: ${MR_TEST_BROKERS}\n"
                  "    topics: [shop.customers, \"^shop\\\\.order.*\"]\n"
                  "    group: warehouse\n"
                  "    start: latest\n"
                  "    properties: {security.protocol: SASL_SSL, sasl: {password: x}}\n"
                  "format: debezium\n"
                  "unwrap:\n"
                  "  flatten.struct: false\n"
                  "  flatten.struct.delimiter: \"-\"\n"
                  "  array.encoding: json\n"
                  "  add.fields: op,source.ts_ms\n"
                  "target:\n"
                  "  url: postgresql://loader@db/warehouse\n"
                  "  schema: \"dw_{db}\"\n"
                  "  evolve: add\n"
                  "  appliers: 4\n"
                  "types:\n"
                  "  policy: null\n"
                  "  columns: {shop.orders.total: \"decimal(18,2)\"}\n"
                  "  policies: {shop.orders.note: text}\n"
                  "tables:\n"
                  "  shop.orders: {primary_key: [id, line], delete: soft, missing: null}\n"
                  "  \"*\": {delete: ignore, policy: \"null\"}\n"
                  "batch: {rows: 10, bytes: 1MiB, interval: 2s}\n"
                  "dead_letters: {max_rate: 0.5}\n"
                  "log: {format: json, level: warn, values: true}\n");
    assert_string_equal(cfg->kafka_brokers, "a:9092,b:9092");
    assert_list(&cfg->kafka_topics, "shop.customers|^shop\\.order.*");
    assert_string_equal(cfg->kafka_group, "warehouse");
    assert_string_equal(cfg->pipeline, "warehouse");
    assert_int_equal(cfg->kafka_start, MR_START_LATEST);
    assert_int_equal(cfg->kafka_properties.count, 2);
    assert_string_equal(cfg->kafka_properties.items[0].key, "security.protocol");
    assert_string_equal(cfg->kafka_properties.items[1].key, "sasl.password");
    assert_string_equal(cfg->format, "debezium");
    assert_false(cfg->flatten_struct);
    assert_string_equal(cfg->flatten_delimiter, "-");
    assert_string_equal(cfg->add_fields, "op,source.ts_ms");
    assert_true(cfg->target_schema_set);
    assert_false(cfg->target_table_set);
    assert_int_equal(cfg->evolve, MR_EVOLVE_ADD);
    assert_int_equal(cfg->appliers, 4);
    assert_int_equal(cfg->policy, MR_POLICY_NULL);
    assert_column(cfg, "shop", "orders", "total", "decimal(18,2)", MR_POLICY_UNSET);
    assert_column(cfg, "shop", "orders", "note", "", MR_POLICY_TEXT);
    assert_int_equal(cfg->columns[0].type.origin, MR_SCHEMA);
    struct mr_table_settings orders = settings_of(cfg, "shop", "orders");
    assert_int_equal(orders.key_mode, MR_KEY_FIELDS);
    assert_list(&orders.key_fields, "id|line");
    assert_int_equal(orders.delete_mode, MR_DELETE_SOFT);
    assert_int_equal(orders.policy, MR_POLICY_NULL);
    assert_int_equal(orders.missing, MR_MISSING_NULL);
    assert_int_equal(settings_of(cfg, "x", "y").delete_mode, MR_DELETE_IGNORE);
    assert_int_equal(cfg->batch_rows, 10);
    assert_int_equal(cfg->batch_bytes, 1 << 20);
    assert_int_equal(cfg->batch_interval_ms, 2000);
    assert_true(cfg->dead_letter_max_rate == 0.5);
    assert_int_equal(cfg->log_level, MR_LOG_WARN);
    assert_int_equal(cfg->log_format, MR_LOG_JSON);
    assert_true(cfg->log_values);
    mr_config_destroy(cfg);
}

static void test_dots_and_nesting_are_the_same(void **state)
{
    (void)state;
    const char *const forms[] = {
        "unwrap: {flatten.struct.delimiter: \"+\"}", "unwrap.flatten.struct.delimiter: \"+\"",
        "unwrap: {flatten: {struct: {delimiter: \"+\"}}}", "unwrap: {flatten.struct: {delimiter: \"+\"}}"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct mr_config *cfg = from_yaml(forms[i]);
        assert_string_equal(cfg->flatten_delimiter, "+");
        mr_config_destroy(cfg);
    }
    struct mr_config *cfg = from_yaml("text.invalid: strip\n");
    assert_int_equal(cfg->text_invalid, MR_TEXT_STRIP);
    mr_config_destroy(cfg);
    cfg = from_yaml("text: {invalid: replace}\n");
    assert_int_equal(cfg->text_invalid, MR_TEXT_REPLACE);
    mr_config_destroy(cfg);
}

static void test_set_reads_keys_with_dots_with_and_without_quotes(void **state)
{
    (void)state;
    struct mr_config *cfg =
        from_sets("unwrap.\"flatten.struct\"=false", "unwrap.flatten.struct.delimiter=.",
                  "tables.shop.orders.delete=soft", "tables.\"shop.orders\".primary_key=[id,line]",
                  "tables.shop.lines.primary_key=none", "types.columns.shop.orders.total=decimal(18,2)",
                  "types.columns.'shop.orders.day'=date", "source.kafka.properties.security.protocol=SSL",
                  "tables.shop.policy={policy: \"null\"}",
                  "tables.shop.keys={primary_key: record_key_text, delete: hard}");
    assert_false(cfg->flatten_struct);
    assert_string_equal(cfg->flatten_delimiter, ".");
    assert_int_equal(settings_of(cfg, "shop", "orders").delete_mode, MR_DELETE_SOFT);
    struct mr_table_settings orders = settings_of(cfg, "shop", "orders");
    assert_list(&orders.key_fields, "id|line");
    assert_int_equal(settings_of(cfg, "shop", "lines").key_mode, MR_KEY_NONE);
    assert_column(cfg, "shop", "orders", "total", "decimal(18,2)", MR_POLICY_UNSET);
    assert_column(cfg, "shop", "orders", "day", "date", MR_POLICY_UNSET);
    assert_string_equal(cfg->kafka_properties.items[0].key, "security.protocol");
    assert_int_equal(settings_of(cfg, "shop", "policy").policy, MR_POLICY_NULL);
    assert_int_equal(settings_of(cfg, "shop", "keys").key_mode, MR_KEY_RECORD_TEXT);
    assert_true(mr_config_wants_key_text(cfg));
    mr_config_destroy(cfg);
}

static void test_set_takes_lists_in_three_ways(void **state)
{
    (void)state;
    struct mr_config *cfg = from_sets("source.kafka.topics=a, ^b{1,2} ,c", "source.kafka.topics+=d,e");
    assert_list(&cfg->kafka_topics, "a|^b{1,2}|c|d,e");
    mr_config_destroy(cfg);
    cfg = from_sets("source.kafka.topics=[a, \"b,c\"]");
    assert_list(&cfg->kafka_topics, "a|b,c");
    mr_config_destroy(cfg);
    cfg = from_sets("source.file.paths=a,b.jsonl");
    assert_list(&cfg->file_paths, "a,b.jsonl"); /* a comma in a file's name is none of ours */
    mr_config_destroy(cfg);
    cfg = from_sets("source.file.paths=x", "source.file.paths=[]", "source.file.paths+=[1].jsonl");
    assert_list(&cfg->file_paths, "[1].jsonl");
    mr_config_destroy(cfg);
}

static void test_texts_of_settings_stand_as_they_are(void **state)
{
    (void)state;
    struct mr_config *cfg = from_sets("target.table={db}_{table}", "target.schema=\"x: {db}\"",
                                      "source.kafka.group=#1", "log.level='debug'");
    assert_string_equal(cfg->target_table, "{db}_{table}");
    assert_true(cfg->target_table_set);
    assert_string_equal(cfg->target_schema, "x: {db}");
    assert_string_equal(cfg->kafka_group, "#1");
    assert_int_equal(cfg->log_level, MR_LOG_DEBUG);
    mr_config_destroy(cfg);
}

static void test_later_sayings_win(void **state)
{
    (void)state;
    struct mr_config *cfg;
    const char *const sets[] = {"batch.rows=2", "batch.rows=3", "tables.t.delete=ignore",
                                "source.kafka.topics=[c]"};
    assert_int_equal(load_settings("batch: {rows: 1, bytes: 5kB}\ntables: {t: {delete: soft, policy: text}}\n"
                                   "source: {kafka: {topics: [a, b]}}\n",
                                   sets, 4, &cfg, NULL),
                     MR_OK);
    assert_int_equal(cfg->batch_rows, 3);
    assert_int_equal(cfg->batch_bytes, 5000);
    assert_int_equal(settings_of(cfg, "", "t").delete_mode, MR_DELETE_IGNORE);
    assert_int_equal(settings_of(cfg, "", "t").policy, MR_POLICY_TEXT);
    assert_list(&cfg->kafka_topics, "c");
    mr_config_destroy(cfg);
}

static void test_null_takes_an_option_back_to_its_default(void **state)
{
    (void)state;
    struct mr_config *cfg =
        from_yaml("batch: {rows: ~}\nlog:\ntarget: {schema: null}\nsource: {file: {paths: }}\n");
    assert_int_equal(cfg->batch_rows, 5000);
    assert_false(cfg->target_schema_set);
    assert_int_equal(cfg->file_paths.count, 0);
    mr_config_destroy(cfg);
}

static void test_an_empty_file_is_a_configuration(void **state)
{
    (void)state;
    const char *const texts[] = {"", "\n", "# nothing\n", "---\n", "{}", "null\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        mr_config_destroy(from_yaml(texts[i]));
}

static void test_sizes_and_times_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text_z;
        uint64_t bytes;
    } sizes[] = {{"16MiB", 16 << 20}, {"1kB", 1000},     {"1KB", 1000}, {"2KiB", 2048},
                 {"3 MB", 3000000},   {"1GiB", 1 << 30}, {"77", 77},    {"7B", 7}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t bytes;
        assert_true(mr_parse_size(mr_str_z(sizes[i].text_z), &bytes));
        assert_int_equal(bytes, sizes[i].bytes);
    }
    static const struct {
        const char *text_z;
        int64_t ms;
    } times[] = {{"100ms", 100},   {"5s", 5000}, {"2m", 120000}, {"1h", 3600000},
                 {"1d", 86400000}, {"0", 0},     {"1 s", 1000}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        int64_t ms;
        assert_true(mr_parse_duration(mr_str_z(times[i].text_z), &ms));
        assert_int_equal(ms, times[i].ms);
    }
    uint64_t bytes;
    int64_t ms;
    const char *const bad_sizes[] = {
        "", "MiB", "-1", "1.5MiB", "1k", "1TiBB", "99999999999999999999", "18446744073709551615KiB"};
    for (size_t i = 0; i < sizeof bad_sizes / sizeof bad_sizes[0]; i++)
        assert_false(mr_parse_size(mr_str_z(bad_sizes[i]), &bytes));
    const char *const bad_times[] = {"", "10", "s", "-1s", "1.5s", "1w", "9223372036854775807s"};
    for (size_t i = 0; i < sizeof bad_times / sizeof bad_times[0]; i++)
        assert_false(mr_parse_duration(mr_str_z(bad_times[i]), &ms));
}

static void test_start_may_be_a_time(void **state)
{
    (void)state;
    struct mr_config *cfg = from_sets("source.kafka.start=2026-01-31T06:00:00+02:00");
    assert_int_equal(cfg->kafka_start, MR_START_TIME);
    assert_true(cfg->kafka_start_ms == INT64_C(1769832000000));
    char *text = printed(cfg, false);
    assert_non_null(strstr(text, "= 2026-01-31T04:00:00Z"));
    free(text);
    mr_config_destroy(cfg);
    cfg = from_yaml("source: {kafka: {start: 1970-01-02}}\n");
    assert_int_equal(cfg->kafka_start_ms, 86400000);
    mr_config_destroy(cfg);
    assert_set_refused("source.kafka.start=soon",
                       "--set source.kafka.start: source.kafka.start: \"soon\" is not earliest | "
                       "latest | a time such as 2026-01-31T06:00:00Z");
}

static void test_add_fields_may_be_a_list(void **state)
{
    (void)state;
    struct mr_config *cfg =
        from_yaml("unwrap: {add.fields: [op, \"source.ts_ms:when\"], add.fields.prefix: \"\"}\n");
    assert_string_equal(cfg->add_fields, "op,source.ts_ms:when");
    assert_string_equal(cfg->add_fields_prefix, "");
    mr_config_destroy(cfg);
    assert_refused(
        "unwrap: {add.fields: \"op, a:b:c\"}",
        "m.yaml:1:22: unwrap.add.fields has an unexpected field name: \"a:b:c\"; write field, struct.field or field:name");
}

/* ---- Environment ---- */

static void test_the_environment_fills_values(void **state)
{
    (void)state;
    setenv("MR_TEST_A", "one", 1);
    setenv("MR_TEST_EMPTY", "", 1);
    unsetenv("MR_TEST_NONE");
    struct mr_config *cfg =
        from_yaml("source: {kafka: {topics: [\"${MR_TEST_A}\", \"^x$\", \"${MR_TEST_NONE:-two}\", "
                  "\"${MR_TEST_EMPTY:-three}\", \"a${MR_TEST_EMPTY}b\", \"$${MR_TEST_A}\", "
                  "\"${MR_TEST_NONE:-}z\"]}}\n");
    assert_list(&cfg->kafka_topics, "one|^x$|two|three|ab|${MR_TEST_A}|z");
    mr_config_destroy(cfg);
    cfg = from_sets("source.kafka.group=${MR_TEST_A}-${MR_TEST_A}", "tables.t.delete=${MR_TEST_NONE:-soft}");
    assert_string_equal(cfg->kafka_group, "one-one");
    assert_int_equal(settings_of(cfg, "", "t").delete_mode, MR_DELETE_SOFT);
    mr_config_destroy(cfg);
}

static void test_a_value_of_the_environment_is_no_yaml(void **state)
{
    (void)state;
    setenv("MR_TEST_A", "x: [1, {y", 1);
    struct mr_config *cfg = from_yaml("pipeline: ${MR_TEST_A}\n");
    assert_string_equal(cfg->pipeline, "x: [1, {y");
    mr_config_destroy(cfg);
}

static void test_a_missing_variable_is_refused_with_its_place(void **state)
{
    (void)state;
    unsetenv("MR_TEST_NONE");
    assert_refused("a: 1\n", "m.yaml:1:1: unknown key \"a\"; `millrace config` lists the keys");
    assert_refused(
        "target:\n  url: postgresql://u:${MR_TEST_NONE}@h/d\n",
        "m.yaml:2:8: the environment has no variable MR_TEST_NONE (a default: ${MR_TEST_NONE:-text})");
    assert_refused("pipeline: ${MR TEST}\n",
                   "m.yaml:1:11: \"${MR TEST}\" is no variable; write ${NAME} or ${NAME:-default}, "
                   "and $${ for a plain ${");
    assert_set_refused("pipeline=${A", "--set pipeline: \"${\" without its \"}\"; write $${ for a plain ${");
}

/* ---- Refusals ---- */

static void test_unknown_keys_are_refused_with_place_and_nearest_name(void **state)
{
    (void)state;
    assert_refused("log: {level: info}\ntarget:\n  ulr: x\n",
                   "m.yaml:3:3: unknown key \"target.ulr\"; did you mean \"target.url\"?");
    assert_refused("targt: {url: x}\n", "m.yaml:1:1: unknown key \"targt\"; did you mean \"target\"?");
    assert_refused("brokers: x\n",
                   "m.yaml:1:1: unknown key \"brokers\"; did you mean \"source.kafka.brokers\"?");
    assert_refused(
        "unwrap: {flatten.structs: true}\n",
        "m.yaml:1:10: unknown key \"unwrap.flatten.structs\"; did you mean \"unwrap.flatten.struct\"?");
    assert_refused(
        "tables: {shop.orders: {delte: soft}}\n",
        "m.yaml:1:24: unknown setting \"delte\" of table \"shop.orders\"; did you mean \"delete\"?");
    assert_set_refused("bach.rows=1", "--set bach.rows: unknown key \"bach\"; did you mean \"batch\"?");
    assert_set_refused("tables.shop.orders.polisy=text",
                       "--set tables.shop.orders.polisy: unknown setting \"polisy\" of table "
                       "\"shop.orders\"; did you mean \"policy\"?");
}

static void test_bad_values_are_refused_with_place_and_what_is_wanted(void **state)
{
    (void)state;
    assert_refused("target:\n  appliers: 40\n",
                   "m.yaml:2:13: target.appliers: \"40\" is not a whole number from 1 to 16");
    assert_refused("log: {level: loud}",
                   "m.yaml:1:14: log.level: \"loud\" is not one of debug | info | warn | error");
    assert_refused(
        "batch: {interval: 5}",
        "m.yaml:1:19: batch.interval: \"5\" is not a time with its unit (ms, s, m, h, d) from 1ms to 1h");
    assert_refused("batch: {bytes: 1}", "m.yaml:1:16: batch.bytes: \"1\" is not a size from 1KiB to 4GiB");
    assert_refused("dead_letters: {max_rate: 1.5}",
                   "m.yaml:1:26: dead_letters.max_rate: \"1.5\" is not a number from 0 to 1");
    assert_refused("log: {values: 2}", "m.yaml:1:15: log.values: \"2\" is not true or false");
    assert_refused("target: {url: nothing}",
                   "m.yaml:1:15: target.url is no URL with a scheme; write postgresql://… or sqlite:PATH");
    assert_refused("target: {schema: {db}}", "m.yaml:1:18: target.schema wants text, this is a map");
    assert_refused("target: {table: \"{tabel}\"}", "m.yaml:1:17: target.table \"{tabel}\": a template holds "
                                                   "{db}, {table} and {topic}, and no other braces");
    assert_refused(
        "target: {table: \"a}\"}",
        "m.yaml:1:17: target.table \"a}\": a template holds {db}, {table} and {topic}, and no other braces");
    assert_refused("target: x", "m.yaml:1:9: \"target\" wants options below it, this is a text");
    assert_refused("[a]", "m.yaml:1:1: a configuration wants options below it, this is a list");
    assert_refused("log: {level: [info]}",
                   "m.yaml:1:14: log.level wants debug | info | warn | error, this is a list");
    assert_refused("types: {columns: {a.b: intt}}", "m.yaml:1:24: column a.b: \"intt\" is no type");
    assert_refused("types: {columns: {ab: int}}",
                   "m.yaml:1:19: \"ab\" names no column; write table.column or database.table.column");
    assert_refused(
        "types: {policies: {a.b: maybe}}",
        "m.yaml:1:25: a.b: \"maybe\" is not one of widen | strict | text | json | variant | null | fail");
    assert_refused("tables: {t: {primary_key: id}}",
                   "m.yaml:1:27: t.primary_key: \"id\" is not one of record_key | record_key_text | none");
    assert_refused("tables: {t: {primary_key: []}}",
                   "m.yaml:1:27: t.primary_key: an empty list; \"none\" means no key");
    assert_refused("source: {kafka: {topics: [a, {b: c}]}}",
                   "m.yaml:1:30: a list of texts is wanted, this is a map");
    assert_refused("pipeline: \"a\\0b\"", "m.yaml:1:11: holds the character U+0000");
    assert_set_refused("batch.rows=x",
                       "--set batch.rows: batch.rows: \"x\" is not a whole number from 1 to 10000000");
    assert_set_refused("batch.rows+=1",
                       "--set batch.rows+: batch.rows is no list, so nothing can be added to it");
    assert_set_refused("tables.t.primary_key=[a", "--set tables.t.primary_key: not YAML: while parsing a "
                                                  "flow sequence, did not find expected ',' or ']'");
}

static void test_malformed_keys_of_settings_are_refused(void **state)
{
    (void)state;
    const char *const keys[] = {"", ".", "a.", ".a", "a..b", "\"a", "\"\".a", "\"a\"b.c", "+"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct mr_setting setting = {keys[i], "1", "--set"};
        struct mr_config *cfg;
        struct mr_error err = {0};
        assert_int_equal(mr_config_load(NULL, &setting, 1, &cfg, &err), MR_E_CONFIG);
        assert_non_null(strstr(err.message, "is no key"));
    }
}

static void test_what_is_said_twice_is_refused(void **state)
{
    (void)state;
    assert_refused("log: {level: info}\nlog: {level: warn}\n",
                   "m.yaml:2:1: \"log\" is said twice here, first in line 1");
    assert_refused("log: {level: info}\nlog.level: warn\n",
                   "m.yaml:2:1: log.level is said twice, first in line 1");
}

static void test_yaml_beyond_the_subset_is_refused(void **state)
{
    (void)state;
    assert_refused("log: &x {level: info}\n",
                   "m.yaml:1:6: anchors (&name) are not read; a text that begins with & needs quotes");
    assert_refused("pipeline: *x\n",
                   "m.yaml:1:11: aliases (*name) are not read; a text that begins with * needs quotes");
    assert_refused("pipeline: !!str x\n",
                   "m.yaml:1:11: tags (!name) are not read; a text that begins with ! needs quotes");
    assert_refused("---\nlog:\n---\nlog:\n", "m.yaml:3:1: a second document; a configuration is one");
    assert_refused("log: {level: info\n",
                   "m.yaml:2:1: not YAML: while parsing a flow mapping, did not find expected ',' or '}'");
    assert_refused("log:\n\tlevel: info\n", "m.yaml:2:1: not YAML: while scanning for the next token, found "
                                            "character that cannot start any token");
    assert_refused("? [a]\n: b\n", "m.yaml:1:3: a key must be a text (texts that hold { or [ need quotes)");
    char deep[200];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_refused(deep, "m.yaml:1:33: nested too deeply");
}

static void test_bytes_that_are_no_text_are_refused(void **state)
{
    (void)state;
    struct mr_config *cfg;
    struct mr_error err = {0};
    assert_int_equal(mr_config_load_text("m.yaml", MR_STR("pipeline: a\xff\n"), NULL, 0, &cfg, &err),
                     MR_E_CONFIG);
    assert_non_null(strstr(err.message, "not readable as text"));
}

static void test_a_file_that_is_not_there_is_a_configuration_error(void **state)
{
    (void)state;
    struct mr_config *cfg;
    struct mr_error err = {0};
    assert_int_equal(mr_config_load("/nonexistent/m.yaml", NULL, 0, &cfg, &err), MR_E_CONFIG);
    assert_string_equal(err.message,
                        "cannot open the configuration /nonexistent/m.yaml: No such file or directory");
    assert_int_equal(mr_config_load("/", NULL, 0, &cfg, &err), MR_E_CONFIG);
    assert_non_null(strstr(err.message, "cannot read the configuration /:"));
}

static void test_a_file_is_read_from_disk_and_named_in_messages(void **state)
{
    (void)state;
    char path[] = "/tmp/mr-config-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const char text[] = "batch:\n  rows: 7\n  bites: 1\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    struct mr_config *cfg;
    struct mr_error err = {0};
    assert_int_equal(mr_config_load(path, NULL, 0, &cfg, &err), MR_E_CONFIG);
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s:3:3: unknown key \"batch.bites\"; did you mean \"batch.bytes\"?",
             path);
    assert_string_equal(err.message, wanted);
    assert_int_equal(ftruncate(fd, 17), 0);
    assert_int_equal(mr_config_load(path, NULL, 0, &cfg, &err), MR_OK);
    assert_int_equal(cfg->batch_rows, 7);
    mr_config_destroy(cfg);
    assert_int_equal(ftruncate(fd, 2 << 20), 0);
    assert_int_equal(mr_config_load(path, NULL, 0, &cfg, &err), MR_E_CONFIG);
    assert_non_null(strstr(err.message, "larger than 1 MiB"));
    close(fd);
    unlink(path);
}

static void test_an_endless_map_is_refused(void **state)
{
    (void)state;
    struct mr_buf text = MR_BUF_INIT(1u << 20);
    mr_buf_append_z(&text, "tables:\n");
    for (int i = 0; i < 10001; i++)
        mr_buf_printf(&text, "  t%d: {delete: soft}\n", i);
    struct mr_config *cfg;
    struct mr_error err = {0};
    assert_int_equal(mr_config_load_text("m.yaml", mr_buf_str(&text), NULL, 0, &cfg, &err), MR_E_CONFIG);
    assert_string_equal(err.message, "m.yaml:10002:20: tables has more than 10000 entries");
    mr_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_file_everything_has_its_default),
        cmocka_unit_test(test_every_default_of_the_table_can_be_read),
        cmocka_unit_test(test_a_whole_file_is_read),
        cmocka_unit_test(test_dots_and_nesting_are_the_same),
        cmocka_unit_test(test_set_reads_keys_with_dots_with_and_without_quotes),
        cmocka_unit_test(test_set_takes_lists_in_three_ways),
        cmocka_unit_test(test_texts_of_settings_stand_as_they_are),
        cmocka_unit_test(test_later_sayings_win),
        cmocka_unit_test(test_null_takes_an_option_back_to_its_default),
        cmocka_unit_test(test_an_empty_file_is_a_configuration),
        cmocka_unit_test(test_sizes_and_times_have_units),
        cmocka_unit_test(test_start_may_be_a_time),
        cmocka_unit_test(test_add_fields_may_be_a_list),
        cmocka_unit_test(test_the_environment_fills_values),
        cmocka_unit_test(test_a_value_of_the_environment_is_no_yaml),
        cmocka_unit_test(test_a_missing_variable_is_refused_with_its_place),
        cmocka_unit_test(test_unknown_keys_are_refused_with_place_and_nearest_name),
        cmocka_unit_test(test_bad_values_are_refused_with_place_and_what_is_wanted),
        cmocka_unit_test(test_malformed_keys_of_settings_are_refused),
        cmocka_unit_test(test_what_is_said_twice_is_refused),
        cmocka_unit_test(test_yaml_beyond_the_subset_is_refused),
        cmocka_unit_test(test_bytes_that_are_no_text_are_refused),
        cmocka_unit_test(test_a_file_that_is_not_there_is_a_configuration_error),
        cmocka_unit_test(test_a_file_is_read_from_disk_and_named_in_messages),
        cmocka_unit_test(test_an_endless_map_is_refused),
    };
    return cmocka_run_group_tests_name("config loading", tests, NULL, NULL);
}
