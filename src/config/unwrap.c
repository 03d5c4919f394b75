/* The settings under `unwrap` that concern one another: what the two generations of settings about deletes come to, whether single tables agree
 * with that, and the grammar of the lists of fields.
 *
 * Debezium's transform had `drop.tombstones` and `delete.handling.mode`, and since 2.5 `delete.tombstone.handling.mode`, which wins. Of the
 * older two the one that is not said has its old default, under which all deletes were lost. */
#include "option.h"

#include <millrace/base/log.h>

#define SHOWN 100 /* bytes of a user's text in a message */

static bool is_old_pair_said(const struct mr_config *cfg)
{
    return cfg->old_delete_handling_said || cfg->drop_tombstones_said;
}

static enum mr_delete_mode delete_of(enum mr_delete_handling handling)
{
    switch (handling) {
    case MR_DELETES_DROP:
        return MR_DELETE_IGNORE;
    case MR_DELETES_TOMBSTONE:
        return MR_DELETE_HARD;
    case MR_DELETES_REWRITE:
    case MR_DELETES_REWRITE_WITH_TOMBSTONE:
        break;
    }
    return MR_DELETE_SOFT;
}

/* Where a delete removes the row, its tombstone may do so once more: where a compacted topic has lost the delete it is all there is. */
void mr_config_resolve_deletes(struct mr_config *cfg)
{
    enum mr_delete_handling handling = cfg->delete_handling;
    bool keeps_tombstones = handling == MR_DELETES_REWRITE_WITH_TOMBSTONE;

    if (!cfg->delete_handling_said && !is_old_pair_said(cfg))
        return;
    if (!cfg->delete_handling_said) {
        handling = cfg->old_delete_handling;
        keeps_tombstones = !cfg->drop_tombstones;
    }
    cfg->unwrap_delete = delete_of(handling);
    cfg->drops_tombstones = !keeps_tombstones && cfg->unwrap_delete != MR_DELETE_HARD;
    cfg->tombstones_remove = keeps_tombstones && cfg->unwrap_delete == MR_DELETE_SOFT;
    if (keeps_tombstones && cfg->unwrap_delete == MR_DELETE_IGNORE) { /* the delete does nothing, the tombstone all */
        cfg->unwrap_delete = MR_DELETE_HARD;
        cfg->drops_delete_events = true;
    }
}

static enum mr_status check_deletes(const struct mr_config *cfg, struct mr_error *err)
{
    const void *said = cfg->delete_handling_said       ? (const void *)&cfg->delete_handling
                       : cfg->old_delete_handling_said ? (const void *)&cfg->old_delete_handling
                                                       : (const void *)&cfg->drop_tombstones;

    for (size_t i = 0; i < cfg->table_count && cfg->unwrap_delete != MR_DELETE_UNSET; i++) {
        const struct mr_table_rule *rule = &cfg->tables[i];
        if (rule->delete_mode == MR_DELETE_UNSET || rule->delete_mode == cfg->unwrap_delete)
            continue;
        enum mr_status status = mr_config_fail(cfg, said, err, "means delete: %s, but tables.\"%.*s\".delete is %s",
                                               mr_word_name(mr_delete_words, (int)cfg->unwrap_delete), SHOWN, rule->pattern,
                                               mr_word_name(mr_delete_words, (int)rule->delete_mode));
        mr_error_hint(err, "say it once: under unwrap for all tables, or under tables for each");
        return status;
    }
    return MR_OK;
}

/* Items are `field`, `struct.field`, each perhaps with one `:name`. The transform calls anything else an unexpected field name. */
static enum mr_status check_fields(const struct mr_config *cfg, char *const *list, struct mr_error *err)
{
    struct mr_strings items = {0};
    enum mr_status status = MR_OK;

    mr_strings_split(&items, mr_str_z(*list));
    for (size_t i = 0; i < items.count && status == MR_OK; i++) {
        struct mr_str item = mr_str_z(items.items[i]);
        ptrdiff_t colon = mr_str_find(item, ':');
        if (colon == 0 || colon != mr_str_rfind(item, ':') || item.ptr[0] == '.')
            status = mr_config_fail(cfg, list, err,
                                    "has an unexpected field name: \"%.*s\"; write field, struct.field or field:name", SHOWN,
                                    items.items[i]);
    }
    mr_strings_free(&items);
    return status;
}

static enum mr_status check_arrays(const struct mr_config *cfg, struct mr_error *err)
{
    if (cfg->array_encoding != MR_ARRAY_TABLE || cfg->flatten_struct)
        return MR_OK;
    (void)mr_config_fail(cfg, &cfg->array_encoding, err, "is \"table\", which needs unwrap.flatten.struct=true");
    mr_error_hint(err, "the elements of arrays become rows of columns; documents that are kept whole have no columns");
    return MR_E_CONFIG;
}

enum mr_status mr_config_check_unwrap(const struct mr_config *cfg, struct mr_error *err)
{
    MR_TRY(check_fields(cfg, &cfg->add_fields, err));
    MR_TRY(check_fields(cfg, &cfg->add_headers, err));
    MR_TRY(check_arrays(cfg, err));
    return check_deletes(cfg, err);
}

/* Either may be the beginning of the other: keys are looked at level by level, and one entry stands for a family. */
bool mr_unwrap_advice(struct mr_str key, const char **name_z, const char **advice_z)
{
    static const struct {
        const char *key_z, *advice_z;
    } others[] = {
        {"unwrap.type", "leave it out: it names the transform, which is built in"},
        {"unwrap.predicate", "leave it out: the transform applies to what is an envelope; source.kafka.topics names the topics"},
        {"unwrap.negate", "leave it out: the transform applies to what is an envelope; source.kafka.topics names the topics"},
        {"unwrap.sanitize.field.names", "its successor says the same: unwrap.field.name.adjustment.mode: avro"},
        {"unwrap.operation.header", "its successor says the same: unwrap.add.headers: op"},
        {"unwrap.add.source.fields", "its successor says the same: unwrap.add.fields: source.NAME"},
        {"unwrap.route.by.field", "events are not sent to topics here; target.table names the tables"},
        {"unwrap.drop.fields", "columns are made of all fields; select from the table what you need"},
        {"unwrap.replace.null.with.default", "leave it out: a null stays a null here"},
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct mr_str name = mr_str_z(others[i].key_z);
        struct mr_str longer = name.len > key.len ? name : key, shorter = name.len > key.len ? key : name;
        if (!mr_str_starts(longer, shorter) || (longer.len > shorter.len && longer.ptr[shorter.len] != '.'))
            continue;
        *name_z = others[i].key_z;
        *advice_z = others[i].advice_z;
        return true;
    }
    return false;
}

/* The structs of Debezium's envelopes. The transform fails at the first event where an item names another one; here it only brings nothing. */
static void warn_of_structs(const char *option_z, const char *list_z)
{
    static const char *const structs[] = {"source", "transaction", "updateDescription", "before", "after"};
    struct mr_strings items = {0};

    mr_strings_split(&items, mr_str_z(list_z));
    for (size_t i = 0; i < items.count; i++) {
        struct mr_str item = mr_str_z(items.items[i]);
        ptrdiff_t dot = mr_str_find(item, '.'), colon = mr_str_find(item, ':');
        bool is_known = dot < 0 || (colon >= 0 && colon < dot);
        for (size_t k = 0; !is_known && k < sizeof(structs) / sizeof(structs[0]); k++)
            is_known = mr_str_eq_z(mr_str_of(item.ptr, (size_t)dot), structs[k]);
        if (!is_known)
            mr_log(MR_LOG_WARN, "a field to add is in a struct that Debezium's events do not have",
                   MR_KV_Z("option", option_z), MR_KV_Z("field", items.items[i]),
                   MR_KV_Z("hint", "the structs are source, transaction, updateDescription, before and after"));
    }
    mr_strings_free(&items);
}

void mr_config_warn(const struct mr_config *cfg)
{
    warn_of_structs("unwrap.add.fields", cfg->add_fields);
    warn_of_structs("unwrap.add.headers", cfg->add_headers ? cfg->add_headers : "");
    if (cfg->delete_handling_said && is_old_pair_said(cfg))
        mr_log_plain(MR_LOG_WARN, "unwrap.delete.tombstone.handling.mode is set: unwrap.delete.handling.mode and unwrap.drop.tombstones do not count");
}
