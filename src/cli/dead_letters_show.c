/* dead-letters list and show. Texts of messages are made safe for a terminal; bytes that are no text are shown as base64. */
#include "dead_letters.h"

#include <jansson.h>

#include <millrace/base/encode.h>
#include <millrace/base/utf8.h>

#define LIST_LIMIT 100

/* ---- Parts of a letter ---- */

static bool is_from_file(const struct mr_dead_letter *letter)
{
    return mr_str_starts(letter->part_topic, MR_STR("file:")) || mr_str_starts(letter->part_topic, MR_STR("stdin:"));
}

/* "shop.orders[0]@17", or the file and line where the message names no place of its own. */
static void append_place(struct mr_buf *out, const struct mr_dead_letter *letter)
{
    if (letter->topic.len == 0 || (letter->is_bare && is_from_file(letter))) {
        mr_text_append_safe(out, mr_cli_shown_topic(letter->part_topic), false);
        mr_buf_printf(out, " line %lld", (long long)letter->position);
        return;
    }
    mr_text_append_safe(out, letter->topic, false);
    if (letter->partition >= 0)
        mr_buf_printf(out, "[%d]", (int)letter->partition);
    if (letter->offset >= 0)
        mr_buf_printf(out, "@%lld", (long long)letter->offset);
}

static bool is_text(struct mr_str bytes)
{
    return mr_utf8_check(bytes) == 0;
}

static void append_bytes(struct mr_buf *out, const char *label_z, bool has, struct mr_str bytes, size_t indent)
{
    for (size_t i = 0; i < indent; i++)
        mr_buf_append_char(out, ' ');
    if (!has) {
        mr_buf_printf(out, "%s: none\n", label_z);
        return;
    }
    mr_buf_printf(out, "%s (%zu bytes%s)\n", label_z, bytes.len, is_text(bytes) ? "" : ", base64");
    if (is_text(bytes)) {
        mr_text_append_block(out, bytes, indent + 2);
        return;
    }
    for (size_t i = 0; i < indent + 2; i++)
        mr_buf_append_char(out, ' ');
    mr_base64_append(out, bytes);
    mr_buf_append_char(out, '\n');
}

static void json_bytes(struct mr_jo *js, const char *name_z, bool has, struct mr_str bytes)
{
    struct mr_buf name = MR_BUF_INIT(64), text = MR_BUF_INIT(1u << 30);
    if (!has) {
        mr_jo_null(js, name_z);
    } else if (is_text(bytes)) {
        mr_jo_str(js, name_z, bytes);
    } else {
        mr_buf_printf(&name, "%s_base64", name_z);
        mr_base64_append(&text, bytes);
        mr_jo_str(js, mr_buf_z(&name), mr_buf_str(&text));
    }
    mr_buf_free(&name);
    mr_buf_free(&text);
}

static const char *state_name(const struct mr_dead_letter *letter)
{
    return letter->state == MR_DEAD_REPLAYED ? "replayed" : "open";
}

static void json_letter(struct mr_jo *js, const struct mr_dead_letter *letter, bool with_bytes)
{
    mr_jo_object(js, NULL);
    mr_jo_int(js, "id", letter->id);
    mr_jo_z(js, "state", state_name(letter));
    mr_jo_time(js, "recorded", letter->at_us);
    mr_jo_str(js, "pipeline", letter->pipeline);
    mr_jo_str(js, "position_topic", letter->part_topic);
    mr_jo_int(js, "position", letter->position);
    mr_jo_str(js, "topic", letter->topic);
    mr_jo_int(js, "partition", letter->partition);
    mr_jo_int(js, "offset", letter->offset);
    if (letter->timestamp_ms < 0)
        mr_jo_null(js, "timestamp_ms");
    else
        mr_jo_int(js, "timestamp_ms", letter->timestamp_ms);
    mr_jo_bool(js, "is_bare", letter->is_bare);
    mr_jo_str(js, "code", letter->code);
    mr_jo_str(js, "native_code", letter->native);
    mr_jo_str(js, "field", letter->field);
    mr_jo_str(js, "message", letter->message);
    mr_jo_str(js, "target_schema", letter->target_schema);
    mr_jo_str(js, "target_table", letter->target_table);
    if (letter->rows.len > 0)
        mr_jo_raw(js, "rows", letter->rows);
    else
        mr_jo_null(js, "rows");
    if (with_bytes) {
        mr_jo_raw(js, "headers", letter->headers.len > 0 ? letter->headers : MR_STR("[]"));
        json_bytes(js, "key", letter->has_key, letter->key);
        json_bytes(js, "value", letter->has_value, letter->value);
    }
    mr_jo_end_object(js);
}

/* ---- list ---- */

struct listing {
    struct mr_dead_cmd *cmd;
    struct mr_grid *grid;
    struct mr_buf scratch;
    int64_t limit, count;
    bool more, with_values;
};

static void list_row(struct listing *ls, const struct mr_dead_letter *letter)
{
    mr_grid_add_int(ls->grid, letter->id);
    mr_grid_add_time(ls->grid, letter->at_us);
    mr_grid_add_z(ls->grid, letter->state == MR_DEAD_OPEN ? "" : state_name(letter));
    mr_grid_add(ls->grid, mr_str_eq_z(letter->pipeline, ls->cmd->cli->cfg->pipeline) ? MR_STR("") : letter->pipeline);
    mr_buf_clear(&ls->scratch);
    append_place(&ls->scratch, letter);
    mr_grid_add(ls->grid, mr_buf_str(&ls->scratch));
    mr_grid_add(ls->grid, mr_cli_table_name(letter->target_schema, letter->target_table, ls->cmd->ar));
    mr_grid_add(ls->grid, letter->code);
    mr_grid_add(ls->grid, letter->message);
}

/* With values each letter is a block: lines that long make no columns. */
static void list_block(struct listing *ls, const struct mr_dead_letter *letter)
{
    struct mr_buf *out = &ls->cmd->out;
    mr_buf_printf(out, "%lld  ", (long long)letter->id);
    append_place(out, letter);
    mr_buf_printf(out, "  %.*s%s\n  ", MR_STR_FMT(letter->code), letter->state == MR_DEAD_OPEN ? "" : "  (replayed)");
    mr_text_append_safe(out, letter->message, false);
    mr_buf_append_char(out, '\n');
    append_bytes(out, "key", letter->has_key, letter->key, 2);
    append_bytes(out, "value", letter->has_value, letter->value, 2);
    mr_buf_append_char(out, '\n');
}

static enum mr_status on_listed(void *ctx, const struct mr_dead_letter *letter, struct mr_error *err)
{
    struct listing *ls = ctx;
    if (ls->limit > 0 && ls->count == ls->limit) {
        ls->more = true;
        return MR_OK;
    }
    ls->count++;
    if (ls->cmd->json)
        json_letter(&ls->cmd->js, letter, ls->with_values);
    else if (ls->with_values)
        list_block(ls, letter);
    else
        list_row(ls, letter);
    if (!mr_dead_flush(ls->cmd))
        return mr_fail(err, MR_E_STOPPED, "the output is closed");
    return mr_buf_check(&ls->cmd->out, "the output", err);
}

static void end_list(struct listing *ls)
{
    struct mr_buf *out = &ls->cmd->out;
    if (!mr_grid_is_empty(ls->grid))
        mr_grid_print(ls->grid, 0, out);
    if (ls->count == 0)
        mr_buf_append_z(out, ls->cmd->has_filter ? "No dead letter matches.\n" : "There are no dead letters.\n");
    else if (ls->more)
        mr_buf_printf(out, "There are more than these %lld: --limit 0 shows all.\n", (long long)ls->limit);
}

int mr_dead_list(struct mr_dead_cmd *cmd)
{
    struct listing ls = {
        .cmd = cmd,
        .scratch = MR_BUF_INIT(1u << 20),
        .limit = mr_cli_number(cmd->cli, "--limit", LIST_LIMIT),
        .with_values = mr_cli_has(cmd->cli, "--with-values"),
    };
    struct mr_dead_filter filter = cmd->filter;
    struct mr_error err = {0};
    enum mr_status status = MR_OK;
    filter.limit = ls.limit > 0 && ls.limit < INT64_MAX ? ls.limit + 1 : 0; /* one more tells whether there are more */
    ls.grid = mr_grid_create(">id|recorded (UTC)|state|pipeline|message|table|reason|explanation");
    if (cmd->json)
        mr_jo_list(&cmd->js, NULL);
    if (cmd->target.has_control)
        status = mr_control_dead_letters(cmd->target.sink, &filter, ls.with_values, on_listed, &ls, &err);
    if (cmd->json)
        mr_jo_end_list(&cmd->js);
    else if (!cmd->target.has_control)
        mr_cli_target_append_empty(cmd->cli->cfg, &cmd->out);
    else
        end_list(&ls);
    mr_grid_destroy(ls.grid);
    mr_buf_free(&ls.scratch);
    return status == MR_OK ? mr_cli_print(&cmd->out) : mr_cli_target_fail(&err);
}

/* ---- show ---- */

static void show_line(struct mr_buf *out, const char *label_z, struct mr_str text)
{
    if (text.len == 0)
        return;
    mr_buf_printf(out, "  %-10s ", label_z);
    mr_text_append_safe(out, text, false);
    mr_buf_append_char(out, '\n');
}

static void show_place(struct mr_dead_cmd *cmd, const struct mr_dead_letter *letter)
{
    struct mr_buf text = MR_BUF_INIT(1u << 20);
    append_place(&text, letter);
    if (letter->timestamp_ms >= 0) {
        mr_buf_append_z(&text, ", of ");
        mr_text_append_time(&text, letter->timestamp_ms * 1000);
    }
    if (letter->is_bare)
        mr_buf_append_z(&text, ", a bare event");
    show_line(&cmd->out, "message", mr_buf_str(&text));
    mr_buf_clear(&text);
    mr_buf_printf(&text, "%.*s, %s %lld", MR_STR_FMT(mr_cli_shown_topic(letter->part_topic)),
                  is_from_file(letter) ? "line" : "up to position", (long long)letter->position);
    show_line(&cmd->out, "read from", mr_buf_str(&text));
    mr_buf_free(&text);
}

/* One header a line; a value that is no text stays base64. `headers` is [["name", "base64"], ["name", null], …]. */
static void show_headers(struct mr_dead_cmd *cmd, struct mr_str headers)
{
    json_t *list = json_loadb(headers.ptr != NULL ? headers.ptr : "", headers.len, JSON_ALLOW_NUL, NULL);
    struct mr_buf line = MR_BUF_INIT(64u << 20);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *name = json_array_get(json_array_get(list, i), 0), *value = json_array_get(json_array_get(list, i), 1);
        struct mr_str bytes;
        if (!json_is_string(name))
            continue;
        mr_buf_clear(&line);
        mr_buf_append(&line, json_string_value(name), json_string_length(name));
        if (json_is_string(value)) {
            struct mr_str text = mr_str_of(json_string_value(value), json_string_length(value));
            bool is_shown = mr_base64_decode(text, cmd->ar, &bytes) && is_text(bytes);
            mr_buf_append_z(&line, is_shown ? " = " : " = base64 ");
            mr_buf_append_str(&line, is_shown ? bytes : text);
        }
        show_line(&cmd->out, i == 0 ? "headers" : "", mr_buf_str(&line));
    }
    mr_buf_free(&line);
    json_decref(list);
}

static enum mr_status on_shown(void *ctx, const struct mr_dead_letter *letter, struct mr_error *err)
{
    struct mr_dead_cmd *cmd = ctx;
    struct mr_buf *out = &cmd->out;
    (void)err;
    if (cmd->json) {
        json_letter(&cmd->js, letter, true);
        return MR_OK;
    }
    struct mr_buf time = MR_BUF_INIT(64);
    mr_text_append_time(&time, letter->at_us);
    mr_buf_printf(out, "Dead letter %lld (%s)\n", (long long)letter->id, state_name(letter));
    show_line(out, "recorded", mr_buf_str(&time));
    mr_buf_free(&time);
    show_line(out, "pipeline", letter->pipeline);
    show_place(cmd, letter);
    show_line(out, "table", mr_cli_table_name(letter->target_schema, letter->target_table, cmd->ar));
    show_line(out, "reason", letter->code);
    show_line(out, "", letter->message);
    show_line(out, "field", letter->field);
    show_line(out, "native", letter->native);
    show_line(out, "rows", letter->rows);
    show_headers(cmd, letter->headers);
    append_bytes(out, "key", letter->has_key, letter->key, 2);
    append_bytes(out, "value", letter->has_value, letter->value, 2);
    const char *advice_z = mr_dead_advice(letter->code);
    if (*advice_z)
        mr_buf_printf(out, "  what to do\n    %s\n", advice_z);
    if (letter->state == MR_DEAD_OPEN && !mr_str_eq_z(letter->code, MR_CODE_BAD_LINE)) {
        mr_buf_printf(out, "    Then: millrace dead-letters replay %lld", (long long)letter->id);
        mr_cli_target_append_flags(cmd->cli, out);
        mr_buf_append_char(out, '\n');
    }
    return mr_buf_check(out, "the output", err);
}

int mr_dead_show(struct mr_dead_cmd *cmd)
{
    struct mr_dead_filter filter = {.id = cmd->ids[0], .with_replayed = true};
    struct mr_error err = {0};
    if (cmd->target.has_control &&
        mr_control_dead_letters(cmd->target.sink, &filter, true, on_shown, cmd, &err) != MR_OK)
        return mr_cli_target_fail(&err);
    if (cmd->out.len > 0)
        return mr_cli_print(&cmd->out);
    (void)mr_fail(&err, MR_E_CONFIG, "there is no dead letter %lld", (long long)filter.id);
    mr_error_hint(&err, "millrace dead-letters list --all shows which there are");
    mr_cli_fail(&err);
    return MR_EXIT_FAILURE;
}

/* ---- advice ---- */

static const struct {
    const char *code_z, *advice_z;
} advices[] = {
    {MR_CODE_BAD_JSON, "The message is not JSON, or is beyond the limits (limits.*). If it is another format, set `format`."},
    {MR_CODE_BAD_LINE, "The line is no record. Correct the line in a file of its own and load that; a replay would read the same line."},
    {MR_CODE_BAD_VALUE, "The value contradicts the type that the schema declares. Declare another with types.columns, or set the policy null."},
    {MR_CODE_BAD_IMAGE, "The parts of the event do not fit together; look at the producer."},
    {MR_CODE_TYPE_CONFLICT,
     "Give the field another policy (types.policies: text, json, variant or null), or declare its type (types.columns)."},
    {MR_CODE_OUT_OF_RANGE, "The target's type cannot hold the value. Declare a wider one with types.columns, or set the policy null."},
    {MR_CODE_TEXT_INVALID, "Set text.invalid to strip or replace."},
    {MR_CODE_NO_KEY, "Give the topic a key at the producer, or name the key: tables.NAME.primary_key."},
    {MR_CODE_NULL_KEY, "A key column is null. Name another key (tables.NAME.primary_key), or correct the event at its source."},
    {MR_CODE_NO_TABLE, "Nothing names the table. Replay it with --set source.file.topic=NAME if it came from a file, else with --set target.table=NAME."},
    {MR_CODE_UNKNOWN_FORMAT, "Name the format of the topic: format."},
    {MR_CODE_AMBIGUOUS, "The message looks like another format than its topic has; name the right one: format."},
    {MR_CODE_UNSUPPORTED, "This version of Millrace does not read it."},
    {MR_CODE_TOO_LARGE, "Raise the limit that the explanation names."},
    {MR_CODE_BAD_MAGIC, "It was not written with a schema registry. Name its format: format, or topics for this topic."},
    {MR_CODE_UNKNOWN_SCHEMA, "Is registry.url the registry that the producer writes with? Replay it when the registry knows the schema."},
    {MR_CODE_SCHEMA_TYPE, "The schema is of another kind than the format says: format: auto takes each as it is."},
    {MR_CODE_UNSUPPORTED_SCHEMA, "The explanation says what is not supported."},
    {MR_CODE_BAD_SCHEMA, "The schema makes no sense; look at it in the registry."},
    {MR_CODE_TRAILING, "Java's Avro deserializer ignores such bytes; avro.fail.on.trailing.data: false does, too."},
    {MR_CODE_NULL_KEY_COLUMN, "A key column is null. Name another key (tables.NAME.primary_key), or correct the event at its source."},
    {MR_CODE_KEY_CONFLICT, "Say which side wins (key.value.conflict), or set the key's format to none and name the key: tables.NAME.primary_key."},
    {MR_CODE_KEY_SCHEMA, "Say which columns the keys have (key.columns), or name the table's key: tables.NAME.primary_key."},
    {MR_CODE_BAD_LENGTH, "The key's column has another type than is declared (key.columns)."},
    {MR_CODE_COLUMN_COUNT, "Declare as many columns as the producer writes (key.columns, value.columns)."},
    {MR_CODE_CONSTRAINT, "A constraint of the target refuses the row. Change the constraint, or bring in what the row refers to."},
    {MR_CODE_REFUSED, "The target, or target.evolve, refuses it; the explanation says what to change."},
};

const char *mr_dead_advice(struct mr_str code)
{
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
        if (mr_str_eq_z(code, advices[i].code_z))
            return advices[i].advice_z;
    return "";
}
