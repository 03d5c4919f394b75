/* The command line: a table of commands (commands.c), one parser for all of them (args.c), and what a command gets to see.
 * Main thread only. */
#ifndef MR_CLI_CLI_H
#define MR_CLI_CLI_H

#include "exit_codes.h"

#include <millrace/config/config.h>

#include <stdio.h>

struct mr_cli_context;

/* What a flag does. */
enum mr_flag_kind {
    MR_FLAG_OWN,    /* the command reads it: mr_cli_has, mr_cli_value */
    MR_FLAG_OPTION, /* stands for a configuration key */
    MR_FLAG_SET,    /* --set key=value */
    MR_FLAG_FROM,   /* --from kafka://broker,…/topic,… */
    MR_FLAG_FILE,   /* -c: the configuration file */
    MR_FLAG_HELP,
};

struct mr_cli_flag {
    const char *name_z;  /* "--config" */
    char letter;         /* 'c', or 0 */
    const char *value_z; /* what follows it, for help: "FILE"; NULL = a switch */
    enum mr_flag_kind kind;
    const char *key_z;  /* OPTION: the key; a switch sets it to "true" */
    bool is_number;     /* OWN: a whole number from 0 on */
    const char *only_z; /* OWN: only for these actions ("list purge"); NULL = all */
    const char *help_z;
};

/* A list of flags ends with name_z NULL. */

/* A command's second word ("dead-letters list"). */
struct mr_cli_action {
    const char *name_z; /* NULL ends the list */
    const char *operands_z;
    size_t min_operands, max_operands;
    const char *summary_z;
};

struct mr_command {
    const char *name_z; /* NULL ends the table */
    const char *summary_z;
    const char *operands_z;                 /* for the usage line, "" for none */
    size_t max_operands;                    /* ignored where there are actions */
    bool operands_are_files;                /* they set source.file.paths */
    bool loads_config;                      /* ctx->cfg is filled, the log is set up */
    const struct mr_cli_flag *const *flags; /* groups of flags, NULL at the end */
    const struct mr_cli_action *actions;    /* NULL = none */
    int (*run)(struct mr_cli_context *ctx); /* an exit code */
    const char *description_z;              /* paragraphs, separated by empty lines; `code` in back quotes */
    const char *examples_z;                 /* lines to type; text behind "# " explains */
};

/* Every command, in the order of the help text (commands.c). */
extern const struct mr_command mr_commands[];
const struct mr_command *mr_command_find(const char *name_z); /* NULL if there is none */

#define MR_CLI_MANY SIZE_MAX

/* An OWN flag as it was said. */
struct mr_cli_said {
    const struct mr_cli_flag *flag;
    const char *value_z; /* "" for a switch */
};

struct mr_cli_context {
    const struct mr_command *command;
    const struct mr_cli_action *action; /* NULL if the command has none */
    const char **operands;              /* without the action */
    size_t operand_count;
    struct mr_config *cfg; /* if command->loads_config */

    const char *config_path_z;   /* -c, or NULL */
    struct mr_setting *settings; /* flags and operands as settings, in order */
    size_t setting_count, setting_cap;
    struct mr_cli_said *said;
    size_t said_count, said_cap;
    bool wants_help;
    struct mr_arena *ar; /* texts made while parsing */
};

/* Parse everything after the program's name; argv[0] names the command. OK, or MR_EXIT_USAGE (cannot be parsed), or
 * MR_EXIT_CONFIG (a malformed --set or --from) with err filled; ctx->command is then set if the command was found. */
enum mr_exit mr_cli_parse(struct mr_cli_context *ctx, int argc, char **argv,
                          struct mr_error *err) MR_MUST_CHECK;
void mr_cli_context_free(struct mr_cli_context *ctx);

/* Was an OWN flag said? "--json" */
bool mr_cli_has(const struct mr_cli_context *ctx, const char *flag_z);
/* Its value, the last one if said twice; NULL if not said. */
const char *mr_cli_value(const struct mr_cli_context *ctx, const char *flag_z);
/* A number flag's value. */
int64_t mr_cli_number(const struct mr_cli_context *ctx, const char *flag_z, int64_t fallback);
/* Is the action that one? ("list") */
bool mr_cli_action_is(const struct mr_cli_context *ctx, const char *action_z);

/* Print an error to stderr as a person reads it, and give the exit code of its class (ENV: 1; a command that knows which side failed
 * returns MR_EXIT_SOURCE or MR_EXIT_TARGET itself). */
int mr_cli_fail(const struct mr_error *err);
int mr_cli_exit_code(enum mr_status status);
/* The same for a command line that cannot be parsed: exit code 2. */
int mr_cli_usage_error(const struct mr_command *command, const struct mr_error *err);

/* CONFIG unless exactly one source, Kafka with topics or files, is set (run, backfill, plan). */
enum mr_status mr_cli_check_source(const struct mr_config *cfg, struct mr_error *err) MR_MUST_CHECK;
/* Does the configuration read Kafka (else files)? After mr_cli_check_source. */
bool mr_cli_reads_kafka(const struct mr_config *cfg);

/* Write a buffer to stdout; exit code 1 if that fails (a full disk, a closed pipe). */
int mr_cli_print(const struct mr_buf *text);

/* Help (help.c) and man pages (man.c). command NULL = the program itself. */
void mr_help_append(const struct mr_command *command, struct mr_buf *out);
void mr_man_page_append(const struct mr_command *command, struct mr_buf *out);

/* The whole program: parse, load, run. */
int mr_cli_main(int argc, char **argv);

#endif
