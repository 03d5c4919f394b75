/* The configuration, read and checked: one struct, filled from the option table (src/config/options.c), which also
 * makes the YAML reader, --set, --help, `millrace config` and docs/configuration.md. Read-only after loading; any
 * thread may read. */
#ifndef MILLRACE_CONFIG_CONFIG_H
#define MILLRACE_CONFIG_CONFIG_H

#include <millrace/base/error.h>
#include <millrace/base/log.h>
#include <millrace/base/str.h>
#include <millrace/model/field_name.h>
#include <millrace/model/type.h>

struct mr_strings {
    char **items; /* NUL-terminated, owned */
    size_t count;
};

struct mr_pair {
    char *key, *value; /* owned */
};
struct mr_pairs {
    struct mr_pair *items;
    size_t count;
};

enum mr_policy {
    MR_POLICY_UNSET = 0, /* not said at this level */
    MR_POLICY_WIDEN,
    MR_POLICY_STRICT,
    MR_POLICY_TEXT,
    MR_POLICY_JSON,
    MR_POLICY_VARIANT,
    MR_POLICY_NULL,
    MR_POLICY_FAIL,
};
const char *mr_policy_name(enum mr_policy policy);

enum mr_evolve { MR_EVOLVE_FULL, MR_EVOLVE_ADD, MR_EVOLVE_NONE };
enum mr_transactions { MR_TRANSACTIONS_BATCH, MR_TRANSACTIONS_SOURCE };
enum mr_ddl_mode { MR_DDL_REPORT, MR_DDL_IGNORE, MR_DDL_APPLY };
enum mr_delete_mode { MR_DELETE_UNSET = 0, MR_DELETE_HARD, MR_DELETE_SOFT, MR_DELETE_IGNORE };
enum mr_missing { MR_MISSING_UNSET = 0, MR_MISSING_NULL, MR_MISSING_KEEP };
enum mr_text_invalid { MR_TEXT_DEAD_LETTER, MR_TEXT_STRIP, MR_TEXT_REPLACE };
enum mr_key_mode {
    MR_KEY_UNSET = 0,
    MR_KEY_RECORD,      /* record_key (default): the members of the record key */
    MR_KEY_RECORD_TEXT, /* record_key_text: one column _key */
    MR_KEY_FIELDS,      /* a list of value fields (source paths) */
    MR_KEY_NONE,        /* none: append */
};
/* What becomes of rows in general: AUTO = upserts where there is a key, else they are appended. */
enum mr_mode { MR_MODE_AUTO, MR_MODE_UPSERT, MR_MODE_APPEND };
enum mr_zero_date { MR_ZERO_DATE_NULL, MR_ZERO_DATE_ERROR };
enum mr_name_case { MR_CASE_PRESERVE, MR_CASE_LOWER, MR_CASE_UPPER };
enum mr_canal_image { MR_CANAL_STANDARD, MR_CANAL_DTS_LEGACY };
enum mr_canal_enum { MR_CANAL_INDEX, MR_CANAL_LABEL };
enum mr_dts_fraction { MR_DTS_FRACTION_AUTO, MR_DTS_FRACTION_MICRO, MR_DTS_FRACTION_NANO, MR_DTS_FRACTION_MILLI };
enum mr_canal_sqltype { MR_CANAL_JDBC, MR_CANAL_DTS };
enum mr_array_encoding {
    MR_ARRAY_JSON,     /* one JSON column */
    MR_ARRAY_ARRAY,    /* of one scalar type: the target's own array; else JSON */
    MR_ARRAY_DOCUMENT, /* a document with the members _0, _1, … */
    MR_ARRAY_TABLE,    /* rows of a table of its own */
};
/* Debezium's options of the same names, as far as they show in values that come without a schema. */
enum mr_decimal_mode { MR_DECIMAL_PRECISE, MR_DECIMAL_STRING, MR_DECIMAL_DOUBLE };
enum mr_time_mode {
    MR_TIME_ADAPTIVE_US, /* adaptive_time_microseconds */
    MR_TIME_ADAPTIVE,
    MR_TIME_MICROSECONDS,
    MR_TIME_NANOSECONDS,
    MR_TIME_CONNECT,
    MR_TIME_BY_FORM, /* isostring, structured: the value itself tells */
};
enum mr_binary_mode { MR_BINARY_BASE64, MR_BINARY_BASE64_URL, MR_BINARY_HEX };
/* unwrap.delete.tombstone.handling.mode, and the older unwrap.delete.handling.mode. */
enum mr_delete_handling { MR_DELETES_DROP, MR_DELETES_TOMBSTONE, MR_DELETES_REWRITE, MR_DELETES_REWRITE_WITH_TOMBSTONE };
enum mr_start { MR_START_EARLIEST, MR_START_LATEST, MR_START_TIME };

/* Settings for tables whose source name ("db.table", or "table" alone) matches the pattern. `*` and `?` are wildcards;
 * an exact name wins over a pattern, a longer pattern over a shorter, each member by itself. */
struct mr_table_rule {
    char *pattern;
    enum mr_key_mode key_mode;
    struct mr_strings key_fields; /* FIELDS: source paths */
    enum mr_delete_mode delete_mode;
    enum mr_policy policy;
    enum mr_missing missing;
};

/* One column's type or policy set by hand: "db.table.path" (path as in model/change.h). */
struct mr_column_rule {
    char *name;
    struct mr_type type;   /* types.columns */
    uint8_t digits;        /* of the type as written: timestamp(6); 0 = none */
    uint32_t fixed_bytes;  /* of binary(n); else 0 */
    enum mr_policy policy; /* types.policies */
};

/* What names the schema of messages that carry no framing; texts are "" where nothing is said. */
struct mr_bare_config {
    char *schema_id, *schema_guid;
    char *message_indexes; /* of Protobuf: "1,0" */
    char *schema_file;     /* files, with commas between them */
};

/* Bytes of an id in front of a payload. */
enum mr_id_size { MR_ID_4 = 4, MR_ID_8 = 8 };

/* Members that a JSON schema does not name. */
enum mr_json_additional { MR_ADDITIONAL_DROP, MR_ADDITIONAL_COLUMN };

/* In which form a Protobuf schema is asked for first. */
enum mr_protobuf_schema { MR_PROTOBUF_TEXT, MR_PROTOBUF_DESCRIPTOR };

/* The schema registry's client; the members are options of the names that Confluent's clients have. Texts are "" where nothing is said. */
struct mr_registry_config {
    char *url; /* base URLs, with commas between them; "" = there is no registry */
    char *basic_source, *basic_user_info;
    char *bearer_source, *bearer_token;
    char *oauth_url, *oauth_client_id, *oauth_client_secret, *oauth_scope;
    uint32_t oauth_buffer_s;
    char *logical_cluster, *identity_pool; /* headers of Confluent Cloud */
    char *ca_location, *certificate_location, *key_location, *key_password;
    char *ca_pem, *certificate_pem, *key_pem;        /* the same as texts */
    char *keystore_location, *keystore_password;     /* PKCS#12: certificate and key in one file */
    bool verify;
    char *endpoint_algorithm; /* "https", or "none": the certificate's name does not count */
    uint32_t connect_timeout_ms, read_timeout_ms;
    uint32_t max_retries, retries_wait_ms, retries_max_wait_ms;
    uint32_t missing_wait_ms; /* how long an id that the registry does not know is asked for again */
    uint32_t cache_capacity;
    char *cache_dir; /* of answers, for a start while the registry is down; "" = none */
    bool url_randomize;
    char *proxy;
    char *context; /* ".name", or "" */
    bool ignore_rules;
    enum mr_protobuf_schema protobuf_schema;
    enum mr_id_size id_size;
    bool apicurio_headers;
    struct mr_pairs headers;
};

struct mr_config {
    char *pipeline; /* name of the positions; default: the group, else "millrace" */

    /* source.kafka */
    char *kafka_brokers;
    struct mr_strings kafka_topics; /* names and ^regular expressions */
    char *kafka_group;
    enum mr_start kafka_start;
    int64_t kafka_start_ms;         /* START_TIME */
    struct mr_pairs kafka_properties;

    /* source.file */
    struct mr_strings file_paths; /* paths, globs, "-" */
    char *file_topic;             /* names bare events */
    char *file_id;                /* gives stdin a position */
    bool file_again;              /* start over */
    bool reset_position;          /* answer to a stored position that is gone */

    enum mr_ddl_mode ddl; /* DDL that arrives as an event */
    enum mr_mode mode;
    char *format; /* "auto", a decoder's name, or an encoding's, which then holds for key and value */
    char *key_format, *value_format; /* "" = as `format` says */
    char *default_key_format;        /* of keys with declared columns whose format nobody names */
    bool avro_fail_on_trailing, json_schema_formats;
    enum mr_json_additional json_additional;
    char *key_columns, *value_columns; /* declared: "id BIGINT, name STRING"; "" = none */
    char *key_column_name;             /* of a key without names */
    char *key_delimiter, *value_delimiter;
    char *key_wrap_single;             /* "auto", "true", "false" */
    char *wrap_single_value;           /* "", "true", "false" */
    char *key_text_encoding, *value_text_encoding; /* of texts of the format kafka: "UTF-8", "US-ASCII", "ISO-8859-1" */
    char *key_json_envelope;           /* "auto", "true", "false" */
    char *key_window;                  /* "none", "time", "session" */
    char *null_key;                    /* "error", "skip" */
    char *key_value_conflict;          /* "error", "key", "value" */
    struct mr_bare_config key_bare, value_bare;
    bool
        protobuf_plain_indexes; /* message indexes are written as plain numbers, as older clients do on request */
    struct mr_pairs topics;            /* the same for single topics: "PATTERN.member" → text */
    struct mr_registry_config registry;

    /* unwrap: Debezium's option names */
    bool flatten_struct;
    char *flatten_delimiter;
    enum mr_array_encoding array_encoding;
    enum mr_delete_handling delete_handling;
    bool delete_handling_said;
    bool rewrite_with_id; /* rows of MongoDB that lack their _id get it from the key */
    enum mr_delete_handling old_delete_handling; /* the older pair; rules in unwrap.c */
    bool old_delete_handling_said;
    bool drop_tombstones, drop_tombstones_said;
    char *add_fields;        /* the list as written */
    char *add_fields_prefix; /* "__" */
    char *add_headers;       /* the same, for dead letters */
    char *add_headers_prefix;
    enum mr_name_mode field_names;
    /* What the settings about deletes come to. */
    enum mr_delete_mode unwrap_delete; /* of every table; UNSET = nothing was said */
    bool drops_delete_events;          /* of envelopes; only their tombstones delete */
    bool drops_tombstones;             /* of envelopes */
    bool tombstones_remove;            /* a tombstone removes the row even under `delete: soft` */
    char *unavailable_placeholder; /* "__debezium_unavailable_value" */

    /* debezium: rows without schemas */
    char *debezium_schema_topic;   /* "auto", "none", or a name in which {prefix} is the connector's */
    int64_t debezium_schema_wait_ms;
    enum mr_decimal_mode debezium_decimal;
    enum mr_time_mode debezium_time;
    enum mr_binary_mode debezium_binary;
    /* what the messages of some producers do not say */
    char *source_time_zone;        /* of texts that denote an instant without a zone: a name, or an offset */
    enum mr_zero_date zero_date;   /* 0000-00-00 and its like */
    enum mr_name_case name_case;   /* of the source's table and column names */
    bool tinyint1_as_bool;
    enum mr_canal_image canal_image;
    enum mr_canal_enum canal_enum;
    enum mr_canal_sqltype canal_sqltype;
    bool maxwell_missing_is_null;
    enum mr_dts_fraction dts_fraction; /* unit of the member called millis */
    bool dts_logical_names;
    char *event_table;             /* of Prostore's status events */

    /* limits on messages */
    uint32_t max_depth;        /* nesting of JSON */
    uint64_t max_message_bytes;
    enum mr_text_invalid text_invalid;

    /* target */
    char *target_url;
    char *target_password_file; /* "" or a path */
    char *target_schema;        /* template */
    bool target_schema_set;     /* said, not the default */
    char *target_table;         /* template */
    bool target_table_set;
    char *control_schema;       /* "" = the target's default */
    enum mr_evolve evolve;
    uint32_t appliers;
    int64_t lock_timeout_ms;
    int64_t connect_timeout_ms; /* for the first connection */
    uint32_t bulk_rows;         /* from this many rows of a table in a batch on, the bulk path */

    /* types */
    enum mr_policy policy;
    struct mr_column_rule *columns;
    size_t column_count;
    struct mr_table_rule *tables;
    size_t table_count;

    /* batch */
    uint32_t batch_rows;
    uint64_t batch_bytes;
    int64_t batch_interval_ms;
    enum mr_transactions transactions;
    uint64_t transaction_bytes;   /* SOURCE: what may be held for transactions that are not whole */
    int64_t transaction_wait_ms;

    /* status events about our own work */
    char *status_topic;              /* "" = none are told */
    char *status_brokers;            /* "" in the file: those of source.kafka, which stand here then */
    struct mr_pairs status_properties;
    uint32_t status_partition;
    bool status_write_operations;
    char *status_datamart;           /* "" = the table's schema */
    uint32_t status_max_pending;     /* 0 = no limit */
    int64_t status_takeover_ms;
    bool status_on_source;           /* the source's brokers: its properties hold, too */

    double dead_letter_max_rate; /* 0 = off */
    int64_t shutdown_timeout_ms;

    enum mr_log_format log_format;
    enum mr_log_level log_level;
    bool log_values;

    struct mr_config_origin *origins; /* where each option came from; config module only */
    struct mr_config_matched *matched; /* which rules for tables and columns have held for one; config module only */
};

/* Rules that hold for one table, every member decided (no UNSET). */
struct mr_table_settings {
    enum mr_key_mode key_mode;
    struct mr_strings key_fields; /* borrowed from the configuration */
    bool needs_key;               /* mode: upsert; a row that brings no key is refused, not appended */
    enum mr_delete_mode delete_mode;
    bool tombstones_remove; /* under SOFT */
    enum mr_policy policy;
    bool policy_is_set;           /* by a rule of `tables` */
    enum mr_missing missing;
};
void mr_config_table(const struct mr_config *cfg, struct mr_str database, struct mr_str table,
                     struct mr_table_settings *out);
/* Type (kind MR_T_NONE if not set) and policy (UNSET if not set) for a path of a table. */
void mr_config_column(const struct mr_config *cfg, struct mr_str database, struct mr_str table,
                      struct mr_str path, struct mr_type *type, enum mr_policy *policy);
/* The type that types.columns gives to the path (kind MR_T_NONE if none), and the digits behind its name (timestamp(6); 0 = none). */
void mr_config_column_type(const struct mr_config *cfg, struct mr_str database, struct mr_str table, struct mr_str path,
                           struct mr_type *type, unsigned *digits);
/* n where the path's type is set as binary(n), else 0. */
uint32_t mr_config_fixed_bytes(const struct mr_config *cfg, struct mr_str database, struct mr_str table, struct mr_str path);
/* The rules for tables and columns that none has been looked up by so far, as their keys are written ("tables.shop.orders"): misspelt, or meant for
 * what has not come. Main thread, as the look-ups are. */
void mr_config_unmatched(const struct mr_config *cfg, void (*fn)(void *ctx, const char *key_z), void *ctx);
/* Does any table use record_key_text? */
bool mr_config_wants_key_text(const struct mr_config *cfg);

/* ---- Loading ---- */

/* One setting from the command line: --set key.path=value or a flag that stands for a key. */
struct mr_setting {
    const char *key_z;   /* dotted, with quotes where needed */
    const char *value_z;
    const char *flag_z;  /* how the user said it, for messages: "--to", "--set" */
};

/* Defaults, then the file (NULL = none), then the settings in order, then the checks. ${NAME} in values comes from the
 * environment. CONFIG errors name file:line:column or the flag, and the nearest right name. *out is owned by the caller. */
enum mr_status mr_config_load(const char *path_z, const struct mr_setting *settings,
                              size_t setting_count, struct mr_config **out, struct mr_error *err)
    MR_MUST_CHECK;
void mr_config_destroy(struct mr_config *cfg);

/* Every option: effective value, default, where it came from. Secrets (and passwords in URLs) are masked. */
void mr_config_print(const struct mr_config *cfg, bool json, struct mr_buf *out);
/* The reference page (docs/configuration.md) and the part of the man page, from the option table. */
void mr_config_reference_markdown(struct mr_buf *out);
void mr_config_reference_man(struct mr_buf *out);
/* What was said and has no effect beside something else that was said: log it. After the log has been set up. */
void mr_config_warn(const struct mr_config *cfg);
/* A URL with its password masked. */
void mr_config_mask_url(const char *url_z, struct mr_buf *out);

#endif
