/* The command line: what flags become, what cannot be parsed, and whether the tables of commands and options agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include <millrace/base/buf.h>

#include "cli/cli.h"
#include "config/option.h"

/* ---- Builders ---- */

#define MAX_ARGS 32

static enum mr_exit parse_list(struct mr_cli_context *ctx, const char *const *words, struct mr_error *err)
{
    static char text[MAX_ARGS][256];
    char *argv[MAX_ARGS];
    int argc = 0;
    for (; words[argc]; argc++) {
        snprintf(text[argc], sizeof text[argc], "%s", words[argc]);
        argv[argc] = text[argc];
    }
    return mr_cli_parse(ctx, argc, argv, err);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Parsed and loaded. */
static struct mr_cli_context parsed(const char *const *words)
{
    struct mr_cli_context ctx;
    struct mr_error err = {0};
    if (parse_list(&ctx, words, &err) != MR_EXIT_OK ||
        mr_config_load(ctx.config_path_z, ctx.settings, ctx.setting_count, &ctx.cfg, &err) != MR_OK)
        fail_msg("%s", err.message);
    return ctx;
}

static void assert_fails(const char *const *words, enum mr_exit code, const char *message_z)
{
    struct mr_cli_context ctx;
    struct mr_error err = {0};
    assert_int_equal(parse_list(&ctx, words, &err), code);
    assert_string_equal(err.message, message_z);
    mr_cli_context_free(&ctx);
}

/* ---- What flags become ---- */

static void test_flags_stand_for_options(void **state)
{
    (void)state;
    struct mr_cli_context ctx =
        parsed(WORDS("run", "--to", "postgresql://h/d", "--format=flat", "--topic", "shop.orders", "--group",
                     "g", "--id", "x", "--again", "--reset-position", "--log-level", "warn",
                     "--log-format=json", "--set", "batch.rows=9", "--set=batch.bytes=2kB"));
    assert_string_equal(ctx.command->name_z, "run");
    assert_string_equal(ctx.cfg->target_url, "postgresql://h/d");
    assert_string_equal(ctx.cfg->format, "flat");
    assert_string_equal(ctx.cfg->file_topic, "shop.orders");
    assert_string_equal(ctx.cfg->kafka_group, "g");
    assert_string_equal(ctx.cfg->file_id, "x");
    assert_true(ctx.cfg->file_again && ctx.cfg->reset_position);
    assert_int_equal(ctx.cfg->log_level, MR_LOG_WARN);
    assert_int_equal(ctx.cfg->log_format, MR_LOG_JSON);
    assert_int_equal(ctx.cfg->batch_rows, 9);
    assert_int_equal(ctx.cfg->batch_bytes, 2000);
    mr_cli_context_free(&ctx);
}

static void test_from_names_brokers_and_topics(void **state)
{
    (void)state;
    struct mr_cli_context ctx = parsed(WORDS("backfill", "--from", "kafka://a:9092,b/t1,^t.{1,2}"));
    assert_string_equal(ctx.cfg->kafka_brokers, "a:9092,b");
    assert_int_equal(ctx.cfg->kafka_topics.count, 2);
    assert_string_equal(ctx.cfg->kafka_topics.items[0], "t1");
    assert_string_equal(ctx.cfg->kafka_topics.items[1], "^t.{1,2}");
    assert_true(mr_cli_reads_kafka(ctx.cfg));
    mr_cli_context_free(&ctx);
}

static void test_files_are_taken_as_they_stand(void **state)
{
    (void)state;
    struct mr_cli_context ctx = parsed(
        WORDS("backfill", "a,b.jsonl", "-", "[x].gz", "${HOME}\xff", "--to", "sqlite:x", "--", "--odd"));
    const struct mr_strings *paths = &ctx.cfg->file_paths;
    assert_int_equal(paths->count, 5);
    assert_string_equal(paths->items[0], "a,b.jsonl");
    assert_string_equal(paths->items[1], "-");
    assert_string_equal(paths->items[2], "[x].gz");
    assert_string_equal(paths->items[3], "${HOME}\xff");
    assert_string_equal(paths->items[4], "--odd");
    mr_cli_context_free(&ctx);
}

static void test_the_source_of_the_command_line_replaces_that_of_the_file(void **state)
{
    (void)state;
    struct mr_cli_context ctx =
        parsed(WORDS("run", "--set", "source.kafka.brokers=b", "--set", "source.kafka.topics=t", "f.jsonl"));
    struct mr_error err = {0};
    assert_int_equal(mr_cli_check_source(ctx.cfg, &err), MR_OK);
    assert_false(mr_cli_reads_kafka(ctx.cfg));
    mr_cli_context_free(&ctx);
    ctx = parsed(WORDS("run", "--set", "source.file.paths=x", "--from", "kafka://b/t"));
    assert_int_equal(mr_cli_check_source(ctx.cfg, &err), MR_OK);
    assert_true(mr_cli_reads_kafka(ctx.cfg));
    mr_cli_context_free(&ctx);
}

static void test_exactly_one_source_is_wanted(void **state)
{
    (void)state;
    struct mr_error err = {0};
    struct mr_cli_context ctx = parsed(WORDS("run"));
    assert_int_equal(mr_cli_check_source(ctx.cfg, &err), MR_E_CONFIG);
    mr_cli_context_free(&ctx);
    ctx = parsed(WORDS("run", "--set", "source.kafka.brokers=b", "--set", "source.file.paths=x"));
    assert_int_equal(mr_cli_check_source(ctx.cfg, &err), MR_E_CONFIG);
    mr_cli_context_free(&ctx);
    ctx = parsed(WORDS("run", "--set", "source.kafka.brokers=b"));
    assert_int_equal(mr_cli_check_source(ctx.cfg, &err), MR_E_CONFIG);
    assert_string_equal(err.message, "source.kafka.brokers is set, source.kafka.topics is not");
    mr_cli_context_free(&ctx);
}

static void test_the_configuration_file_has_a_short_flag(void **state)
{
    (void)state;
    struct mr_cli_context ctx;
    struct mr_error err = {0};
    const char *const *const forms[] = {WORDS("run", "-c", "m.yaml"), WORDS("run", "-cm.yaml"),
                                        WORDS("run", "--config=m.yaml"), WORDS("run", "--config", "m.yaml")};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(parse_list(&ctx, forms[i], &err), MR_EXIT_OK);
        assert_string_equal(ctx.config_path_z, "m.yaml");
        mr_cli_context_free(&ctx);
    }
}

static void test_flags_of_a_command_are_its_own(void **state)
{
    (void)state;
    struct mr_cli_context ctx;
    struct mr_error err = {0};
    assert_int_equal(
        parse_list(&ctx, WORDS("dead-letters", "list", "--topic", "t", "--limit=5", "--all", "--topic", "u"),
                   &err),
        MR_EXIT_OK);
    assert_true(mr_cli_action_is(&ctx, "list"));
    assert_string_equal(mr_cli_value(&ctx, "--topic"), "u");
    assert_int_equal(mr_cli_number(&ctx, "--limit", 100), 5);
    assert_true(mr_cli_has(&ctx, "--all"));
    assert_false(mr_cli_has(&ctx, "--json"));
    assert_int_equal(ctx.setting_count, 0); /* not source.file.topic */
    mr_cli_context_free(&ctx);
    assert_int_equal(parse_list(&ctx, WORDS("dead-letters", "replay", "1", "2"), &err), MR_EXIT_OK);
    assert_int_equal(ctx.operand_count, 2);
    assert_int_equal(mr_cli_number(&ctx, "--limit", 100), 100);
    mr_cli_context_free(&ctx);
}

static void test_help_is_given_whatever_else_is_missing(void **state)
{
    (void)state;
    struct mr_cli_context ctx;
    struct mr_error err = {0};
    assert_int_equal(parse_list(&ctx, WORDS("dead-letters", "--help"), &err), MR_EXIT_OK);
    assert_true(ctx.wants_help);
    mr_cli_context_free(&ctx);
}

/* ---- What cannot be parsed ---- */

static void test_what_cannot_be_parsed_says_what_is_near(void **state)
{
    (void)state;
    assert_fails(WORDS("backfil"), MR_EXIT_USAGE, "no command \"backfil\"; did you mean backfill?");
    assert_fails(WORDS("x"), MR_EXIT_USAGE, "no command \"x\"");
    assert_fails(WORDS("run", "--fromm", "x"), MR_EXIT_USAGE,
                 "run has no flag --fromm; did you mean --from?");
    assert_fails(WORDS("run", "-x"), MR_EXIT_USAGE, "run has no flag -x");
    assert_fails(WORDS("run", "--to"), MR_EXIT_USAGE, "--to wants a value: --to URL");
    assert_fails(WORDS("run", "--again=yes"), MR_EXIT_USAGE, "--again takes no value");
    assert_fails(WORDS("run", "-c", "a", "-c", "b"), MR_EXIT_USAGE, "--config is given twice");
    assert_fails(WORDS("run", "f", "--from", "kafka://a/b"), MR_EXIT_USAGE,
                 "files and --from exclude each other");
    assert_fails(WORDS("status", "x"), MR_EXIT_USAGE, "status does not take \"x\"");
    assert_fails(WORDS("schema", "a", "b"), MR_EXIT_USAGE, "schema does not take \"b\"");
    assert_fails(WORDS("dead-letters"), MR_EXIT_USAGE,
                 "dead-letters wants one of list|show|replay|purge [ID…]");
    assert_fails(WORDS("dead-letters", "lst"), MR_EXIT_USAGE,
                 "dead-letters does not know \"lst\"; did you mean list?");
    assert_fails(WORDS("dead-letters", "show"), MR_EXIT_USAGE, "dead-letters show wants ID");
    assert_fails(WORDS("dead-letters", "list", "4"), MR_EXIT_USAGE, "dead-letters list does not take \"4\"");
    assert_fails(WORDS("dead-letters", "list", "--yes"), MR_EXIT_USAGE,
                 "--yes is no flag of dead-letters list");
    assert_fails(WORDS("dead-letters", "list", "--limit", "-1"), MR_EXIT_USAGE,
                 "--limit wants a whole number, not \"-1\"");
}

static void test_bad_values_of_flags_are_values(void **state)
{
    (void)state;
    assert_fails(WORDS("run", "--set", "batch"), MR_EXIT_CONFIG, "--set batch: write --set key=value");
    assert_fails(WORDS("run", "--set", "=1"), MR_EXIT_CONFIG, "--set =1: write --set key=value");
    assert_fails(WORDS("run", "--from", "orders.jsonl"), MR_EXIT_CONFIG,
                 "--from orders.jsonl: write kafka://broker:9092,…/topic,… (files are named without a flag)");
    assert_fails(WORDS("run", "--from", "kafka://b"), MR_EXIT_CONFIG,
                 "--from kafka://b: brokers and topics are both needed: kafka://broker:9092/topic");
    struct mr_cli_context ctx;
    struct mr_error err = {0};
    assert_int_equal(parse_list(&ctx, WORDS("run", "--log-level", "loud"), &err), MR_EXIT_OK);
    assert_int_equal(mr_config_load(NULL, ctx.settings, ctx.setting_count, &ctx.cfg, &err), MR_E_CONFIG);
    assert_string_equal(err.message,
                        "--log-level: log.level: \"loud\" is not one of debug | info | warn | error");
    mr_cli_context_free(&ctx);
}

static void test_the_program_ends_with_the_code_of_its_error(void **state)
{
    (void)state;
    assert_int_equal(mr_cli_exit_code(MR_OK), 0);
    assert_int_equal(mr_cli_exit_code(MR_E_STOPPED), 0);
    assert_int_equal(mr_cli_exit_code(MR_E_CONFIG), 3);
    assert_int_equal(mr_cli_exit_code(MR_E_ENV), 1);
    assert_int_equal(mr_cli_exit_code(MR_E_DATA), 6);
    assert_int_equal(mr_cli_exit_code(MR_E_FENCED), 8);
    assert_int_equal(mr_cli_exit_code(MR_E_BUG), 70);
}

/* The whole program's exit code, with what it says thrown away. */
static int exit_code_of(const char *const *words)
{
    char text[MAX_ARGS][64], *argv[MAX_ARGS + 1];
    int argc = 0;
    for (; words[argc]; argc++) {
        snprintf(text[argc], sizeof text[argc], "%s", words[argc]);
        argv[argc] = text[argc];
    }
    argv[argc] = NULL;
    fflush(NULL);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    int code = mr_cli_main(argc, argv);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    close(nowhere);
    return code;
}

static void test_exit_codes_tell_the_command_line_from_its_values(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(WORDS("millrace")), 2);
    assert_int_equal(exit_code_of(WORDS("millrace", "--help")), 0);
    assert_int_equal(exit_code_of(WORDS("millrace", "--version")), 0);
    assert_int_equal(exit_code_of(WORDS("millrace", "help", "run")), 0);
    assert_int_equal(exit_code_of(WORDS("millrace", "help", "rnu")), 2);
    assert_int_equal(exit_code_of(WORDS("millrace", "run", "--help")), 0);
    assert_int_equal(exit_code_of(WORDS("millrace", "rnu")), 2);
    assert_int_equal(exit_code_of(WORDS("millrace", "config", "--nothing")), 2);
    assert_int_equal(exit_code_of(WORDS("millrace", "config")), 0);
    assert_int_equal(exit_code_of(WORDS("millrace", "config", "--json")), 0);
    assert_int_equal(exit_code_of(WORDS("millrace", "config", "--set", "batch")), 3);
    assert_int_equal(exit_code_of(WORDS("millrace", "config", "--set", "batch.rows=x")), 3);
    assert_int_equal(exit_code_of(WORDS("millrace", "config", "--set", "no.such.key=1")), 3);
    assert_int_equal(exit_code_of(WORDS("millrace", "config", "-c", "/nonexistent")), 3);
    assert_int_equal(exit_code_of(WORDS("millrace", "config", "--from", "x")), 3);
}

/* ---- The tables ---- */

static void test_every_command_explains_itself_with_an_example(void **state)
{
    (void)state;
    for (const struct mr_command *command = mr_commands; command->name_z; command++) {
        struct mr_buf help = MR_BUF_INIT(1u << 20), man = MR_BUF_INIT(1u << 20);
        char call[64];
        mr_help_append(command, &help);
        mr_man_page_append(command, &man);
        snprintf(call, sizeof call, "  millrace %s", command->name_z);
        assert_non_null(strstr(mr_buf_z(&help), call));
        assert_non_null(strstr(mr_buf_z(&help), "--help"));
        assert_non_null(strstr(mr_buf_z(&man), ".SH EXAMPLES"));
        assert_non_null(command->run);
        mr_buf_free(&help);
        mr_buf_free(&man);
    }
}

static void test_flags_and_options_agree(void **state)
{
    (void)state;
    for (const struct mr_command *command = mr_commands; command->name_z; command++) {
        for (size_t g = 0; command->flags[g]; g++) {
            for (const struct mr_cli_flag *flag = command->flags[g]; flag->name_z; flag++) {
                if (flag->kind != MR_FLAG_OPTION)
                    continue;
                const struct mr_option *opt = mr_option_find(mr_str_z(flag->key_z));
                assert_non_null(opt);
                assert_string_equal(opt->flag_z, flag->name_z);
                assert_int_equal(flag->value_z == NULL, opt->type == MR_OPT_BOOL);
            }
        }
    }
    for (size_t i = 0; i < mr_option_count; i++) {
        const char *wanted = mr_options[i].flag_z;
        bool found = !wanted || strcmp(wanted, "FILE") == 0;
        const struct mr_command *run = mr_command_find("run");
        for (size_t g = 0; run->flags[g] && !found; g++) {
            for (const struct mr_cli_flag *flag = run->flags[g]; flag->name_z; flag++)
                found |= strcmp(flag->name_z, wanted) == 0;
        }
        assert_true(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags_stand_for_options),
        cmocka_unit_test(test_from_names_brokers_and_topics),
        cmocka_unit_test(test_files_are_taken_as_they_stand),
        cmocka_unit_test(test_the_source_of_the_command_line_replaces_that_of_the_file),
        cmocka_unit_test(test_exactly_one_source_is_wanted),
        cmocka_unit_test(test_the_configuration_file_has_a_short_flag),
        cmocka_unit_test(test_flags_of_a_command_are_its_own),
        cmocka_unit_test(test_help_is_given_whatever_else_is_missing),
        cmocka_unit_test(test_what_cannot_be_parsed_says_what_is_near),
        cmocka_unit_test(test_bad_values_of_flags_are_values),
        cmocka_unit_test(test_the_program_ends_with_the_code_of_its_error),
        cmocka_unit_test(test_exit_codes_tell_the_command_line_from_its_values),
        cmocka_unit_test(test_every_command_explains_itself_with_an_example),
        cmocka_unit_test(test_flags_and_options_agree),
    };
    return cmocka_run_group_tests_name("command line", tests, NULL, NULL);
}
