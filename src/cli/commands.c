/* The table of commands. A new command is one row here and one file cmd_<name>.c; help, man pages and the parser follow. */
#include "commands.h"

#include "cli.h"

/* ---- Flags, in groups that commands share ---- */

static const struct mr_cli_flag help_flags[] = {
    {"--help", 'h', NULL, MR_FLAG_HELP, .help_z = "Show this text."},
    {NULL},
};

static const struct mr_cli_flag config_flags[] = {
    {"--config", 'c', "FILE", MR_FLAG_FILE, .help_z = "Read the configuration from FILE (YAML)."},
    {"--set", 0, "KEY=VALUE", MR_FLAG_SET,
     .help_z = "Set any configuration key; may be repeated. `millrace config` lists the keys."},
    {"--log-level", 0, "LEVEL", MR_FLAG_OPTION, "log.level", .help_z = "debug, info, warn or error."},
    {"--log-format", 0, "FORMAT", MR_FLAG_OPTION, "log.format", .help_z = "logfmt or json."},
    {NULL},
};

static const struct mr_cli_flag target_flags[] = {
    {"--to", 0, "URL", MR_FLAG_OPTION, "target.url",
     .help_z =
         "The target: `postgresql://user@host/database` or `sqlite:PATH`. Default: `sqlite:millrace.db`."},
    {NULL},
};

/* `status` and `dead-letters` ask about a pipeline, which is named after its group. */
static const struct mr_cli_flag group_flags[] = {
    {"--group", 0, "NAME", MR_FLAG_OPTION, "source.kafka.group",
     .help_z = "Consumer group; it names the positions too."},
    {NULL},
};

static const struct mr_cli_flag source_flags[] = {
    {"--from", 0, "URL", MR_FLAG_FROM,
     .help_z = "Read Kafka: `kafka://broker:9092,…/topic,…`; a topic that begins with `^` is a "
               "regular expression."},
    {"--format", 0, "NAME", MR_FLAG_OPTION, "format",
     .help_z = "Format of the events: debezium, flat, json. Default: auto, found out for each topic."},
    {"--topic", 0, "NAME", MR_FLAG_OPTION, "source.file.topic",
     .help_z = "Topic of events in files that name none, such as `shop.orders`."},
    {NULL},
};

static const struct mr_cli_flag position_flags[] = {
    {"--id", 0, "NAME", MR_FLAG_OPTION, "source.file.id",
     .help_z = "Name of the standard input, so that its position is kept."},
    {"--again", 0, NULL, MR_FLAG_OPTION, "source.file.again",
     .help_z = "Forget the stored positions and start over."},
    {"--reset-position", 0, NULL, MR_FLAG_OPTION, "source.reset_position",
     .help_z = "Go on where a stored position no longer exists in the topic."},
    {NULL},
};

static const struct mr_cli_flag json_flags[] = {
    {"--json", 0, NULL, MR_FLAG_OWN, .help_z = "Write JSON instead of text."},
    {NULL},
};

static const struct mr_cli_flag plan_own_flags[] = {
    {"--check", 0, NULL, MR_FLAG_OWN,
     .help_z = "Exit with 7 if a table would have to be created or altered, or a record would be a dead letter."},
    {NULL},
};

static const struct mr_cli_flag check_own_flags[] = {
    {"--sample", 0, "NAME", MR_FLAG_OWN,
     .help_z = "Read the first messages of a topic or a file (`-`: the standard input) instead, and say which format they look "
               "like, and by which signs."},
    {NULL},
};

static const struct mr_cli_flag schema_own_flags[] = {
    {"--history", 0, NULL, MR_FLAG_OWN,
     .help_z = "Show how the types came to be, with the events that caused it."},
    {NULL},
};

static const struct mr_cli_flag dead_letter_own_flags[] = {
    {"--topic", 0, "NAME", MR_FLAG_OWN, .only_z = "list replay purge", .help_z = "Only those of this topic."},
    {"--code", 0, "CODE", MR_FLAG_OWN, .only_z = "list replay purge",
     .help_z = "Only those with this reason (`type_conflict`, …)."},
    {"--table", 0, "NAME", MR_FLAG_OWN, .only_z = "list replay purge",
     .help_z = "Only those of this target table."},
    {"--limit", 0, "N", MR_FLAG_OWN, .is_number = true, .only_z = "list replay",
     .help_z = "At most so many. Default of `list`: 100; 0 is all."},
    {"--all", 0, NULL, MR_FLAG_OWN, .only_z = "list replay purge",
     .help_z =
         "list, purge: replayed ones too. replay, purge: all that are there, where no ID and no filter is given."},
    {"--overwrite", 0, NULL, MR_FLAG_OWN, .only_z = "replay",
     .help_z = "Let a replayed row replace a row that has come in the meantime."},
    {"--yes", 0, NULL, MR_FLAG_OWN, .only_z = "purge",
     .help_z = "Do not ask. Needed for --all where there is no terminal to ask on."},
    {"--with-values", 0, NULL, MR_FLAG_OWN, .only_z = "list",
     .help_z = "Show keys and values of the messages, as `show` does."},
    {NULL},
};

static const struct mr_cli_flag config_own_flags[] = {
    {"--reference", 0, NULL, MR_FLAG_OWN, .help_z = "Write the reference of all options, as Markdown."},
    {NULL},
};

static const struct mr_cli_flag help_own_flags[] = {
    {"--man", 0, NULL, MR_FLAG_OWN, .help_z = "Write it as a man page."},
    {NULL},
};

#define GROUPS(name, ...) static const struct mr_cli_flag *const name[] = {__VA_ARGS__, help_flags, NULL}
GROUPS(load_groups, target_flags, source_flags, group_flags, position_flags, config_flags);
GROUPS(plan_groups, plan_own_flags, json_flags, target_flags, source_flags, group_flags, position_flags,
       config_flags);
GROUPS(check_groups, check_own_flags, json_flags, target_flags, source_flags, group_flags, config_flags);
GROUPS(status_groups, json_flags, target_flags, group_flags, config_flags);
GROUPS(schema_groups, schema_own_flags, json_flags, target_flags, config_flags);
GROUPS(dead_letter_groups, dead_letter_own_flags, json_flags, target_flags, group_flags, config_flags);
GROUPS(config_groups, config_own_flags, json_flags, target_flags, source_flags, group_flags, position_flags,
       config_flags);
GROUPS(version_groups, json_flags);
GROUPS(help_groups, help_own_flags);

static const struct mr_cli_action dead_letter_actions[] = {
    {"list", "", 0, 0, "Show what is there, oldest first."},
    {"show", "ID", 1, 1, "Show one with everything that is known of it."},
    {"replay", "[ID…]", 0, MR_CLI_MANY, "Apply the messages once more, and mark those that succeed."},
    {"purge", "[ID…]", 0, MR_CLI_MANY, "Remove them for good."},
    {NULL},
};

/* ---- Commands ---- */

const struct mr_command mr_commands[] = {
    {.name_z = "run",
     .summary_z = "Load events as they come, until stopped.",
     .operands_z = "[FILE…]",
     .max_operands = MR_CLI_MANY,
     .operands_are_files = true,
     .loads_config = true,
     .flags = load_groups,
     .run = mr_cmd_run,
     .description_z = "Reads the source without end and keeps the tables of the target up to date: it "
                      "creates and widens them as the events ask for, applies every event exactly once, and "
                      "puts what cannot be applied into the dead letters.\n\n"
                      "It goes on where it stopped, since the positions are stored in the target together "
                      "with the rows. Several instances with one group share the partitions. SIGTERM and "
                      "SIGINT end it after the open batch.\n\n"
                      "FILEs are read to their ends and then watched for further lines.",
     .examples_z = "millrace run -c millrace.yaml\n"
                   "millrace run --from kafka://broker:9092/shop.orders --to "
                   "postgresql://loader@db/warehouse\n"},
    {.name_z = "backfill",
     .summary_z = "Load what is there once, then exit.",
     .operands_z = "[FILE…|-]",
     .max_operands = MR_CLI_MANY,
     .operands_are_files = true,
     .loads_config = true,
     .flags = load_groups,
     .run = mr_cmd_backfill,
     .description_z = "Reads files, the standard input (`-`), or Kafka topics up to their present ends, and "
                      "exits with 0 when every record is in the target or in the dead letters, whose number "
                      "is printed.\n\n"
                      "An interrupted backfill goes on where it stopped when it is started again; `--again` "
                      "starts over. Files may be compressed with gzip or zstd.",
     .examples_z = "millrace backfill orders.jsonl                     # into sqlite:millrace.db\n"
                   "zcat *.gz | millrace backfill --to postgresql://loader@db/warehouse --format flat "
                   "--topic shop.orders -\n"
                   "millrace backfill --from kafka://broker:9092/shop.orders\n"},
    {.name_z = "plan",
     .summary_z = "Show the statements that loading would run on tables, and why.",
     .operands_z = "[FILE…|-]",
     .max_operands = MR_CLI_MANY,
     .operands_are_files = true,
     .loads_config = true,
     .flags = plan_groups,
     .run = mr_cmd_plan,
     .description_z = "Reads the source up to its present end, compares what it learns with the tables of "
                      "the target, and prints the CREATE and ALTER statements with the evidence: the types "
                      "seen in each field, and the event that forced the type. Nothing is written.",
     .examples_z = "millrace plan orders.jsonl --to postgresql://loader@db/warehouse\n"
                   "millrace plan -c millrace.yaml --check              # exit code 7 if something would "
                   "change\n"},
    {.name_z = "check",
     .summary_z = "Check the configuration, the connections and the rights.",
     .operands_z = "[FILE…|-]",
     .max_operands = MR_CLI_MANY,
     .operands_are_files = true,
     .loads_config = true,
     .flags = check_groups,
     .run = mr_cmd_check,
     .description_z = "Connects to the source and to the target and says of each whether it can be reached "
                      "and whether the rights that loading needs are there. Nothing is written.",
     .examples_z = "millrace check -c millrace.yaml\n"
                   "millrace check --sample shop.orders -c millrace.yaml  # what is in that topic?\n"
                   "millrace check --sample export.jsonl\n"},
    {.name_z = "status",
     .summary_z = "Show positions, tables and dead letters as the target has them.",
     .operands_z = "",
     .loads_config = true,
     .flags = status_groups,
     .run = mr_cmd_status,
     .description_z = "Reads the control tables of the target: how far each partition is, which tables are "
                      "loaded, how many dead letters wait.",
     .examples_z = "millrace status --to postgresql://loader@db/warehouse\n"
                   "millrace status -c millrace.yaml --json\n"},
    {.name_z = "schema",
     .summary_z = "Show the tracked types of the columns and their history.",
     .operands_z = "[TABLE]",
     .max_operands = 1,
     .loads_config = true,
     .flags = schema_groups,
     .run = mr_cmd_schema,
     .description_z = "Shows the columns that Millrace has learned, of all tables or of one: name, source "
                      "path, type, where it was first seen, what widened it. `--json` is the export.",
     .examples_z = "millrace schema shop.orders --history\n"
                   "millrace schema -c millrace.yaml --json\n"},
    {.name_z = "dead-letters",
     .summary_z = "List, show, replay or remove events that could not be applied.",
     .operands_z = "list|show|replay|purge [ID…]",
     .loads_config = true,
     .flags = dead_letter_groups,
     .actions = dead_letter_actions,
     .run = mr_cmd_dead_letters,
     .description_z = "An event that cannot be applied is kept in the target with its bytes, its position "
                      "and the reason. After the reason is gone (a policy changed, a column altered) it can "
                      "be replayed.\n\n"
                      "A replay inserts rows whose keys are absent; a row that is there already is "
                      "reported, since it may be newer. A letter that cannot be applied stays open, and the exit "
                      "code is then 6.",
     .examples_z = "millrace dead-letters list --code type_conflict\n"
                   "millrace dead-letters show 17\n"
                   "millrace dead-letters replay 17 18\n"
                   "millrace dead-letters purge --all --yes\n"},
    {.name_z = "config",
     .summary_z = "Show every option, its value and where the value comes from.",
     .operands_z = "[FILE…|-]",
     .max_operands = MR_CLI_MANY,
     .operands_are_files = true,
     .loads_config = true,
     .flags = config_groups,
     .run = mr_cmd_config,
     .description_z = "Takes the same flags as the loading commands and shows the configuration that they "
                      "would work with. Passwords are masked.",
     .examples_z = "millrace config -c millrace.yaml\n"
                   "millrace config --set batch.rows=1000 --json\n"},
    {.name_z = "version",
     .summary_z = "Show the version.",
     .operands_z = "",
     .flags = version_groups,
     .run = mr_cmd_version,
     .description_z = "Shows the version of Millrace.",
     .examples_z = "millrace version\n"},
    {.name_z = "help",
     .summary_z = "Explain a command.",
     .operands_z = "[COMMAND]",
     .max_operands = 1,
     .flags = help_groups,
     .run = mr_cmd_help,
     .description_z = "The same as `millrace COMMAND --help`.",
     .examples_z = "millrace help backfill\n"
                   "millrace help backfill --man | man -l -\n"},
    {NULL},
};
