/* Which target table a relation goes to: the templates {db}, {table}, {topic} filled from the event, its topic or its file. */
#include <millrace/schema/name.h>

#include <millrace/base/buf.h>
#include <millrace/dialect.h>

#define MAX_TARGET_NAME (64 * 1024)

struct parts {
    struct mr_str db, table, topic;
};

/* The last part of a dotted topic; *before gets the last but one, "" if there is none. */
static struct mr_str last_part(struct mr_str topic, struct mr_str *before)
{
    ptrdiff_t dot = mr_str_rfind(topic, '.');

    *before = MR_STR("");
    if (dot < 0)
        return topic;
    struct mr_str head = mr_str_of(topic.ptr, (size_t)dot);
    ptrdiff_t dot2 = mr_str_rfind(head, '.');
    *before = mr_str_of(head.ptr + dot2 + 1, head.len - (size_t)(dot2 + 1));
    return mr_str_of(topic.ptr + dot + 1, topic.len - (size_t)dot - 1);
}

static bool cut_ending(struct mr_str *name, struct mr_str ending)
{
    if (name->len <= ending.len || !mr_str_ends(*name, ending))
        return false;
    name->len -= ending.len;
    return true;
}

/* The file's name without its folder and its endings: "export/orders.jsonl.gz" → "orders". A name without a known ending
 * loses its last one. */
static struct mr_str file_table(struct mr_str file)
{
    static const char *const endings[] = {".gz", ".zst", ".zstd", ".json", ".jsonl", ".ndjson", ".txt", ".log", ".kcat"};
    ptrdiff_t slash = mr_str_rfind(file, '/');
    struct mr_str name = mr_str_of(file.ptr + slash + 1, file.len - (size_t)(slash + 1));
    bool cut = false;

    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
            again |= cut_ending(&name, mr_str_z(endings[i]));
        cut |= again;
    }
    if (!cut) {
        ptrdiff_t dot = mr_str_rfind(name, '.');
        if (dot > 0)
            name.len = (size_t)dot;
    }
    return name;
}

static bool names_a_file(struct mr_str file)
{
    return file.len > 0 && !mr_str_eq_z(file, "-");
}

static struct parts resolve(const struct mr_dialect *dialect, struct mr_str default_schema,
                            struct mr_str database, struct mr_str table, struct mr_str topic,
                            struct mr_str file)
{
    struct mr_str topic_db;
    struct mr_str topic_table = last_part(topic, &topic_db);
    struct parts parts = {.db = database, .table = table, .topic = topic};

    if (parts.db.len == 0)
        parts.db = topic_db;
    if (parts.db.len == 0 && dialect->has_schemas)
        parts.db = default_schema;
    if (parts.table.len == 0)
        parts.table = topic_table;
    if (parts.table.len == 0 && names_a_file(file))
        parts.table = file_table(file);
    return parts;
}

/* Fill a template. *missing gets the variable that was asked for and is empty ({db} may be). */
static struct mr_str expand(struct mr_str template, const struct parts *parts, struct mr_arena *ar,
                            const char **missing)
{
    struct mr_buf out = MR_BUF_INIT(MAX_TARGET_NAME);

    while (template.len > 0) {
        struct mr_str value = mr_str_of(template.ptr, 1);
        size_t used = 1;
        if (mr_str_starts(template, MR_STR("{db}"))) {
            value = parts->db;
            used = 4;
        } else if (mr_str_starts(template, MR_STR("{table}"))) {
            value = parts->table;
            used = 7;
            if (value.len == 0)
                *missing = "{table}";
        } else if (mr_str_starts(template, MR_STR("{topic}"))) {
            value = parts->topic;
            used = 7;
            if (value.len == 0)
                *missing = "{topic}";
        }
        mr_buf_append_str(&out, value);
        template = mr_str_of(template.ptr + used, template.len - used);
    }
    struct mr_str text = mr_arena_copy(ar, mr_buf_str(&out));
    mr_buf_free(&out);
    return text;
}

static struct mr_str table_template(const struct mr_config *cfg, const struct mr_dialect *dialect,
                                    const struct parts *parts)
{
    if (cfg->target_table_set || dialect->has_schemas)
        return mr_str_z(cfg->target_table);
    return parts->db.len > 0 ? MR_STR("{db}_{table}") : MR_STR("{table}");
}

enum mr_status mr_name_target(const struct mr_config *cfg, const struct mr_dialect *dialect,
                              struct mr_str default_schema, struct mr_str database, struct mr_str table,
                              struct mr_str topic, struct mr_str file, struct mr_arena *ar,
                              struct mr_target_name *out, struct mr_error *err)
{
    struct parts parts = resolve(dialect, default_schema, database, table, topic, file);
    const char *missing = NULL;

    out->schema = MR_STR("");
    out->table = expand(table_template(cfg, dialect, &parts), &parts, ar, &missing);
    if (dialect->has_schemas) {
        out->schema = expand(mr_str_z(cfg->target_schema), &parts, ar, &missing);
        if (out->schema.len == 0)
            out->schema = mr_arena_copy(ar, default_schema);
    }
    if (missing || out->table.len == 0) {
        (void)mr_fail_data(err, MR_CODE_NO_TABLE, "the event names no table, and %s is empty",
                           missing ? missing : "target.table");
        mr_error_hint(err, "name the events' table with --topic, or set target.table");
        return MR_E_DATA;
    }
    return MR_OK;
}
