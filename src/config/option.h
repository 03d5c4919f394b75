/* The option table: one row an option. The YAML reader, --set, the checks, `millrace config`, the reference page and the man
 * page are all made of it, so that they cannot disagree. Internal to the configuration. */
#ifndef MR_CONFIG_OPTION_H
#define MR_CONFIG_OPTION_H

#include <millrace/config/config.h>

#define MR_CONFIG_MAX_TEXT (4u << 20) /* bytes of one value when it is written out */

enum mr_option_type {
    MR_OPT_TEXT,     /* char * */
    MR_OPT_BOOL,     /* bool */
    MR_OPT_UINT,     /* uint32_t */
    MR_OPT_SIZE,     /* uint64_t, bytes: 16MiB */
    MR_OPT_DURATION, /* int64_t, ms: 100ms, 5s, 2m, 1h */
    MR_OPT_RATE,     /* double, 0…1 */
    MR_OPT_WORD,     /* an enum, by its words */
    MR_OPT_LIST,     /* struct mr_strings; a text is cut at its commas */
    MR_OPT_PATHS,    /* struct mr_strings; a text is one item */
    MR_OPT_COMMAS,   /* char *: a text with commas, or a list that becomes one */
    MR_OPT_START,    /* enum mr_start, with kafka_start_ms */
    /* Maps: the rest of the key is the user's own name. */
    MR_OPT_PAIRS, /* struct mr_pairs */
    MR_OPT_COLUMN_TYPES,
    MR_OPT_COLUMN_POLICIES,
    MR_OPT_TABLES,
};

struct mr_word {
    const char *text_z; /* NULL ends the list */
    int value;
};

struct mr_option {
    const char *key_z; /* dotted */
    enum mr_option_type type;
    size_t offset;               /* of the member in struct mr_config */
    size_t said_offset;          /* of a bool that becomes true when somebody sets the option; 0 = none */
    const char *default_z;       /* in the form in which a person would write it; NULL for maps */
    int64_t min, max;            /* UINT, SIZE, DURATION */
    const struct mr_word *words; /* WORD */
    bool secret;                 /* may hold a password: shown masked, never in messages */
    const char *flag_z;          /* the short way on the command line, or NULL */
    const char *default_note_z;  /* what the default means where the text does not tell, or NULL */
    const char *help_z;          /* plain sentences; `code` in back quotes */
};

extern const struct mr_option mr_options[];
extern const size_t mr_option_count;

/* Headings of the reference, in order; an option belongs to the longest prefix. */
struct mr_option_section {
    const char *prefix_z; /* "source.kafka"; "" = everything else */
    const char *title_z;
    const char *intro_z;
};
extern const struct mr_option_section mr_option_sections[];
extern const size_t mr_option_section_count;

/* Words of the settings that a table may have (tables.NAME.…). */
struct mr_member {
    const char *name_z;
    const char *values_z; /* for the reference */
    const char *help_z;
};
extern const struct mr_member mr_table_members[];
extern const size_t mr_table_member_count;

extern const struct mr_word mr_policy_words[];
extern const struct mr_word mr_delete_words[];
extern const struct mr_word mr_missing_words[];

/* The option of that key, or NULL. */
const struct mr_option *mr_option_find(struct mr_str key);
/* The map option that `key` lies below ("types.columns.a.b"): *rest is what follows. NULL if none. */
const struct mr_option *mr_option_above(struct mr_str key, struct mr_str *rest);
/* Is it the beginning of an option's key ("source", "source.kafka")? */
bool mr_option_is_group(struct mr_str key);
bool mr_option_is_map(const struct mr_option *opt);
static inline size_t mr_option_index(const struct mr_option *opt)
{
    return (size_t)(opt - mr_options);
}

/* The right key nearest to a wrong one, or NULL if none is near. */
const char *mr_option_nearest(struct mr_str key, struct mr_buf *scratch);

/* Where an option's value came from. */
struct mr_config_origin {
    enum { MR_FROM_DEFAULT, MR_FROM_FILE, MR_FROM_COMMAND } from;
    uint32_t line, column; /* FILE */
    char *text_z;          /* FILE: path, COMMAND: flag; owned */
};

/* A value in its written form (masked where secret). JSON: as a JSON value. Not for maps. */
void mr_option_append_value(const struct mr_option *opt, const struct mr_config *cfg, bool json,
                            struct mr_buf *out);
/* What may be written: "true or false", "a size such as 16MiB", "a | b | c". */
void mr_option_append_expected(const struct mr_option *opt, struct mr_buf *out);

/* A text into a member; false if it is not of the form or out of range. Not for maps. */
bool mr_option_parse(const struct mr_option *opt, struct mr_config *cfg, struct mr_str text);
/* Replace a list member; takes the items over. */
void mr_option_set_list(const struct mr_option *opt, struct mr_config *cfg, struct mr_strings list);
void mr_option_free(const struct mr_option *opt, struct mr_config *cfg);

/* Which rules have held for something; of match.c. */
void mr_config_matched_init(struct mr_config *cfg);
void mr_config_matched_free(struct mr_config *cfg);

/* A CONFIG error about an option whose value was accepted by itself, at the place where it was said. `value` is its member in cfg. load.c */
enum mr_status mr_config_fail(const struct mr_config *cfg, const void *value, struct mr_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* An option of Debezium's transforms that is not one of ours: its whole name and what to say instead. False if `key` is none of theirs either. The
 * key may be cut, at a dot: nested maps are walked from above. unwrap.c */
bool mr_unwrap_advice(struct mr_str key, const char **name_z, const char **advice_z);

/* What the settings about deletes come to, into the members at the end of `unwrap`; then whether the settings under `unwrap` and those
 * of single tables agree. unwrap.c */
void mr_config_resolve_deletes(struct mr_config *cfg);
enum mr_status mr_config_check_unwrap(const struct mr_config *cfg, struct mr_error *err);
/* The same for `status`, and what follows from the source's settings. status_topic.c */
enum mr_status mr_config_check_status(const struct mr_config *cfg, struct mr_error *err);
void mr_config_complete_status(struct mr_config *cfg);

bool mr_word_parse(const struct mr_word *words, struct mr_str text, int *value);
const char *mr_word_name(const struct mr_word *words, int value);
void mr_words_append(const struct mr_word *words, const char *between_z, struct mr_buf *out);

bool mr_parse_size(struct mr_str text, uint64_t *bytes);
bool mr_parse_duration(struct mr_str text, int64_t *ms);
void mr_append_size(uint64_t bytes, struct mr_buf *out);
void mr_append_duration(int64_t ms, struct mr_buf *out);

void mr_strings_add(struct mr_strings *list, struct mr_str item);
void mr_strings_free(struct mr_strings *list);
/* Cut at the commas that stand outside of brackets (a regular expression may hold `{1,2}`); blanks around the items go,
 * empty items too. */
void mr_strings_split(struct mr_strings *list, struct mr_str text);

#endif
