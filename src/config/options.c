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
static const struct mr_word ddl_words[] = {
    {"ignore", MR_DDL_IGNORE}, {"report", MR_DDL_REPORT}, {"apply", MR_DDL_APPLY}, {NULL, 0}};
static const struct mr_word transaction_words[] = {
    {"batch", MR_TRANSACTIONS_BATCH}, {"source", MR_TRANSACTIONS_SOURCE}, {NULL, 0}};
static const struct mr_word json_additional_words[] = {{"drop", MR_ADDITIONAL_DROP}, {"column", MR_ADDITIONAL_COLUMN}, {NULL, 0}};
static const struct mr_word id_size_words[] = {{"4", MR_ID_4}, {"8", MR_ID_8}, {NULL, 0}};
static const struct mr_word protobuf_schema_words[] = {
    {"text", MR_PROTOBUF_TEXT}, {"descriptor", MR_PROTOBUF_DESCRIPTOR}, {NULL, 0}};
static const struct mr_word mode_words[] = {
    {"auto", MR_MODE_AUTO}, {"upsert", MR_MODE_UPSERT}, {"append", MR_MODE_APPEND}, {NULL, 0}};
static const struct mr_word text_invalid_words[] = {
    {"dead_letter", MR_TEXT_DEAD_LETTER}, {"strip", MR_TEXT_STRIP}, {"replace", MR_TEXT_REPLACE}, {NULL, 0}};
static const struct mr_word array_words[] = {
    {"json", MR_ARRAY_JSON}, {"array", MR_ARRAY_ARRAY}, {"document", MR_ARRAY_DOCUMENT}, {"table", MR_ARRAY_TABLE}, {NULL, 0}};
static const struct mr_word decimal_words[] = {
    {"precise", MR_DECIMAL_PRECISE}, {"string", MR_DECIMAL_STRING}, {"double", MR_DECIMAL_DOUBLE}, {NULL, 0}};
static const struct mr_word time_words[] = {{"adaptive_time_microseconds", MR_TIME_ADAPTIVE_US},
                                            {"adaptive", MR_TIME_ADAPTIVE},
                                            {"microseconds", MR_TIME_MICROSECONDS},
                                            {"nanoseconds", MR_TIME_NANOSECONDS},
                                            {"connect", MR_TIME_CONNECT},
                                            {"isostring", MR_TIME_BY_FORM},
                                            {"structured", MR_TIME_BY_FORM},
                                            {NULL, 0}};
static const struct mr_word binary_words[] = {{"bytes", MR_BINARY_BASE64},
                                              {"base64", MR_BINARY_BASE64},
                                              {"base64-url-safe", MR_BINARY_BASE64_URL},
                                              {"hex", MR_BINARY_HEX},
                                              {NULL, 0}};
static const struct mr_word delete_handling_words[] = {{"drop", MR_DELETES_DROP},
                                                       {"tombstone", MR_DELETES_TOMBSTONE},
                                                       {"rewrite", MR_DELETES_REWRITE},
                                                       {"rewrite-with-tombstone", MR_DELETES_REWRITE_WITH_TOMBSTONE},
                                                       {"delete-to-tombstone", MR_DELETES_TOMBSTONE},
                                                       {NULL, 0}};
static const struct mr_word old_delete_words[] = {
    {"drop", MR_DELETES_DROP}, {"none", MR_DELETES_TOMBSTONE}, {"rewrite", MR_DELETES_REWRITE}, {NULL, 0}};
static const struct mr_word name_words[] = {
    {"none", MR_NAMES_NONE}, {"avro", MR_NAMES_AVRO}, {"avro_unicode", MR_NAMES_AVRO_UNICODE}, {NULL, 0}};
static const struct mr_word zero_date_words[] = {
    {"null", MR_ZERO_DATE_NULL}, {"error", MR_ZERO_DATE_ERROR}, {NULL, 0}};
static const struct mr_word name_case_words[] = {
    {"preserve", MR_CASE_PRESERVE}, {"lower", MR_CASE_LOWER}, {"upper", MR_CASE_UPPER}, {NULL, 0}};
static const struct mr_word canal_image_words[] = {
    {"standard", MR_CANAL_STANDARD}, {"dts_legacy", MR_CANAL_DTS_LEGACY}, {NULL, 0}};
static const struct mr_word canal_enum_words[] = {
    {"index", MR_CANAL_INDEX}, {"label", MR_CANAL_LABEL}, {NULL, 0}};
static const struct mr_word dts_fraction_words[] = {{"auto", MR_DTS_FRACTION_AUTO},
                                                    {"micro", MR_DTS_FRACTION_MICRO},
                                                    {"nano", MR_DTS_FRACTION_NANO},
                                                    {"milli", MR_DTS_FRACTION_MILLI},
                                                    {NULL, 0}};
static const struct mr_word canal_sqltype_words[] = {
    {"jdbc", MR_CANAL_JDBC}, {"dts", MR_CANAL_DTS}, {NULL, 0}};
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

    {"ddl", MR_OPT_WORD, AT(ddl), .words = ddl_words, .default_z = "report",
     .help_z = "What becomes of DDL of the source that arrives as an event (Debezium's schema changes, Canal, DTS, Maxwell). `ignore`: "
               "counted. `report`: written to the log and to the control table `ddl_history`. `apply`: columns and tables are added, "
               "widened, renamed and dropped in the target as at the source, as far as `target.evolve` allows; the statement itself is "
               "never run. Truncates are applied in every mode."},
    {"transactions", MR_OPT_WORD, AT(transactions), .words = transaction_words, .default_z = "batch",
     .help_z = "Where a transaction of the target may end. `batch`: between any two events. `source`: only between transactions of the "
               "source, where the producer marks them; the rows of one, of whatever tables, become visible together. Needs one applier."},
    {"format", MR_OPT_TEXT, AT(format), .default_z = "auto", .flag_z = "--format",
     .help_z =
         "Format of the events. `auto` finds it out for each topic; `json` (plain rows) is never guessed. `avro`, `protobuf`, `json_sr`, "
         "`kafka` and `delimited` say how keys and values are encoded; Debezium's events inside them are recognised. "
         "`{key: NAME, value: NAME}` says it for each."},

    {"format.key", MR_OPT_TEXT, AT(key_format), .default_z = "",
     .help_z = "Format of the keys, where it is another than that of the values: `kafka`, `delimited`, `json`, `json_sr`, `avro`, "
               "`protobuf`, or `none` (keys are not looked at). Without it keys are read as Kafka Connect writes them."},
    {"format.value", MR_OPT_TEXT, AT(value_format), .default_z = "",
     .help_z = "Format of the values, where it is another than that of the keys: a name that `format` takes."},
    {"topics", MR_OPT_PAIRS, AT(topics),
     .help_z = "Formats of single topics: `NAME: {key: kafka, value: avro, key_columns: \"id BIGINT\"}`. `*` and `?` are wildcards in "
               "names; the longest name that fits wins, each setting by itself. Settings: `key`, `value`, `key_columns`, "
               "`value_columns`, `key_column_name`, `key_delimiter`, `value_delimiter`, `key_wrap_single`, `wrap_single_value`, `key_json_envelope`, `key_window`, `null_key`, "
               "`key_value_conflict`, and, each with `key_` or `value_` in front, `use_schema_id`, `use_schema_guid`, `use_message_indexes`, "
               "`schema_file`, `deserializer_encoding`."},

    {"default.key.format", MR_OPT_TEXT, AT(default_key_format), .default_z = "kafka",
     .help_z = "Format of keys whose columns are declared (`key.columns`) and whose format is named nowhere else."},
    {"key.columns", MR_OPT_COMMAS, AT(key_columns), .default_z = "",
     .help_z = "Columns of the key, in their order, with their SQL types: `id BIGINT, region STRING`. Types: `BOOLEAN`, `SMALLINT`, `INT`, "
               "`BIGINT`, `REAL`, `DOUBLE`, `STRING`, `BYTES`, `DECIMAL(p,s)`, `DATE`, `TIME`, `TIMESTAMP`, `UUID`, and for `json`, "
               "`json_sr`, `avro`, `protobuf` also `ARRAY<…>` and `STRUCT<…>`."},
    {"key.column.name", MR_OPT_TEXT, AT(key_column_name), .default_z = "", .default_note_z = "`ROWKEY`",
     .help_z = "Name of the column that a key without names becomes."},
    {"key.delimiter", MR_OPT_TEXT, AT(key_delimiter), .default_z = "", .default_note_z = "`,`",
     .help_z = "What separates the fields of a `delimited` key: one character, or `TAB`, or `SPACE`."},
    {"key.wrap.single", MR_OPT_TEXT, AT(key_wrap_single), .default_z = "auto",
     .help_z = "Is a `json` key of one column an object? `auto`: it is if it has a member of the column's name. `true`, `false`: always, "
               "never."},
    {"key.deserializer.encoding", MR_OPT_TEXT, AT(key_text_encoding), .default_z = "UTF-8",
     .help_z = "In which encoding Kafka's serializer wrote the texts that are keys (`kafka`): `UTF-8`, `US-ASCII` or `ISO-8859-1`."},
    {"key.json.envelope", MR_OPT_TEXT, AT(key_json_envelope), .default_z = "auto",
     .help_z = "Are `json` keys written by Connect's converter with schemas, as `{\"schema\": …, \"payload\": …}`? `auto`: those are that have these "
               "two members and no other. `true`, `false`: all, none."},
    {"key.window", MR_OPT_TEXT, AT(key_window), .default_z = "none",
     .help_z = "Keys of windowed tables of ksqlDB have the window behind them: `time` (its start) or `session` (its end and start). They "
               "become the key columns `WINDOWSTART` and `WINDOWEND`."},
    {"key.value.conflict", MR_OPT_TEXT, AT(key_value_conflict), .default_z = "error",
     .help_z = "A column that stands in key and value with different content: `error` makes the record a dead letter, `key` and `value` "
               "take one side. It holds where a key format is named."},
    {"mode", MR_OPT_WORD, AT(mode), .words = mode_words, .default_z = "auto",
     .help_z = "What becomes of rows. `auto`: they are upserted where there is a key, else appended. "
               "`upsert`: a row without key is a dead "
               "letter, and a key format without key (`none`) needs `tables.NAME.primary_key`. `append`: "
               "every table is without key, "
               "unless `tables.NAME.primary_key` says otherwise."},
    {"null.key", MR_OPT_TEXT, AT(null_key), .default_z = "error",
     .help_z = "A record without key in a table that has one: `error` (a dead letter) or `skip`. It holds where a key format is named."},
    {"value.columns", MR_OPT_COMMAS, AT(value_columns), .default_z = "",
     .help_z = "Columns of the values, with types as in `key.columns`: for `kafka` (one) and `delimited` (all, in their order), and, where only "
               "some are wanted or their types are to be declared, for `json`, `json_sr`, `avro` and `protobuf`."},
    {"wrap.single.value", MR_OPT_TEXT, AT(wrap_single_value), .default_z = "",
     .help_z = "Is a `json` or `json_sr` value of one column an object? `true`, `false`: always, never. Without it, it is one if it has a member of "
               "the declared column's name. With `false` and no declared column the value is the column `ROWVAL`."},
    {"value.deserializer.encoding", MR_OPT_TEXT, AT(value_text_encoding), .default_z = "UTF-8",
     .help_z = "The same of texts that are values (`kafka`)."},
    {"value.delimiter", MR_OPT_TEXT, AT(value_delimiter), .default_z = "", .default_note_z = "`,`",
     .help_z = "What separates the fields of a `delimited` value."},

    {"registry.url", MR_OPT_COMMAS, AT(registry.url), .default_z = "", .secret = true,
     .help_z = "Where the schema registry is, for `avro`, `protobuf` and `json_sr`: `http://host:8081`, several with commas between them. "
               "With it, `auto` recognises such keys and values too."},
    {"registry.basic.auth.credentials.source", MR_OPT_TEXT, AT(registry.basic_source), .default_z = "",
     .default_note_z = "`USER_INFO` where that is set, else `URL`",
     .help_z = "Where user and password for the registry come from: `URL` (they stand in it), `USER_INFO` "
               "(`registry.basic.auth.user.info`) or `SASL_INHERIT` (`sasl.username` and `sasl.password` of the Kafka properties)."},
    {"registry.basic.auth.user.info", MR_OPT_TEXT, AT(registry.basic_user_info), .default_z = "", .secret = true,
     .help_z = "`user:password` for the registry."},
    {"registry.bearer.auth.credentials.source", MR_OPT_TEXT, AT(registry.bearer_source), .default_z = "",
     .help_z = "`STATIC_TOKEN`: the registry is asked with `registry.bearer.auth.token`. `OAUTHBEARER`: with a token that is got from an "
               "issuer with OAuth's client credentials. `SASL_OAUTHBEARER_INHERIT`: so, too, with the credentials of the Kafka properties "
               "(`sasl.oauthbearer.…`)."},
    {"registry.bearer.auth.issuer.endpoint.url", MR_OPT_TEXT, AT(registry.oauth_url), .default_z = "",
     .help_z = "Where tokens are got (`OAUTHBEARER`)."},
    {"registry.bearer.auth.client.id", MR_OPT_TEXT, AT(registry.oauth_client_id), .default_z = "",
     .help_z = "Our name at the issuer of tokens."},
    {"registry.bearer.auth.client.secret", MR_OPT_TEXT, AT(registry.oauth_client_secret), .default_z = "", .secret = true,
     .help_z = "Our secret at the issuer of tokens."},
    {"registry.bearer.auth.scope", MR_OPT_TEXT, AT(registry.oauth_scope), .default_z = "",
     .help_z = "The scope that the token is asked for with."},
    {"registry.bearer.auth.cache.expiry.buffer.seconds", MR_OPT_UINT, AT(registry.oauth_buffer_s), .default_z = "300", .min = 0,
     .max = 86400, .help_z = "How long before it expires a token is replaced."},
    {"registry.bearer.auth.logical.cluster", MR_OPT_TEXT, AT(registry.logical_cluster), .default_z = "",
     .help_z = "Confluent Cloud's logical cluster, sent as the header `target-sr-cluster`."},
    {"registry.bearer.auth.identity.pool.id", MR_OPT_TEXT, AT(registry.identity_pool), .default_z = "",
     .help_z = "Confluent Cloud's identity pool, sent as the header `Confluent-Identity-Pool-Id`."},
    {"registry.bearer.auth.token", MR_OPT_TEXT, AT(registry.bearer_token), .default_z = "", .secret = true,
     .help_z = "The token for the registry."},
    {"registry.ssl.ca.location", MR_OPT_TEXT, AT(registry.ca_location), .default_z = "", .default_note_z = "the system's",
     .help_z = "File of the certificates (PEM) that the registry's certificate is checked against."},
    {"registry.ssl.certificate.location", MR_OPT_TEXT, AT(registry.certificate_location), .default_z = "",
     .help_z = "File of our own certificate (PEM), where the registry wants one."},
    {"registry.ssl.key.location", MR_OPT_TEXT, AT(registry.key_location), .default_z = "",
     .help_z = "File of its private key (PEM)."},
    {"registry.ssl.key.password", MR_OPT_TEXT, AT(registry.key_password), .default_z = "", .secret = true,
     .help_z = "Password of the private key."},
    {"registry.ssl.ca.pem", MR_OPT_TEXT, AT(registry.ca_pem), .default_z = "",
     .help_z = "As `registry.ssl.ca.location`, but the certificates themselves (PEM)."},
    {"registry.ssl.certificate.pem", MR_OPT_TEXT, AT(registry.certificate_pem), .default_z = "",
     .help_z = "As `registry.ssl.certificate.location`, but the certificate itself (PEM)."},
    {"registry.ssl.key.pem", MR_OPT_TEXT, AT(registry.key_pem), .default_z = "", .secret = true,
     .help_z = "As `registry.ssl.key.location`, but the key itself (PEM)."},
    {"registry.ssl.keystore.location", MR_OPT_TEXT, AT(registry.keystore_location), .default_z = "",
     .help_z = "File with our certificate and its key, where the registry asks for them (PKCS#12)."},
    {"registry.ssl.keystore.password", MR_OPT_TEXT, AT(registry.keystore_password), .default_z = "", .secret = true,
     .help_z = "Password of that file."},
    {"registry.enable.ssl.certificate.verification", MR_OPT_BOOL, AT(registry.verify), .default_z = "true",
     .help_z = "Check the registry's certificate."},
    {"registry.ssl.endpoint.identification.algorithm", MR_OPT_TEXT, AT(registry.endpoint_algorithm), .default_z = "https",
     .help_z = "`https`: the certificate must be for the host of the URL. `none`: it may be for another."},
    {"registry.http.connect.timeout.ms", MR_OPT_UINT, AT(registry.connect_timeout_ms), .default_z = "10000", .min = 1,
     .max = 600000, .help_z = "How long to wait for a connection to the registry, in milliseconds."},
    {"registry.http.read.timeout.ms", MR_OPT_UINT, AT(registry.read_timeout_ms), .default_z = "20000", .min = 1, .max = 600000,
     .help_z = "How long to wait for an answer of the registry, in milliseconds."},
    {"registry.retries.wait.ms", MR_OPT_UINT, AT(registry.retries_wait_ms), .default_z = "1000", .min = 1, .max = 600000,
     .help_z = "The wait before the first repetition, in milliseconds. It doubles each time."},
    {"registry.retries.max.wait.ms", MR_OPT_UINT, AT(registry.retries_max_wait_ms), .default_z = "20000", .min = 1, .max = 600000,
     .help_z = "The longest wait between two repetitions, in milliseconds."},
    {"registry.missing.id.wait.ms", MR_OPT_UINT, AT(registry.missing_wait_ms), .default_z = "5000", .min = 0, .max = 600000,
     .help_z = "A registry that has just started may not know its own schemas yet, so an id that it does not know is asked for again "
               "for so long (in milliseconds) before the record becomes a dead letter. Once that has been in vain, other unknown ids are "
               "believed at once for a minute."},
    {"registry.cache.capacity", MR_OPT_UINT, AT(registry.cache_capacity), .default_z = "1000", .min = 16, .max = 1000000,
     .help_z = "How many schemas are kept. The one not used for the longest goes."},
    {"registry.cache.dir", MR_OPT_TEXT, AT(registry.cache_dir), .default_z = "",
     .help_z = "A folder in which schemas are kept, so that a start while the registry is down can go on with those it has seen. The registry is asked "
               "first."},
    {"registry.url.randomize", MR_OPT_BOOL, AT(registry.url_randomize), .default_z = "false",
     .help_z = "Begin with any of several URLs of `registry.url`, not with the first."},
    {"registry.proxy", MR_OPT_TEXT, AT(registry.proxy), .default_z = "", .secret = true,
     .help_z = "A proxy between here and the registry: `http://host:port`."},
    {"registry.context", MR_OPT_TEXT, AT(registry.context), .default_z = "",
     .help_z = "The registry's context in which ids are looked up, with its point: `.name`."},
    {"registry.request.header", MR_OPT_PAIRS, AT(registry.headers),
     .help_z = "Headers that each request to the registry gets besides: `X-Tenant: a`."},
    {"registry.ignore.rules", MR_OPT_BOOL, AT(registry.ignore_rules), .default_z = "false",
     .help_z = "Read data whose schema has rules for encryption all the same: encrypted fields are then loaded as they are."},
    {"key.use.schema.id", MR_OPT_TEXT, AT(key_bare.schema_id), .default_z = "",
     .help_z = "The keys carry no framing: they are written with the registry's schema of this id."},
    {"key.use.schema.guid", MR_OPT_TEXT, AT(key_bare.schema_guid), .default_z = "",
     .help_z = "The keys carry no framing: they are written with the registry's schema of this GUID."},
    {"key.use.message.indexes", MR_OPT_COMMAS, AT(key_bare.message_indexes), .default_z = "",
     .help_z = "Which message of the Protobuf schema the keys without framing are: `1,0` is the first "
               "message in the second one. Without it, the "
               "first."},
    {"key.schema.file", MR_OPT_COMMAS, AT(key_bare.schema_file), .default_z = "",
     .help_z = "The keys carry no framing: their schema is in this file (of Avro, JSON Schema, or `.proto` "
               "text), as `format` says; no registry is "
               "needed. Of several files the last one is the schema, the others are what it refers to."},
    {"value.use.schema.id", MR_OPT_TEXT, AT(value_bare.schema_id), .default_z = "",
     .help_z = "The values carry no framing: they are written with the registry's schema of this id."},
    {"value.use.schema.guid", MR_OPT_TEXT, AT(value_bare.schema_guid), .default_z = "",
     .help_z = "The values carry no framing: they are written with the registry's schema of this GUID."},
    {"value.use.message.indexes", MR_OPT_COMMAS, AT(value_bare.message_indexes), .default_z = "",
     .help_z = "Which message of the Protobuf schema the values without framing are: `1,0` is the first "
               "message in the second one. Without it, the "
               "first."},
    {"value.schema.file", MR_OPT_COMMAS, AT(value_bare.schema_file), .default_z = "",
     .help_z = "The values carry no framing: their schema is in this file (of Avro, JSON Schema, or `.proto` "
               "text), as `format` says; no registry is "
               "needed. Of several files the last one is the schema, the others are what it refers to."},
    {"protobuf.use.deprecated.format", MR_OPT_BOOL, AT(protobuf_plain_indexes), .default_z = "false",
     .help_z = "Message indexes in front of Protobuf messages are plain numbers, as older clients of "
               "Confluent wrote them on request."},
    {"registry.schema.id.size", MR_OPT_WORD, AT(registry.id_size), .words = id_size_words, .default_z = "4",
     .help_z =
         "Bytes of the id in front of a message: 4, or 8 as Apicurio's serializers of version 2 write them."},
    {"registry.apicurio.headers", MR_OPT_BOOL, AT(registry.apicurio_headers), .default_z = "false",
     .help_z = "The headers `apicurio.key.contentId`, `apicurio.value.contentId` (or `globalId`) name the "
               "schema; it is asked for by Apicurio's own "
               "interface (`/apis/registry/v3` of the host of `registry.url`)."},
    {"registry.protobuf.schema", MR_OPT_WORD, AT(registry.protobuf_schema), .words = protobuf_schema_words,
     .default_z = "text",
     .help_z =
         "In which form a Protobuf schema is read first: `text` (.proto), or `descriptor` (the registry's "
         "serialized form, one request "
         "more for each schema). Where that one is missing, incomplete or cannot be read, the other is."},
    {"json.schema.formats", MR_OPT_BOOL, AT(json_schema_formats), .default_z = "false",
     .help_z = "Texts whose JSON schema has the format `date-time`, `date`, `time` or `uuid` become columns of these types (`json_sr`)."},
    {"json.additional", MR_OPT_WORD, AT(json_additional), .words = json_additional_words, .default_z = "drop",
     .help_z = "Members of a `json_sr` value that its schema does not name: left out, which the log tells once for each topic, or kept as one JSON column "
               "`additional`."},
    {"avro.fail.on.trailing.data", MR_OPT_BOOL, AT(avro_fail_on_trailing), .default_z = "true",
     .help_z = "Bytes behind the Avro data make the record a dead letter. `false` ignores them, as Java's deserializer does."},
    {"registry.max.retries", MR_OPT_UINT, AT(registry.max_retries), .default_z = "3", .min = 0, .max = 100,
     .help_z = "How often a request is repeated before the next URL is tried. When no URL answers, the topics wait: no record is skipped."},

    {"source_time_zone", MR_OPT_TEXT, AT(source_time_zone), .default_z = "UTC",
     .help_z = "Time zone of texts that stand for an instant and name no zone (TIMESTAMP columns in Canal, TiCDC and "
               "Maxwell): a name as `Asia/Shanghai`, or an offset as `+08:00`. Of an hour that comes twice the first "
               "is meant."},
    {"zero_date", MR_OPT_WORD, AT(zero_date), .words = zero_date_words, .default_z = "null",
     .help_z = "What becomes of MySQL's dates that are no dates (`0000-00-00`, a month or day of zero): null, or an "
               "error of the value."},
    {"name_case", MR_OPT_WORD, AT(name_case), .words = name_case_words, .default_z = "preserve",
     .help_z = "Spelling of the source's database, table and column names in Canal, Maxwell, DTS and SharePlex: as they "
               "come, or all lower or upper case. Other settings then name tables and columns in that spelling."},
    {"tinyint1_as_bool", MR_OPT_BOOL, AT(tinyint1_as_bool), .default_z = "false",
     .help_z = "Make MySQL's `TINYINT(1)` (`BOOLEAN`) a boolean where the format tells of it (Canal). It may hold other "
               "numbers than 0 and 1, which are then errors of the value."},
    {"canal.image", MR_OPT_WORD, AT(canal_image), .words = canal_image_words, .default_z = "standard",
     .help_z = "`dts_legacy` for Alibaba DTS instances made before 2022-03-20, whose updates have the new row in `old` "
               "and the old one in `data`. No message tells."},
    {"canal.enum", MR_OPT_WORD, AT(canal_enum), .words = canal_enum_words, .default_z = "index",
     .help_z = "What a number in an ENUM or SET column is where the labels are numbers too: the `index` (Canal, TiCDC), or "
               "the `label`."},
    {"canal.sqltype", MR_OPT_WORD, AT(canal_sqltype), .words = canal_sqltype_words, .default_z = "jdbc",
     .help_z = "Which codes `sqlType` holds where a message has no `mysqlType`: those of JDBC, or MySQL's own numbers as "
               "DTS documents them."},
    {"maxwell.missing_is_null", MR_OPT_BOOL, AT(maxwell_missing_is_null), .default_z = "false",
     .help_z = "Maxwell runs with `output_nulls=false` and logs full rows: a column that an update does not list is null. "
               "Otherwise it is unknown and keeps what it has."},
    {"dts.fraction", MR_OPT_WORD, AT(dts_fraction), .words = dts_fraction_words, .default_z = "auto",
     .help_z = "Unit of the fractions of seconds in DTS's records: `micro`, `nano` or `milli`. `auto`: nanoseconds from Oracle, else "
               "microseconds, but nanoseconds where the number is too large for them."},
    {"dts.logical_names", MR_OPT_BOOL, AT(dts_logical_names), .default_z = "true",
     .help_z = "Rows of a physical shard go to the table that DTS names as its logical one. `false`: each shard is a table."},
    {"event_table", MR_OPT_TEXT, AT(event_table), .default_z = "prostore_status_event",
     .help_z = "The table of the events that are read from a status topic of Prostore."},

    {"unwrap.flatten.struct", MR_OPT_BOOL, AT(flatten_struct), .default_z = "true",
     .help_z = "Make columns `a_b` of nested documents. Otherwise a document is one JSON column."},
    {"unwrap.flatten.struct.delimiter", MR_OPT_TEXT, AT(flatten_delimiter), .default_z = "_",
     .help_z = "What stands between the names of a flattened column."},
    {"unwrap.array.encoding", MR_OPT_WORD, AT(array_encoding), .words = array_words, .default_z = "json",
     .help_z = "How arrays are stored. json: one JSON column. array: an array of one scalar type is an array column in "
               "PostgreSQL and a JSON column elsewhere; one whose elements have no type in common is a conflict for the field's "
               "policy (mixed_array). document: as a document with the members _0, _1, and so on. "
                "table: as rows of a table `parent__field`, with the parent's key and the element's position; needs unwrap.flatten.struct."},
    {"unwrap.delete.tombstone.handling.mode", MR_OPT_WORD, AT(delete_handling), SAID(delete_handling_said),
     .words = delete_handling_words, .default_z = "tombstone",
     .help_z = "What a delete does, for all tables. `tombstone`: it removes the row, as `delete: hard`. `drop`: "
               "nothing, as `delete: ignore`. `rewrite`: it sets `__deleted`, as `delete: soft`. "
               "`rewrite-with-tombstone`: so does the delete, and the tombstone behind it removes the row. A table "
               "that says otherwise in `tables` is refused."},
    {"unwrap.delete.tombstone.handling.mode.rewrite-with-id", MR_OPT_BOOL, AT(rewrite_with_id), .default_z = "false",
     .help_z = "In the two modes that rewrite, rows of MongoDB that lack their `_id` get it from the message's key. It "
               "makes a difference where `_id` is not the table's key (`primary_key: record_key_text`, `none`)."},
    {"unwrap.drop.tombstones", MR_OPT_BOOL, AT(drop_tombstones), SAID(drop_tombstones_said), .default_z = "true",
     .help_z = "With `unwrap.delete.handling.mode`: the older way to say it. Where one of them is said, it and the other's "
               "default count, unless `unwrap.delete.tombstone.handling.mode` is said too. `false`: a tombstone "
               "removes the row."},
    {"unwrap.delete.handling.mode", MR_OPT_WORD, AT(old_delete_handling), SAID(old_delete_handling_said),
     .words = old_delete_words, .default_z = "drop",
     .help_z = "The older way to say what the delete itself does: `drop` nothing, `none` it removes the row, `rewrite` it "
               "sets `__deleted`."},
    {"unwrap.add.fields", MR_OPT_COMMAS, AT(add_fields), .default_z = "",
     .help_z = "Facts about the event to add as columns, for every format: `op`, `ts_ms`, any field of "
               "`source` (`source.ts_ms`), `topic`, `partition`, `offset`. `name:other` gives a column "
               "another name."},
    {"unwrap.add.fields.prefix", MR_OPT_TEXT, AT(add_fields_prefix), .default_z = "__",
     .help_z = "What the names of the added columns begin with: `source.ts_ms` becomes `__source_ts_ms`."},
    {"unwrap.add.headers", MR_OPT_COMMAS, AT(add_headers), .default_z = "",
     .help_z = "Facts about the event to add to the headers of the record where a record is kept: in the dead letters. "
               "Named like those of `unwrap.add.fields`."},
    {"unwrap.add.headers.prefix", MR_OPT_TEXT, AT(add_headers_prefix), .default_z = "__",
     .help_z = "What the names of the added headers begin with."},
    {"unwrap.field.name.adjustment.mode", MR_OPT_WORD, AT(field_names), .words = name_words, .default_z = "none",
     .help_z = "How the names of fields become names of columns. `none`: as they are. `avro`: what is not a letter, a digit "
               "or `_` becomes `_`. `avro_unicode`: that, and `_` itself, becomes `_u` and its code. Names inside the JSON "
               "columns of MongoDB's documents are adjusted too; names of `unwrap.add.fields` are not."},
    {"unwrap.unavailable.value.placeholder", MR_OPT_TEXT, AT(unavailable_placeholder),
     .default_z = "__debezium_unavailable_value",
     .help_z = "The text that Debezium puts in place of a value that it does not know. The column then "
               "keeps what it has."},

    {"debezium.schema_topic", MR_OPT_TEXT, AT(debezium_schema_topic), .default_z = "auto",
     .help_z = "The topic in which Debezium tells the columns of the tables of MySQL and MariaDB. It is read before rows "
               "that come without a schema, which are then decoded by it. `auto`: the topic named like the connector's "
               "`topic.prefix`, if there is one. `none`: nothing is looked for. Or a name, in which `{prefix}` stands for "
               "that prefix."},
    {"debezium.schema_wait", MR_OPT_DURATION, AT(debezium_schema_wait_ms), .default_z = "30s", .min = 0, .max = HOUR,
     .help_z = "How long a row waits for that topic to tell of a column that it has not told of yet. Then the row "
               "becomes a dead letter."},
    {"debezium.decimal.handling.mode", MR_OPT_WORD, AT(debezium_decimal), .words = decimal_words, .default_z = "precise",
     .help_z = "The connector's option of that name, for rows without a schema. It says what a decimal in a text is: the "
               "bytes of a number (`precise`) or its digits."},
    {"debezium.time.precision.mode", MR_OPT_WORD, AT(debezium_time), .words = time_words,
     .default_z = "adaptive_time_microseconds",
     .help_z = "The connector's option of that name, for rows without a schema: the unit of times and timestamps. ISO "
               "texts and structures are recognised in every mode."},
    {"debezium.binary.handling.mode", MR_OPT_WORD, AT(debezium_binary), .words = binary_words, .default_z = "bytes",
     .help_z = "The connector's option of that name, for rows without a schema: how bytes are written."},

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
    {"batch.transaction_bytes", MR_OPT_SIZE, AT(transaction_bytes), .default_z = "256MiB", .min = MIB, .max = 64 * GIB,
     .help_z = "Under `transactions: source`: how much may be held in memory for transactions that are not whole. Beyond it the oldest one is "
               "applied in parts, which is told and counted."},
    {"batch.transaction_wait", MR_OPT_DURATION, AT(transaction_wait_ms), .default_z = "60s", .min = 1, .max = 24 * HOUR,
     .help_z = "Under `transactions: source`: how long the rest of a transaction is waited for, since its last record came. Then it is applied "
               "in parts, which is told and counted."},

    {"status.kafka.topic", MR_OPT_TEXT, AT(status_topic), .default_z = "",
     .help_z = "Topic in which Millrace tells about its own work, in Prostore's status events: deltas, writes and changes of "
               "tables. Without it nothing is told."},
    {"status.kafka.brokers", MR_OPT_COMMAS, AT(status_brokers), .default_z = "",
     .default_note_z = "`source.kafka.brokers`",
     .help_z = "The Kafka cluster of that topic, `host:port`, several with commas between them."},
    {"status.kafka.properties", MR_OPT_PAIRS, AT(status_properties),
     .help_z = "Handed to librdkafka's producer. Those of `source.kafka.properties` that say how to reach the brokers (`security.…`, "
               "`sasl.…`, `ssl.…` and their like) hold too where `status.kafka.brokers` is not set."},
    {"status.kafka.partition", MR_OPT_UINT, AT(status_partition), .default_z = "0", .min = 0, .max = 1000000,
     .help_z = "The partition of the topic that all events go to: order holds within one."},
    {"status.datamart", MR_OPT_TEXT, AT(status_datamart), .default_z = "",
     .default_note_z = "the table's schema or database; in SQLite the file's name without its ending",
     .help_z = "What events name as the datamart. Deltas and write operations are numbered by datamart."},
    {"status.write_operations", MR_OPT_BOOL, AT(status_write_operations), .default_z = "true",
     .help_z = "Tell WRITE_OK and WRITE_CANCEL, too."},
    {"status.max_pending", MR_OPT_UINT, AT(status_max_pending), .default_z = "1000000", .min = 0, .max = 1000000000,
     .help_z = "How many events may wait in the target while the topic cannot be reached. With so many the load waits, too. "
               "0: no limit."},
    {"status.takeover", MR_OPT_DURATION, AT(status_takeover_ms), .default_z = "10s", .min = SECOND, .max = HOUR,
     .help_z = "How long an instance that sends the events may be silent (killed, say) before another one goes on for it."},

    {"dead_letters.max_rate", MR_OPT_RATE, AT(dead_letter_max_rate), .default_z = "0.05",
     .help_z = "Stop with exit code 6 when more than this share of the records (counted over at least "
               "1,000) goes to the dead letters. 0 never stops; `backfill` never does."},
    {"shutdown.timeout", MR_OPT_DURATION, AT(shutdown_timeout_ms), .default_z = "30s", .min = 100,
     .max = HOUR, .help_z = "How long a stop may take. Half of it is for finishing the batches under way, the rest for rolling back "
                                "what is not done by then and for leaving the consumer group."},

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
    {"format", "Formats", ""},
    {"topics", NULL, NULL},
    {"default", NULL, NULL},
    {"key", NULL, NULL},
    {"null", NULL, NULL},
    {"value", NULL, NULL},
    {"json", NULL, NULL},
    {"avro", NULL, NULL},
    {"registry", "Schema registry", "Named as in Confluent's clients."},
    {"canal", "Canal, Maxwell and DTS", ""},
    {"maxwell", NULL, NULL},
    {"dts", NULL, NULL},
    {"unwrap", "Unwrapping events",
     "Named as in Debezium's own transforms; those that add columns work for every format."},
    {"debezium", "Rows without a schema",
     "Debezium's rows, written by a converter whose schemas are off: what their values mean has to be known from elsewhere."},
    {"text", "Text and limits", ""},
    {"limits", NULL, NULL},
    {"target", "Target", ""},
    {"types", "Types", ""},
    {"tables", "Tables", ""},
    {"batch", "Batches", ""},
    {"status", "Status events", "What Millrace tells about its own work, in Prostore's form."},
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
