/* What a person reads about a field that did not pass: the table, the field's path, both types, and which option to set. Values are
 * never named: they may be secret. */
#include "tracker_parts.h"

#define TYPE_TEXT 32
#define SHOWN_PATH 200 /* bytes of a path in a message */

static struct mr_str shown_path(const struct mr_tk_judge *j)
{
    struct mr_str path = j->field->path;

    if (mr_path_is_own(path))
        path = mr_str_of(path.ptr + 1, path.len - 1); /* one of Millrace's own */
    if (path.len > SHOWN_PATH)
        path.len = SHOWN_PATH;
    return path;
}

static void set_field(const struct mr_tk_judge *j)
{
    struct mr_str path = shown_path(j);

    mr_error_field(j->err, path.ptr ? path.ptr : "", path.len);
}

static void hint_policies(const struct mr_tk_judge *j, bool also_type)
{
    struct mr_str path = shown_path(j);

    if (j->is_key) {
        mr_error_hint(j->err,
                      "a key column takes no policy text, json, variant or null; give it a type that holds both, "
                      "types.columns.\"%.*s.%.*s\": text, before its table is created",
                      MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
        return;
    }
    mr_error_hint(j->err, "set types.policies.\"%.*s.%.*s\": text (or json, variant, \"null\")%s", MR_STR_FMT(j->tk->label),
                  MR_STR_FMT(path), also_type ? ", or its type under types.columns" : "");
}

/* The words of Debezium's transform, for whoever looks for them. */
void mr_tk_tell_mixed(struct mr_tk_judge *j)
{
    struct mr_str path = shown_path(j);

    (void)mr_fail_data(j->err, MR_CODE_MIXED_ARRAY, "%.*s: field \"%.*s\": Array elements with different Bson types are not supported",
                       MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
    set_field(j);
    mr_error_hint(j->err,
                  "set types.policies.\"%.*s.%.*s\": json to keep such an array as JSON (or text, variant, \"null\"), or "
                  "unwrap.array.encoding: json (or document)",
                  MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
}

void mr_tk_tell_misfit(struct mr_tk_judge *j, struct mr_type value_type, enum mr_tk_reason reason,
                       const char *code)
{
    static const char *const why[] = {
        [MR_TK_CONFLICT] = "",
        [MR_TK_STRICT] = " (its policy is strict: the first type stands)",
        [MR_TK_EVOLVE] = " (ALTER TYPE is ruled out by target.evolve: add)",
        [MR_TK_BY_HAND] = " (set by hand in the target)",
        [MR_TK_CONFIGURED] = " (set in types.columns)",
        [MR_TK_UNWRITABLE] = " (the target's own column type is none that can be written)",
    };
    const struct mr_tk_column *col = j->col;
    struct mr_str path = shown_path(j);
    struct mr_str native = col->native.len > SHOWN_PATH ? mr_str_of(col->native.ptr, SHOWN_PATH) : col->native;
    char have[TYPE_TEXT], needed[TYPE_TEXT];
    bool is_refused = reason == MR_TK_EVOLVE && col->alter_refused;

    if (strcmp(code, MR_CODE_MIXED_ARRAY) == 0) {
        mr_tk_tell_mixed(j);
        return;
    }

    (void)mr_fail_data(j->err, code, "%.*s: field \"%.*s\": a value of type %s does not fit the column of type %s%s",
                       MR_STR_FMT(j->tk->label), MR_STR_FMT(path), mr_type_text(value_type, needed),
                       mr_type_text(col->pub.type, have), is_refused ? "" : why[reason]);
    if (is_refused)
        mr_error_detail(j->err, "the target refused to alter the column: %s", col->alter_refused);
    set_field(j);
    if (native.len > 0 && !is_refused)
        mr_error_detail(j->err, "column \"%.*s\" is %.*s in the target", MR_STR_FMT(col->pub.name), MR_STR_FMT(native));
    switch (reason) {
    case MR_TK_EVOLVE:
        if (is_refused) {
            mr_error_hint(j->err, "remove what stands in the way, start Millrace again, and run `millrace dead-letters replay`");
            break;
        }
        mr_error_hint(j->err, "set target.evolve: full, or types.policies.\"%.*s.%.*s\": variant", MR_STR_FMT(j->tk->label),
                      MR_STR_FMT(path));
        break;
    case MR_TK_STRICT:
        mr_error_hint(j->err, "set types.policies.\"%.*s.%.*s\": widen", MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
        break;
    case MR_TK_BY_HAND:
        if (j->is_key)
            mr_error_hint(j->err, "alter the column in the target");
        else
            mr_error_hint(j->err,
                          "to have values read as the column's type, set types.columns.\"%.*s.%.*s\": %s; else alter the column in "
                          "the target, or set types.policies.\"%.*s.%.*s\": variant (or \"null\")",
                          MR_STR_FMT(j->tk->label), MR_STR_FMT(path), mr_type_text(col->pub.type, have), MR_STR_FMT(j->tk->label),
                          MR_STR_FMT(path));
        break;
    case MR_TK_UNWRITABLE:
        mr_error_hint(j->err, "alter the column in the target, or set types.policies.\"%.*s.%.*s\": variant (or \"null\")",
                      MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
        break;
    case MR_TK_CONFIGURED:
        mr_error_hint(j->err, "change types.columns.\"%.*s.%.*s\", or set types.policies.\"%.*s.%.*s\": variant (or \"null\")",
                      MR_STR_FMT(j->tk->label), MR_STR_FMT(path), MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
        break;
    case MR_TK_CONFLICT:
        hint_policies(j, true);
        break;
    }
}

void mr_tk_tell_null_key(struct mr_tk_judge *j)
{
    struct mr_str path = shown_path(j);

    (void)mr_fail_data(j->err, MR_CODE_NULL_KEY, "%.*s: key field \"%.*s\" is null", MR_STR_FMT(j->tk->label),
                       MR_STR_FMT(path));
    set_field(j);
    mr_error_hint(j->err, "name other key fields with tables.\"%.*s\".primary_key", MR_STR_FMT(j->tk->label));
}

void mr_tk_tell_invalid(struct mr_tk_judge *j)
{
    bool is_range = j->v.aux == MR_INVALID_RANGE;
    struct mr_str path = shown_path(j), reason = mr_value_str(j->v);

    if (reason.len > SHOWN_PATH)
        reason.len = SHOWN_PATH;
    (void)mr_fail_data(j->err, is_range ? MR_CODE_OUT_OF_RANGE : MR_CODE_BAD_VALUE, "%.*s: field \"%.*s\": %.*s",
                       MR_STR_FMT(j->tk->label), MR_STR_FMT(path), MR_STR_FMT(reason));
    set_field(j);
    if (!j->is_key)
        mr_error_hint(j->err, "set types.policies.\"%.*s.%.*s\": \"null\" to leave such values out",
                      MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
}

void mr_tk_tell_refused(struct mr_tk_judge *j)
{
    struct mr_str path = shown_path(j);
    bool is_text = j->err && strcmp(j->err->code, MR_CODE_TEXT_INVALID) == 0;

    mr_error_prefix(j->err, "%.*s: field \"%.*s\": ", MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
    set_field(j);
    if (is_text)
        mr_error_hint(j->err, "set text.invalid: strip (or replace)%s", j->is_key ? "" : ", or policy \"null\" for the field");
    else if (!j->is_key)
        mr_error_hint(j->err, "set types.policies.\"%.*s.%.*s\": \"null\" to leave such values out",
                      MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
}

void mr_tk_tell_too_many(struct mr_tk_judge *j, size_t max)
{
    struct mr_str path = shown_path(j);

    (void)mr_fail_data(j->err, MR_CODE_TOO_LARGE, "%.*s: field \"%.*s\" would be column %zu; a table of %s has at most %zu",
                       MR_STR_FMT(j->tk->label), MR_STR_FMT(path), max + 1, j->tk->dialect->name, max);
    set_field(j);
    mr_error_hint(j->err, "set unwrap.flatten.struct: false to keep nested documents in one column");
}

void mr_tk_tell_no_column(struct mr_tk_judge *j, const char *why_z)
{
    struct mr_str path = shown_path(j);

    (void)mr_fail_data(j->err, MR_CODE_REFUSED, "%.*s: field \"%.*s\" has no column", MR_STR_FMT(j->tk->label), MR_STR_FMT(path));
    mr_error_detail(j->err, "the target refused to add it: %s", why_z);
    set_field(j);
    mr_error_hint(j->err, "remove what stands in the way, start Millrace again, and run `millrace dead-letters replay`");
}

void mr_tk_tell_long_path(struct mr_tk_judge *j)
{
    (void)mr_fail_data(j->err, MR_CODE_TOO_LARGE, "%.*s: a field's path of %zu bytes is longer than %d",
                       MR_STR_FMT(j->tk->label), j->field->path.len, MR_MAX_PATH);
    set_field(j);
    mr_error_hint(j->err, "set unwrap.flatten.struct: false to keep nested documents in one column");
}

void mr_tk_tell_place(struct mr_tk_judge *j)
{
    mr_error_prefix(j->err, "%.*s [%d] at %lld: ", MR_STR_FMT(j->tk->place.topic), (int)j->tk->place.partition,
                    (long long)j->tk->place.offset);
}
