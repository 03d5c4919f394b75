/* Dead letters: written with the rows of their batch, read for people and for replay. Keys and values keep their exact bytes: they travel
 * one after another in one bytes parameter, and the JSON of the letters says where each begins. */
#include "control_rows.h"

#include <millrace/base/time.h>

#define CHUNK_LETTERS 2000
#define LETTER_MARGIN (16u << 10) /* what a letter has beside its key, value, headers and rows */
#define MAX_BYTES (900u << 20)
#define PAGE_WITH_BYTES 32 /* letters read at a time when their bytes come along */

static const char *const state_names[] = {[MR_DEAD_OPEN] = "open", [MR_DEAD_REPLAYED] = "replayed"};

/* ---- Adding ---- */

static void add_bytes(struct mr_control_json *json, struct mr_buf *bytes, bool has, struct mr_str value, const char *at_z,
                      const char *length_z)
{
    if (!has) {
        mr_control_json_null(json, at_z);
        mr_control_json_null(json, length_z);
        return;
    }
    mr_control_json_int(json, at_z, (int64_t)bytes->len + 1);
    mr_control_json_int(json, length_z, (int64_t)value.len);
    mr_buf_append_str(bytes, value);
}

static void add_letter(struct mr_control_json *json, struct mr_buf *bytes, const struct mr_dead_letter *letter, size_t i)
{
    mr_control_json_object(json);
    mr_control_json_int(json, "i", (int64_t)i);
    mr_control_json_str(json, "pipeline", letter->pipeline);
    mr_control_json_str(json, "position_topic", letter->part_topic);
    mr_control_json_int(json, "position", letter->position);
    mr_control_json_str(json, "topic", letter->topic);
    mr_control_json_int(json, "partition", letter->partition);
    mr_control_json_int(json, "record_offset", letter->offset);
    mr_control_json_int(json, "record_timestamp_ms", letter->timestamp_ms);
    add_bytes(json, bytes, letter->has_key, letter->key, "key_at", "key_length");
    add_bytes(json, bytes, letter->has_value, letter->value, "value_at", "value_length");
    mr_control_json_bool(json, "is_bare", letter->is_bare);
    mr_control_json_str(json, "headers", letter->headers);
    mr_control_json_str(json, "code", letter->code);
    mr_control_json_str(json, "native_code", letter->native);
    mr_control_json_str(json, "message", letter->message);
    mr_control_json_str(json, "field", letter->field);
    mr_control_json_str(json, "target_schema", letter->target_schema);
    mr_control_json_str(json, "target_table", letter->target_table);
    mr_control_json_str(json, "failed_rows", letter->rows);
    mr_control_json_end_object(json);
}

static struct mr_str cut(struct mr_str text, uint64_t max)
{
    return text.len > max ? mr_str_of(text.ptr, (size_t)max) : text;
}

/* A letter that the target does not take as a whole must not hold up everything else: of its bytes it gets the first ones, and says so. What is cut
 * cannot be decoded, and so not be replayed as something else. */
static struct mr_dead_letter fitted(const struct mr_sink *sink, const struct mr_dead_letter *letter, struct mr_arena *ar)
{
    struct mr_dead_letter fit = *letter;
    uint64_t room = sink->ops->room != NULL ? sink->ops->room(sink) : UINT64_MAX;
    uint64_t bytes = (uint64_t)letter->key.len + letter->value.len, texts = (uint64_t)letter->headers.len + letter->rows.len;
    if (room == UINT64_MAX || bytes + 2 * texts + LETTER_MARGIN <= room)
        return fit;
    room = room > 2 * LETTER_MARGIN ? room - LETTER_MARGIN : room / 2;
    if (letter->headers.len > room / 8)
        fit.headers = MR_STR("[]");
    if (letter->rows.len > room / 8)
        fit.rows = MR_STR("");
    fit.key = cut(letter->key, room / 4);
    fit.value = cut(letter->value, room / 4);
    fit.message = mr_arena_printf(ar, "%.*s. Of its %llu bytes the first are kept here: the target takes no more at a time",
                                  MR_STR_FMT(letter->message), (unsigned long long)bytes);
    return fit;
}

/* As many letters as fit one round trip; *done counts them. */
static enum mr_status add_chunk(struct mr_sink *sink, const struct mr_dead_letter *letters, size_t count, size_t *done,
                                struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_buf bytes = MR_BUF_INIT(MAX_BYTES);
    struct mr_control_json json;
    mr_control_json_begin(&json, ar);
    size_t n = 0, room = mr_control_room(sink);
    while (n < count && n < CHUNK_LETTERS) {
        size_t more = letters[n].key.len + letters[n].value.len + letters[n].headers.len + letters[n].rows.len;
        if (n > 0 && bytes.len + json.buf.len + more > room)
            break;
        struct mr_dead_letter letter = fitted(sink, &letters[n], ar);
        add_letter(&json, &bytes, &letter, n);
        n++;
    }
    struct mr_value params[2] = {mr_value_null(), mr_value_bytes(MR_V_BYTES, bytes.len ? mr_buf_str(&bytes) : MR_STR(""))};
    enum mr_status status = mr_buf_check(&bytes, "a dead letter", err);
    if (status == MR_OK)
        status = mr_control_json_end(&json, &params[0], err);
    if (status == MR_OK)
        status = mr_control_run(sink, MR_Q_dead_letter_add, params, 2, NULL, err);
    *done = n;
    mr_control_json_free(&json);
    mr_buf_free(&bytes);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_dead_letters_add(struct mr_sink *sink, const struct mr_dead_letter *letters, size_t count,
                                           struct mr_error *err)
{
    while (count > 0) {
        size_t done = 0;
        MR_TRY(add_chunk(sink, letters, count, &done, err));
        letters += done;
        count -= done;
    }
    return MR_OK;
}

/* ---- Reading ---- */

#define FILTER_PARAMS 7

static void filter_params(const struct mr_dead_filter *filter, struct mr_arena *ar, struct mr_value *params)
{
    params[0] = mr_control_param(filter->pipeline, ar);
    params[1] = mr_control_param(filter->topic, ar);
    params[2] = mr_control_param(filter->code, ar);
    params[3] = mr_control_param(filter->table, ar);
    params[4] = mr_value_int(filter->id);
    params[5] = mr_value_bool(filter->with_replayed);
    params[6] = mr_value_null();
    if (filter->before_us == 0)
        return;
    char text[MR_TIME_TEXT];
    size_t len = mr_format_timestamp(filter->before_us, 'T', true, text);
    params[6] = mr_value_text(mr_arena_printf(ar, "%.*sZ", (int)len, text));
}

static void take_letter(const struct mr_value *cells, struct mr_dead_letter *out)
{
    *out = (struct mr_dead_letter){
        .id = mr_control_int(cells[0]),
        .at_us = mr_control_time_us(cells[1]),
        .state = mr_str_eq_z(mr_control_str(cells[2]), state_names[MR_DEAD_REPLAYED]) ? MR_DEAD_REPLAYED : MR_DEAD_OPEN,
        .pipeline = mr_control_str(cells[3]),
        .part_topic = mr_control_str(cells[4]),
        .position = mr_control_int(cells[5]),
        .topic = mr_control_str(cells[6]),
        .partition = (int32_t)mr_control_int(cells[7]),
        .offset = mr_control_int(cells[8]),
        .timestamp_ms = mr_control_int(cells[9]),
        .has_key = mr_control_bool(cells[10]),
        .has_value = mr_control_bool(cells[11]),
        .key = mr_control_str(cells[12]),
        .value = mr_control_str(cells[13]),
        .is_bare = mr_control_bool(cells[14]),
        .headers = mr_control_str(cells[15]),
        .code = mr_control_str(cells[16]),
        .native = mr_control_str(cells[17]),
        .message = mr_control_str(cells[18]),
        .field = mr_control_str(cells[19]),
        .target_schema = mr_control_str(cells[20]),
        .target_table = mr_control_str(cells[21]),
        .rows = mr_control_str(cells[22]),
    };
}

static enum mr_status give_letters(const struct mr_control_rows *rows, mr_dead_letter_fn fn, void *ctx, int64_t *last,
                                   struct mr_error *err)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct mr_dead_letter letter;
        take_letter(mr_control_row(rows, i), &letter);
        *last = letter.id;
        MR_TRY(fn(ctx, &letter, err));
    }
    return MR_OK;
}

/* Page by page, each closed before its letters are handed out: the callback may use the connection, and may mark letters. */
enum mr_status mr_control_dead_letters(struct mr_sink *sink, const struct mr_dead_filter *filter, bool with_bytes,
                                       mr_dead_letter_fn fn, void *ctx, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    int64_t page = with_bytes ? PAGE_WITH_BYTES : MR_CONTROL_PAGE, left = filter->limit > 0 ? filter->limit : INT64_MAX, last = 0;
    struct mr_value params[FILTER_PARAMS + 3];
    filter_params(filter, ar, params);
    params[FILTER_PARAMS + 2] = mr_value_bool(with_bytes);
    enum mr_status status = MR_OK;
    for (bool more = true; status == MR_OK && more && left > 0;) {
        int64_t want = left < page ? left : page;
        params[FILTER_PARAMS] = mr_value_int(last);
        params[FILTER_PARAMS + 1] = mr_value_int(want);
        struct mr_control_rows rows;
        status = mr_control_fetch(sink, MR_Q_dead_letter_list, params, FILTER_PARAMS + 3, 23, &rows, err);
        more = (int64_t)rows.count == want;
        left -= (int64_t)rows.count;
        if (status == MR_OK)
            status = give_letters(&rows, fn, ctx, &last, err);
        mr_control_free(&rows);
    }
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_dead_letter_count(struct mr_sink *sink, struct mr_str pipeline, int64_t *open, struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value param = mr_control_param(pipeline, ar);
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_dead_letter_count, &param, 1, 1, &rows, err);
    if (status == MR_OK)
        *open = rows.count == 1 ? mr_control_int(rows.cells[0]) : 0;
    mr_control_free(&rows);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_dead_letter_codes(struct mr_sink *sink, struct mr_str pipeline, mr_dead_code_fn fn, void *ctx,
                                            struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value param = mr_control_param(pipeline, ar);
    struct mr_control_rows rows;
    enum mr_status status = mr_control_fetch(sink, MR_Q_dead_letter_codes, &param, 1, 5, &rows, err);
    for (size_t i = 0; status == MR_OK && i < rows.count; i++) {
        const struct mr_value *cells = mr_control_row(&rows, i);
        struct mr_dead_code code = {
            .pipeline = mr_control_str(cells[0]),
            .code = mr_control_str(cells[1]),
            .count = mr_control_int(cells[2]),
            .first_us = mr_control_time_us(cells[3]),
            .last_us = mr_control_time_us(cells[4]),
        };
        status = fn(ctx, &code, err);
    }
    mr_control_free(&rows);
    mr_arena_destroy(ar);
    return status;
}

enum mr_status mr_control_dead_letter_mark(struct mr_sink *sink, int64_t id, enum mr_dead_state state, struct mr_error *err)
{
    struct mr_value params[2] = {mr_value_int(id), mr_value_text(mr_str_z(state_names[state]))};
    uint64_t affected = 0;
    MR_TRY(mr_control_run(sink, MR_Q_dead_letter_mark, params, 2, &affected, err));
    if (affected != 1)
        return mr_fail_data(err, MR_CODE_REFUSED, "dead letter %lld is gone, or is %s already", (long long)id, state_names[state]);
    return MR_OK;
}

enum mr_status mr_control_dead_letters_purge(struct mr_sink *sink, const struct mr_dead_filter *filter, uint64_t *removed,
                                             struct mr_error *err)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_value params[FILTER_PARAMS + 1];
    filter_params(filter, ar, params);
    params[FILTER_PARAMS] = filter->limit > 0 ? mr_value_int(filter->limit) : mr_value_null();
    uint64_t affected = 0;
    enum mr_status status = mr_control_run(sink, MR_Q_dead_letter_purge, params, FILTER_PARAMS + 1, &affected, err);
    if (status == MR_OK && removed)
        *removed = affected;
    mr_arena_destroy(ar);
    return status;
}
