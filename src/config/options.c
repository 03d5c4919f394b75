/* The option table itself. A new option is one row here and one member of struct mr_config. */
#include "option.h"

#include <millrace/base/buf.h>

#include <stddef.h>

const struct mr_word mr_policy_words[] = {
    {"widen", MR_POLICY_WIDEN},     {"strict", MR_POLICY_STRICT},
    {"text", MR_POLICY_TEXT},       {"json", MR_POLICY_JSON},
    {"variant", MR_POLICY_VARIANT}, {"null", MR_POLICY_NULL},
    {"fail", MR_POLICY_FAIL},       {NULL, 0},
};
const struct mr_word mr_delete_words[] = {
    {"hard", MR_DELETE_HARD}, {"soft", MR_DELETE_SOFT}, {"ignore", MR_DELETE_IGNORE}, {NULL, 0}};
const struct mr_word mr_missing_words[] = {{"null", MR_MISSING_NULL}, {"keep", MR_MISSING_KEEP}, {NULL, 0}};

static const struct mr_word evolve_words[] = {
    {"full", MR_EVOLVE_FULL}, {"add", MR_EVOLVE_ADD}, {"none", MR_EVOLVE_NONE}, {NULL, 0}};
static const struct mr_word text_invalid_words[] = {
    {"dead_letter", MR_TEXT_DEAD_LETTER}, {"strip", MR_TEXT_STRIP}, {"replace", MR_TEXT_REPLACE}, {NULL, 0}};
static const struct mr_word array_words[] = {{"json", MR_ARRAY_JSON}, {"table", MR_ARRAY_TABLE}, {NULL, 0}};
static const struct mr_word log_format_words[] = {
    {"logfmt", MR_LOG_LOGFMT}, {"json", MR_LOG_JSON}, {NULL, 0}};
static const struct mr_word log_level_words[] = {{"debug", MR_LOG_DEBUG},
                                                 {"info", MR_LOG_INFO},
                                                 {"warn", MR_LOG_WARN},
                                                 {"error", MR_LOG_ERROR},
                                                 {NULL, 0}};

#define AT(member) .offset = offsetof(struct mr_config, member)
#define SAID(member) .said_offset = offsetof(struct mr_config, member)
#define KIB INT64_C(1024)
#define MIB (INT64_C(1024) * KIB)
#define GIB (INT64_C(1024) * MIB)
#define SECOND INT64_C(1000)
#define HOUR (INT64_C(3600) * SECOND)

const struct mr_option mr_options[] = {
    {"pipeline", MR_OPT_TEXT, AT(pipeline), .default_z = "", .default_note_z = "the consumer group",
     .help_z = "Name under which the positions are kept in the target. Two pipelines that load different "
               "things into one target need two names."},

    {"source.kafka.brokers", MR_OPT_COMMAS, AT(kafka_brokers), .default_z = "", .flag_z = "--from",
     .help_z = "Where to find the Kafka cluster: `host:port`, several with commas between them."},
    {"source.kafka.topics", MR_OPT_LIST, AT(kafka_topics), .default_z = "", .flag_z = "--from",
     .help_z =
         "Topics to read. A name that begins with `^` is a regular expression over the names of all topics."},
    {"source.kafka.group", MR_OPT_TEXT, AT(kafka_group), .default_z = "millrace", .flag_z = "--group",
     .help_z = "Consumer group. All instances that share the work have the same one."},
    {"source.kafka.start", MR_OPT_START, AT(kafka_start), .default_z = "earliest",
     .help_z = "Where to begin a partition of which the target has no position: at its beginning, at its "
               "end, or at the first message that is not older than a time (`2026-01-31T06:00:00Z`)."},
    {"source.kafka.properties", MR_OPT_PAIRS, AT(kafka_properties),
     .help_z = "Handed to librdkafka as they are, for instance `security.protocol: SASL_SSL`. Values "
               "whose names speak of passwords, secrets, tokens or private keys are never shown."},

    {"source.file.paths", MR_OPT_PATHS, AT(file_paths), .default_z = "", .flag_z = "FILE",
     .help_z = "Files of JSON lines to read, plain or compressed with gzip or zstd. Patterns with `*`, "
               "`?` and `[…]` are allowed; `-` is the standard input."},
    {"source.file.topic", MR_OPT_TEXT, AT(file_topic), .default_z = "", .flag_z = "--topic",
     .help_z =
         "Topic of events that name none, such as `shop.orders`. It says which table bare rows belong to."},
    {"source.file.id", MR_OPT_TEXT, AT(file_id), .default_z = "", .flag_z = "--id",
     .help_z = "Name of what comes in on the standard input. With it the position is kept, so that the "
               "same input can be sent again after an interruption."},
    {"source.file.again", MR_OPT_BOOL, AT(file_again), .default_z = "false", .flag_z = "--again",
     .help_z = "Forget the stored positions and read the input from its start."},
    {"source.reset_position", MR_OPT_BOOL, AT(reset_position), .default_z = "false",
     .flag_z = "--reset-position",
     .help_z = "Go on at `source.kafka.start` where a stored position no longer exists in the topic (it "
               "was created anew, or its messages have expired). Without it such a topic stops with a "
               "message."},

    {"format", MR_OPT_TEXT, AT(format), .default_z = "auto", .flag_z = "--format",
     .help_z =
         "Format of the events. `auto` finds it out for each topic; `json` (plain rows) is never guessed."},

    {"unwrap.flatten.struct", MR_OPT_BOOL, AT(flatten_struct), .default_z = "true",
     .help_z = "Make columns `a_b` of nested documents. Otherwise a document is one JSON column."},
    {"unwrap.flatten.struct.delimiter", MR_OPT_TEXT, AT(flatten_delimiter), .default_z = "_",
     .help_z = "What stands between the names of a flattened column."},
    {"unwrap.array.encoding", MR_OPT_WORD, AT(array_encoding), .words = array_words, .default_z = "json",
     .help_z = "How arrays are stored. `json`: as one JSON column. `table`: as rows of a child table `parent__field`, with the parent's key and "
               "the element's position; it needs unwrap.flatten.struct."},
    {"unwrap.add.fields", MR_OPT_COMMAS, AT(add_fields), .default_z = "",
     .help_z = "Facts about the event to add as columns, for every format: `op`, `ts_ms`, any field of "
               "`source` (`source.ts_ms`), `topic`, `partition`, `offset`. `name:other` gives a column "
               "another name."},
    {"unwrap.add.fields.prefix", MR_OPT_TEXT, AT(add_fields_prefix), .default_z = "__",
     .help_z = "What the names of the added columns begin with: `source.ts_ms` becomes `__source_ts_ms`."},
    {"unwrap.unavailable.value.placeholder", MR_OPT_TEXT, AT(unavailable_placeholder),
     .default_z = "__debezium_unavailable_value",
     .help_z = "The text that Debezium puts in place of a value that it does not know. The column then "
               "keeps what it has."},

    {"text.invalid", MR_OPT_WORD, AT(text_invalid), .words = text_invalid_words, .default_z = "dead_letter",
     .help_z = "What to do with text that the target cannot hold (U+0000 in PostgreSQL, lone surrogates, "
               "bytes that are no UTF-8): the row becomes a dead letter, or the characters are left out, "
               "or each becomes U+FFFD."},
    {"limits.depth", MR_OPT_UINT, AT(max_depth), .default_z = "256", .min = 8, .max = 10000,
     .help_z = "How deep a message may be nested. A deeper one is a dead letter."},
    {"limits.message_bytes", MR_OPT_SIZE, AT(max_message_bytes), .default_z = "64MiB", .min = 1024,
     .max = GIB, .help_z = "How large a message or a line of a file may be. A larger one is a dead letter."},

    {"target.url", MR_OPT_TEXT, AT(target_url), .default_z = "sqlite:millrace.db", .secret = true,
     .flag_z = "--to",
     .help_z = "The database to load into: `postgresql://user@host:port/database`, "
               "`mysql://user@host:port/database` (MariaDB too) or `sqlite:PATH`. A password comes from the "
               "environment (`${PGPASSWORD}`) or from `target.password_file`, not from here."},
    {"target.password_file", MR_OPT_TEXT, AT(target_password_file), .default_z = "",
     .help_z = "A file whose first line is the password."},
    {"target.schema", MR_OPT_TEXT, AT(target_schema), SAID(target_schema_set), .default_z = "{db}",
     .help_z = "Schema of the tables, a template over `{db}`, `{table}` and `{topic}`. SQLite has none "
               "and refuses it."},
    {"target.table", MR_OPT_TEXT, AT(target_table), SAID(target_table_set), .default_z = "{table}",
     .default_note_z = "`{db}_{table}` in SQLite",
     .help_z = "Name of the tables, a template over the same names."},
    {"target.control_schema", MR_OPT_TEXT, AT(control_schema), .default_z = "",
     .default_note_z = "`millrace` in PostgreSQL; in MySQL the URL's database, in SQLite the file: tables `millrace_…`",
     .help_z = "Where Millrace keeps its positions, types, histories and dead letters."},
    {"target.evolve", MR_OPT_WORD, AT(evolve), .words = evolve_words, .default_z = "full",
     .help_z = "What Millrace may do to tables: `full` creates and alters them, `add` only creates "
               "tables and adds columns, `none` changes nothing and shows the statement that would be "
               "needed."},
    {"target.appliers", MR_OPT_UINT, AT(appliers), .default_z = "1", .min = 1, .max = 16,
     .help_z = "How many connections apply rows side by side. SQLite has one."},
    {"target.lock_timeout", MR_OPT_DURATION, AT(lock_timeout_ms), .default_z = "10s", .min = 1,
     .max = 24 * HOUR,
     .help_z = "How long an ALTER TABLE may wait for its lock before it is tried again later."},
    {"target.connect_timeout", MR_OPT_DURATION, AT(connect_timeout_ms), .default_z = "60s", .min = SECOND,
     .max = 24 * HOUR,
     .help_z = "How long to try to get the first connection. A connection that is lost later is waited "
               "for without end."},
    {"target.bulk_rows", MR_OPT_UINT, AT(bulk_rows), .default_z = "50", .min = 1, .max = 1000000000,
     .help_z = "From this many rows of a table in a batch on they are loaded in bulk. Both ways give the "
               "same table."},

    {"types.policy", MR_OPT_WORD, AT(policy), .words = mr_policy_words, .default_z = "widen",
     .help_z = "What happens to a value that does not fit the type of its column. `widen`: a larger type "
               "without loss is taken, anything else is a dead letter. `strict`: the first type stays. "
               "`text`, `json`: a conflict makes the column text or JSON. `variant`: a conflict goes to "
               "a second column `name__type`. `null`: the value is left out and noted. `fail`: stop with "
               "exit code 6."},
    {"types.columns", MR_OPT_COLUMN_TYPES,
     .help_z = "Types of columns set by hand, by `database.table.path` or `table.path`; `*` and `?` are "
               "wildcards."},
    {"types.policies", MR_OPT_COLUMN_POLICIES,
     .help_z = "Policies of single columns, named in the same way."},
    {"tables", MR_OPT_TABLES,
     .help_z = "Settings of single tables, by the names they have at the source: `database.table`, or "
               "`table` alone; `*` and `?` are wildcards. An exact name wins over a pattern, a longer "
               "one over a shorter, each setting by itself."},

    {"batch.rows", MR_OPT_UINT, AT(batch_rows), .default_z = "5000", .min = 1, .max = 10000000,
     .help_z = "A batch (one transaction) is applied when it has this many rows,"},
    {"batch.bytes", MR_OPT_SIZE, AT(batch_bytes), .default_z = "16MiB", .min = KIB, .max = 4 * GIB,
     .help_z = "or this many bytes,"},
    {"batch.interval", MR_OPT_DURATION, AT(batch_interval_ms), .default_z = "100ms", .min = 1, .max = HOUR,
     .help_z = "or when its first row has waited this long."},

    {"dead_letters.max_rate", MR_OPT_RATE, AT(dead_letter_max_rate), .default_z = "0.05",
     .help_z = "Stop with exit code 6 when more than this share of the records (counted over at least "
               "1,000) goes to the dead letters. 0 never stops; `backfill` never does."},
    {"shutdown.timeout", MR_OPT_DURATION, AT(shutdown_timeout_ms), .default_z = "30s", .min = 100,
     .max = HOUR, .help_z = "How long a stop may take to finish the open batch before it is rolled back."},

    {"log.format", MR_OPT_WORD, AT(log_format), .words = log_format_words, .default_z = "logfmt",
     .flag_z = "--log-format", .help_z = "Form of the log lines on the standard error output."},
    {"log.level", MR_OPT_WORD, AT(log_level), .words = log_level_words, .default_z = "info",
     .flag_z = "--log-level", .help_z = "Log lines below this level are left out."},
    {"log.values", MR_OPT_BOOL, AT(log_values), .default_z = "false",
     .help_z = "Allow values of rows in log lines. They stay out otherwise."},
};
const size_t mr_option_count = sizeof mr_options / sizeof mr_options[0];

const struct mr_option_section mr_option_sections[] = {
    {"", "General", ""},
    {"source", "Source", "Exactly one source is read: Kafka or files."},
    {"unwrap", "Unwrapping events",
     "Named as in Debezium's own transforms; those that add columns work for every format."},
    {"text", "Text and limits", ""},
    {"limits", NULL, NULL},
    {"target", "Target", ""},
    {"types", "Types", ""},
    {"tables", "Tables", ""},
    {"batch", "Batches", ""},
    {"dead_letters", "Errors and stopping", ""},
    {"shutdown", NULL, NULL},
    {"log", "Log", ""},
};
const size_t mr_option_section_count = sizeof mr_option_sections / sizeof mr_option_sections[0];

const struct mr_member mr_table_members[] = {
    {"primary_key", "record_key | record_key_text | none | [path, …]",
     "What identifies a row. `record_key`: the members of the record's key (the default). "
     "`record_key_text`: one column `_key` with the record's key as JSON. A list: fields of "
     "the row. `none`: no key, every event is appended."},
    {"delete", "hard | soft | ignore",
     "What a delete does. `hard` (the default) removes the row, `soft` sets its column "
     "`__deleted`, `ignore` does nothing."},
    {"policy", "widen | strict | text | json | variant | null | fail", "As `types.policy`, for this table."},
    {"missing", "null | keep",
     "For the formats `flat` and `json`: what a complete row that lacks a known column means. "
     "`null` (the default) empties the column, `keep` leaves it."},
};
const size_t mr_table_member_count = sizeof mr_table_members / sizeof mr_table_members[0];

const struct mr_option *mr_option_find(struct mr_str key)
{
    for (size_t i = 0; i < mr_option_count; i++) {
        if (mr_str_eq_z(key, mr_options[i].key_z))
            return &mr_options[i];
    }
    return NULL;
}

bool mr_option_is_map(const struct mr_option *opt)
{
    return opt->type >= MR_OPT_PAIRS;
}

/* Does `key` begin with `prefix` and a dot? */
static bool is_below(struct mr_str key, struct mr_str prefix)
{
    return key.len > prefix.len && mr_str_starts(key, prefix) && key.ptr[prefix.len] == '.';
}

const struct mr_option *mr_option_above(struct mr_str key, struct mr_str *rest)
{
    for (size_t i = 0; i < mr_option_count; i++) {
        struct mr_str own = mr_str_z(mr_options[i].key_z);
        if (mr_option_is_map(&mr_options[i]) && is_below(key, own)) {
            *rest = mr_str_of(key.ptr + own.len + 1, key.len - own.len - 1);
            return &mr_options[i];
        }
    }
    return NULL;
}

bool mr_option_is_group(struct mr_str key)
{
    for (size_t i = 0; i < mr_option_count; i++) {
        if (key.len == 0 || is_below(mr_str_z(mr_options[i].key_z), key))
            return true;
    }
    return false;
}

/* Text after the last dot of a key. */
static struct mr_str last_part(struct mr_str key)
{
    ptrdiff_t dot = mr_str_rfind(key, '.');
    return dot < 0 ? key : mr_str_of(key.ptr + dot + 1, key.len - (size_t)dot - 1);
}

const char *mr_option_nearest(struct mr_str key, struct mr_buf *scratch)
{
    struct mr_str best = {0};
    size_t best_distance = SIZE_MAX;

    /* Groups are candidates too: "targt:" means "target:". */
    for (size_t i = 0; i < mr_option_count; i++) {
        struct mr_str full = mr_str_z(mr_options[i].key_z);
        for (size_t end = 1; end <= full.len; end++) {
            if (end < full.len && full.ptr[end] != '.')
                continue;
            struct mr_str candidate = mr_str_of(full.ptr, end);
            size_t distance = mr_str_distance(key, candidate);
            if (distance < best_distance) {
                best_distance = distance;
                best = candidate;
            }
        }
    }
    if (best_distance > 2 && best_distance > key.len / 4) {
        /* The right word at the wrong place: "brokers" for "source.kafka.brokers". */
        best = (struct mr_str){0};
        for (size_t i = 0; i < mr_option_count && best.len == 0; i++) {
            struct mr_str full = mr_str_z(mr_options[i].key_z);
            if (mr_str_distance(last_part(full), last_part(key)) <= (last_part(key).len > 5 ? 1 : 0))
                best = full;
        }
    }
    if (best.len == 0)
        return NULL;
    mr_buf_clear(scratch);
    mr_buf_append_str(scratch, best);
    return mr_buf_z(scratch);
}
