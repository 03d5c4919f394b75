/* What a person wrote, as a tree: made of a YAML file or of one --set, read by apply.c. Everything lives in one arena.
 * Internal to the configuration. */
#ifndef MR_CONFIG_NODE_H
#define MR_CONFIG_NODE_H

#include <millrace/base/arena.h>
#include <millrace/config/config.h>

#define MR_CONFIG_MAX_BYTES (1u << 20) /* of a file */
#define MR_CONFIG_MAX_DEPTH 32
#define MR_CONFIG_MAX_KEY 2048      /* bytes of a whole dotted key */
#define MR_CONFIG_MAX_ENTRIES 10000 /* of a map such as tables */

enum mr_node_kind { MR_NODE_SCALAR, MR_NODE_LIST, MR_NODE_MAP };

struct mr_node {
    enum mr_node_kind kind;
    struct mr_str text;     /* SCALAR */
    bool plain;             /* SCALAR without quotes in YAML: null, ~ and nothing at all mean null */
    bool raw;               /* SCALAR from the command line: may hold a list or map in YAML's flow form */
    bool append;            /* --set key+=value */
    uint32_t line, column;  /* 1-based; 0 = command line */
    struct mr_node **items; /* LIST items, MAP values */
    struct mr_node **keys;  /* MAP: scalars */
    size_t count, cap;
};

/* Where the tree came from, for messages. */
struct mr_origin {
    const char *path_z;               /* a file, or */
    const struct mr_setting *setting; /* a setting */
};

/* The text of a file (or a value in flow form) as a tree. *out is NULL for an empty document. CONFIG with file:line:column. */
enum mr_status mr_yaml_read(struct mr_str text, const struct mr_origin *origin, struct mr_arena *ar,
                            struct mr_node **out, struct mr_error *err) MR_MUST_CHECK;

/* key.path=value as nested maps of one entry each. */
enum mr_status mr_setting_read(const struct mr_setting *setting, struct mr_arena *ar, struct mr_node **out,
                               struct mr_error *err) MR_MUST_CHECK;

struct mr_node *mr_node_new(struct mr_arena *ar, enum mr_node_kind kind, uint32_t line, uint32_t column);
void mr_node_add(struct mr_arena *ar, struct mr_node *parent, struct mr_node *key, struct mr_node *item);
bool mr_node_is_null(const struct mr_node *node);
const char *mr_node_kind_name(const struct mr_node *node);

/* A CONFIG error at a node's place: "millrace.yaml:3:5: …" or "--set target.url: …". */
enum mr_status mr_node_fail(const struct mr_node *node, const struct mr_origin *origin, struct mr_error *err,
                            const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ${NAME} and ${NAME:-default} from the environment; $${ is a plain ${. CONFIG if a name is not set. The result borrows from
 * the node where nothing had to be replaced. */
enum mr_status mr_node_expand(const struct mr_node *node, const struct mr_origin *origin, struct mr_arena *ar,
                              struct mr_str *out, struct mr_error *err) MR_MUST_CHECK;

/* Put a tree into the configuration. `seen` (one a option, may be NULL) refuses an option that was said before. */
enum mr_status mr_config_apply(struct mr_config *cfg, struct mr_node *root, const struct mr_origin *origin,
                               bool *seen, struct mr_arena *ar, struct mr_error *err) MR_MUST_CHECK;

/* One leaf of a map option; `name` is the user's own part of the key. */
struct mr_option;
enum mr_status mr_rule_set(struct mr_config *cfg, const struct mr_option *opt, struct mr_str name,
                           const struct mr_node *leaf, const struct mr_node *key,
                           const struct mr_origin *origin, struct mr_arena *ar,
                           struct mr_error *err) MR_MUST_CHECK;
void mr_rules_free(struct mr_config *cfg);
/* A list of texts, expanded: from a list, or from a text (cut at commas, or whole). */
enum mr_status mr_node_list(const struct mr_node *node, const struct mr_origin *origin, bool whole,
                            struct mr_arena *ar, struct mr_strings *out, struct mr_error *err) MR_MUST_CHECK;
/* A raw value in flow form ("[a, b]", "{k: v}", "\"quoted\"") is read as such; anything else comes back as it is. */
enum mr_status mr_node_resolve(struct mr_node *node, const struct mr_origin *origin, struct mr_arena *ar,
                               bool want_structure, struct mr_node **out, struct mr_error *err) MR_MUST_CHECK;

/* The same as mr_config_load with the file's text in memory (fuzzing, tests). */
enum mr_status mr_config_load_text(const char *name_z, struct mr_str text, const struct mr_setting *settings,
                                   size_t setting_count, struct mr_config **out,
                                   struct mr_error *err) MR_MUST_CHECK;

#endif
