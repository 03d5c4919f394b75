/* Running data statements: see rows.h. */
#include "rows.h"

#include <millrace/base/mem.h>

#include "bind.h"

#define MAX_KEPT 256        /* prepared statements of a shape; partial updates could otherwise make one per set of columns for ever */
#define MAX_ROWS 256        /* of a statement with many rows: a power of two */
#define MAX_PARAMS 65535    /* of a statement; the protocol's limit */
#define PACKET_MARGIN 16384 /* statement, types, headers */
#define ROW_MARGIN 16       /* lengths and indicators of a value */

struct mr_my_row_stmt {
    MYSQL_STMT *stmt; /* NULL: nothing to do for such rows */
    struct mr_my_param *params;
    size_t param_count; /* of one row */
};

void mr_my_row_stmt_free(void *ptr)
{
    struct mr_my_row_stmt *st = ptr;
    if (st->stmt)
        mysql_stmt_close(st->stmt);
    mr_xfree(st->params);
    mr_xfree(st);
}

/* ---- Prepared statements ---- */

static void append_mask(struct mr_buf *key, const struct mr_value *cells, size_t count)
{
    for (size_t i = 0; cells && i < count; i++)
        mr_buf_append_char(key, mr_my_is_set(cells[i]) ? '1' : '0');
}

static bool depends_on_cells(enum mr_my_stmt_kind kind)
{
    return kind == MR_MY_UPSERT || kind == MR_MY_UPDATE || kind == MR_MY_UPDATE_MATCH || kind == MR_MY_VACATE ||
           kind == MR_MY_DELETE_RANGE || kind == MR_MY_MOVE_ALL || kind == MR_MY_READ;
}

static bool depends_on_match(enum mr_my_stmt_kind kind)
{
    return kind == MR_MY_UPDATE_MATCH || kind == MR_MY_DELETE_MATCH || kind == MR_MY_MOVE_ALL;
}

static enum mr_status prepare(struct mr_my_run *run, const struct mr_my_spec *spec, struct mr_my_row_stmt *st, struct mr_error *err)
{
    struct mr_my *my = run->my;

    st->params = mr_xcalloc(3 * run->shape->column_count + 1, sizeof(*st->params));
    mr_buf_clear(&my->sql);
    if (!mr_my_statement(spec, &my->sql, st->params, &st->param_count))
        return MR_OK;
    MR_TRY(mr_buf_check(&my->sql, "a statement", err));
    st->stmt = mysql_stmt_init(my->conn);
    if (!st->stmt)
        return mr_my_fail(my, "cannot apply rows", err);
    return mr_my_prepare(my, st->stmt, mr_buf_str(&my->sql)) ? MR_OK : mr_my_fail_stmt(my, st->stmt, "cannot apply rows", err);
}

static enum mr_status statement_of(struct mr_my_run *run, enum mr_my_stmt_kind kind, const struct mr_row *row, size_t rows,
                                   struct mr_my_row_stmt **out, struct mr_error *err)
{
    struct mr_my_shape *shape = run->shape;
    struct mr_my_spec spec = {shape, &run->my->server, kind, row->cells, row->match, rows};
    struct mr_buf key = MR_BUF_INIT(1u << 20);

    mr_buf_printf(&key, "%d,%zu,", (int)kind, rows);
    append_mask(&key, depends_on_cells(kind) ? row->cells : NULL, shape->column_count);
    mr_buf_append_char(&key, ',');
    append_mask(&key, depends_on_match(kind) ? row->match : NULL, shape->column_count);
    *out = mr_map_get(shape->statements, mr_buf_str(&key));
    enum mr_status status = MR_OK;
    if (!*out) {
        if (mr_map_count(shape->statements) >= MAX_KEPT)
            mr_map_clear(shape->statements, mr_my_row_stmt_free);
        struct mr_my_row_stmt *st = mr_xcalloc(1, sizeof(*st));
        status = prepare(run, &spec, st, err);
        if (status == MR_OK)
            mr_map_put(shape->statements, mr_buf_str(&key), *out = st);
        else
            mr_my_row_stmt_free(st);
    }
    mr_buf_free(&key);
    return status;
}

/* ---- Values ---- */

static enum mr_status bound_of(struct mr_my_run *run, const struct mr_my_param *param, uint32_t row, struct mr_my_bound *out,
                               struct mr_error *err)
{
    const struct mr_row *r = &run->batch->rows[row];
    struct mr_value v = param->from_match ? r->match[param->column] : r->cells[param->column];
    enum mr_status status = mr_my_bind(run->my, &run->shape->columns[param->column], &run->batch->tbl->columns[param->column], v,
                                       run->my->values, out, err);
    if (status != MR_OK && err)
        err->row = row;
    return status;
}

static enum enum_field_types field_type(enum mr_my_store store)
{
    switch (store) {
    case MR_MY_STORE_INT:
    case MR_MY_STORE_BITS:
        return MYSQL_TYPE_LONGLONG;
    case MR_MY_STORE_DOUBLE:
        return MYSQL_TYPE_DOUBLE;
    case MR_MY_STORE_DECIMAL:
        return MYSQL_TYPE_NEWDECIMAL;
    case MR_MY_STORE_TEXT:
    case MR_MY_STORE_JSON:
        return MYSQL_TYPE_STRING;
    case MR_MY_STORE_BYTES:
        return MYSQL_TYPE_BLOB;
    }
    return MYSQL_TYPE_STRING;
}

/* One value as a parameter of its own; `bound` must outlive the execution. */
static void bind_one(const struct mr_my_column *to, struct mr_my_bound *bound, MYSQL_BIND *bind)
{
    *bind = (MYSQL_BIND){.buffer_type = bound->is_null ? MYSQL_TYPE_NULL : field_type(to->store)};
    if (bound->is_null)
        return;
    if (bind->buffer_type == MYSQL_TYPE_LONGLONG) {
        bind->buffer = &bound->number;
        bind->is_unsigned = to->store == MR_MY_STORE_BITS;
    } else if (bind->buffer_type == MYSQL_TYPE_DOUBLE) {
        bind->buffer = &bound->real;
    } else {
        bind->buffer = (void *)(uintptr_t)(bound->text.len ? bound->text.ptr : "");
        bind->buffer_length = bound->text.len;
        bind->length_value = bound->text.len;
        bind->length = &bind->length_value;
    }
}

static enum mr_status too_large(struct mr_my_run *run, uint32_t row, struct mr_error *err)
{
    enum mr_status status = mr_fail_data(err, MR_CODE_TOO_LARGE, "the row does not fit max_allowed_packet, which is %llu bytes",
                                         (unsigned long long)run->my->max_packet);
    mr_error_hint(err, "raise max_allowed_packet on the server");
    if (err)
        err->row = row;
    return status;
}

static uint64_t packet_room(const struct mr_my_run *run)
{
    uint64_t max = run->my->max_packet;
    return max > 2 * PACKET_MARGIN ? max - PACKET_MARGIN : max / 2;
}

/* Execute with `count` rows bound one after another; *done rows of `rows` fit. */
static enum mr_status execute(struct mr_my_run *run, struct mr_my_row_stmt *st, const char *what, struct mr_error *err)
{
    return mysql_stmt_execute(st->stmt) == 0 ? MR_OK : mr_my_fail_stmt(run->my, st->stmt, what, err);
}

/* The parameters of rows [0, count), and their bytes. */
static enum mr_status bind_rows(struct mr_my_run *run, struct mr_my_row_stmt *st, const uint32_t *rows, size_t count, MYSQL_BIND **out,
                                uint64_t *bytes, struct mr_error *err)
{
    size_t total = count * st->param_count;
    struct mr_arena *ar = run->my->values;
    struct mr_my_bound *bound = mr_arena_alloc(ar, (total + 1) * sizeof(*bound));
    MYSQL_BIND *bind = mr_arena_alloc(ar, (total + 1) * sizeof(*bind));

    *bytes = 0;
    for (size_t i = 0; i < total; i++) {
        const struct mr_my_param *param = &st->params[i % st->param_count];
        MR_TRY(bound_of(run, param, rows[i / st->param_count], &bound[i], err));
        bind_one(&run->shape->columns[param->column], &bound[i], &bind[i]);
        *bytes += bound[i].text.len + ROW_MARGIN;
    }
    *out = bind;
    return MR_OK;
}

enum mr_status mr_my_run_row(struct mr_my_run *run, enum mr_my_stmt_kind kind, uint32_t row, uint64_t *affected, struct mr_error *err)
{
    struct mr_my_row_stmt *st = NULL;
    MYSQL_BIND *bind = NULL;
    uint64_t bytes = 0;

    if (affected)
        *affected = 0;
    MR_TRY(statement_of(run, kind, &run->batch->rows[row], 1, &st, err));
    if (!st->stmt)
        return MR_OK;
    mr_arena_reset(run->my->values);
    MR_TRY(bind_rows(run, st, &row, 1, &bind, &bytes, err));
    if (bytes > packet_room(run))
        return too_large(run, row, err);
    enum mr_status status = MR_OK;
    if (st->param_count > 0 && mysql_stmt_bind_param(st->stmt, bind) != 0)
        status = mr_my_fail_stmt(run->my, st->stmt, "cannot apply rows", err);
    if (status == MR_OK)
        status = execute(run, st, "cannot apply a row", err);
    if (status == MR_OK && kind == MR_MY_LOOK && mysql_stmt_store_result(st->stmt) != 0) {
        status = mr_my_fail_stmt(run->my, st->stmt, "cannot apply a row", err);
        mr_my_break(run->my);
    }
    if (status == MR_OK && affected)
        *affected = kind == MR_MY_LOOK ? mysql_stmt_num_rows(st->stmt) : mysql_stmt_affected_rows(st->stmt);
    if (kind == MR_MY_LOOK)
        mysql_stmt_free_result(st->stmt);
    if (status != MR_OK && err)
        err->row = row;
    return status;
}

/* ---- Reading ---- */

/* The values of the row fetched last, which come by pieces: how long they are is known only then. */
static enum mr_status fetch_values(struct mr_my_run *run, MYSQL_STMT *stmt, MYSQL_BIND *sizes, unsigned count, struct mr_arena *ar,
                                   struct mr_str *values, struct mr_error *err)
{
    for (unsigned i = 0; i < count; i++) {
        if (*sizes[i].is_null)
            continue;
        unsigned long length = *sizes[i].length;
        char *text = mr_arena_alloc(ar, length + 1);
        my_bool is_null = 0, is_cut = 0;
        MYSQL_BIND bind = {
            .buffer_type = MYSQL_TYPE_STRING, .buffer = text, .buffer_length = length, .length = &length, .is_null = &is_null, .error = &is_cut};
        if (length > 0 && mysql_stmt_fetch_column(stmt, &bind, i, 0) != 0)
            return mr_my_fail_stmt(run->my, stmt, "cannot read a row", err);
        values[i] = mr_str_of(text, length);
    }
    return MR_OK;
}

static enum mr_status fetch_row(struct mr_my_run *run, MYSQL_STMT *stmt, unsigned count, struct mr_arena *ar, struct mr_str *values, bool *found,
                                struct mr_error *err)
{
    MYSQL_BIND *sizes = mr_arena_zalloc(ar, (count + 1) * sizeof(*sizes));
    unsigned long *lengths = mr_arena_zalloc(ar, (count + 1) * sizeof(*lengths));
    my_bool *nulls = mr_arena_zalloc(ar, (2 * count + 1) * sizeof(*nulls));

    for (unsigned i = 0; i < count; i++)
        sizes[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING, .length = &lengths[i], .is_null = &nulls[i], .error = &nulls[count + i]};
    if (mysql_stmt_bind_result(stmt, sizes) != 0 || mysql_stmt_store_result(stmt) != 0)
        return mr_my_fail_stmt(run->my, stmt, "cannot read a row", err);
    int rc = mysql_stmt_fetch(stmt);
    *found = rc == 0 || rc == MYSQL_DATA_TRUNCATED;
    if (rc == MYSQL_NO_DATA)
        return MR_OK;
    return *found ? fetch_values(run, stmt, sizes, count, ar, values, err) : mr_my_fail_stmt(run->my, stmt, "cannot read a row", err);
}

enum mr_status mr_my_run_read(struct mr_my_run *run, unsigned count, struct mr_arena *ar, struct mr_str *values, bool *found,
                              struct mr_error *err)
{
    struct mr_my_row_stmt *st = NULL;
    MYSQL_BIND *bind = NULL;
    uint64_t bytes = 0;
    uint32_t row = 0;

    MR_TRY(statement_of(run, MR_MY_READ, &run->batch->rows[0], 1, &st, err));
    mr_arena_reset(run->my->values);
    MR_TRY(bind_rows(run, st, &row, 1, &bind, &bytes, err));
    if (st->param_count > 0 && mysql_stmt_bind_param(st->stmt, bind) != 0)
        return mr_my_fail_stmt(run->my, st->stmt, "cannot read a row", err);
    enum mr_status status = execute(run, st, "cannot read a row", err);
    if (status == MR_OK)
        status = fetch_row(run, st->stmt, count, ar, values, found, err);
    mysql_stmt_free_result(st->stmt);
    return status;
}

/* ---- Statements of many rows ---- */

static size_t largest_power(size_t limit)
{
    size_t power = 1;
    while (power * 2 <= limit)
        power *= 2;
    return power;
}

/* Powers of two, so that a handful of prepared statements serves every number of rows. */
static enum mr_status run_multi(struct mr_my_run *run, enum mr_my_stmt_kind kind, const uint32_t *rows, size_t count, struct mr_error *err)
{
    size_t per_row = kind == MR_MY_DELETE ? run->shape->key_count : run->shape->column_count;
    size_t limit = MAX_PARAMS / (per_row ? per_row : 1), cap = limit < MAX_ROWS ? limit : MAX_ROWS;

    while (count > 0) {
        struct mr_my_row_stmt *st = NULL;
        MYSQL_BIND *bind = NULL;
        uint64_t bytes = 0;
        size_t take = largest_power(count < cap ? count : (cap ? cap : 1));
        MR_TRY(statement_of(run, kind, &run->batch->rows[rows[0]], take, &st, err));
        mr_arena_reset(run->my->values);
        MR_TRY(bind_rows(run, st, rows, take, &bind, &bytes, err));
        if (bytes > packet_room(run)) {
            if (take == 1)
                return too_large(run, rows[0], err);
            cap = take / 2;
            continue;
        }
        if (mysql_stmt_bind_param(st->stmt, bind) != 0)
            return mr_my_fail_stmt(run->my, st->stmt, "cannot apply rows", err);
        MR_TRY(execute(run, st, "cannot apply rows", err));
        rows += take;
        count -= take;
    }
    return MR_OK;
}

/* ---- Arrays ---- */

/* One parameter over all rows of an execution. */
struct array {
    char *indicator;
    long long *number;
    double *real;
    char **text;
    unsigned long *length;
};

static struct array make_array(struct mr_arena *ar, enum enum_field_types type, size_t count)
{
    struct array a = {.indicator = mr_arena_zalloc(ar, count)};

    if (type == MYSQL_TYPE_LONGLONG) {
        a.number = mr_arena_zalloc(ar, count * sizeof(*a.number));
    } else if (type == MYSQL_TYPE_DOUBLE) {
        a.real = mr_arena_zalloc(ar, count * sizeof(*a.real));
    } else {
        a.text = mr_arena_zalloc(ar, count * sizeof(char *));
        a.length = mr_arena_zalloc(ar, count * sizeof(*a.length));
    }
    return a;
}

static void put_in_array(struct array *a, size_t i, const struct mr_my_bound *bound)
{
    a->indicator[i] = bound->is_null ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE;
    if (a->number) {
        a->number[i] = bound->number;
    } else if (a->real) {
        a->real[i] = bound->real;
    } else {
        a->text[i] = (char *)(uintptr_t)(bound->text.len ? bound->text.ptr : "");
        a->length[i] = bound->text.len;
    }
}

static void bind_array(const struct array *a, enum enum_field_types type, bool is_unsigned, MYSQL_BIND *bind)
{
    *bind = (MYSQL_BIND){.buffer_type = type, .is_unsigned = is_unsigned, .length = a->length};
    bind->u.indicator = a->indicator;
    bind->buffer = a->number ? (void *)a->number : a->real ? (void *)a->real : (void *)a->text;
}

/* As many rows as fit a packet; *done counts them. */
static enum mr_status fill_arrays(struct mr_my_run *run, struct mr_my_row_stmt *st, struct array *arrays, const uint32_t *rows,
                                  size_t count, size_t *done, struct mr_error *err)
{
    uint64_t room = packet_room(run), bytes = 0;

    for (*done = 0; *done < count; ++*done) {
        uint64_t row_bytes = 0;
        for (size_t p = 0; p < st->param_count; p++) {
            struct mr_my_bound bound;
            MR_TRY(bound_of(run, &st->params[p], rows[*done], &bound, err));
            put_in_array(&arrays[p], *done, &bound);
            row_bytes += bound.text.len + ROW_MARGIN;
        }
        if (bytes + row_bytes > room)
            return *done > 0 ? MR_OK : too_large(run, rows[0], err);
        bytes += row_bytes;
    }
    return MR_OK;
}

static enum mr_status run_array(struct mr_my_run *run, struct mr_my_row_stmt *st, const uint32_t *rows, size_t count, size_t *done,
                                struct mr_error *err)
{
    struct mr_arena *ar = run->my->values;
    mr_arena_reset(ar);
    struct array *arrays = mr_arena_alloc(ar, (st->param_count + 1) * sizeof(*arrays));
    MYSQL_BIND *bind = mr_arena_alloc(ar, (st->param_count + 1) * sizeof(*bind));

    for (size_t p = 0; p < st->param_count; p++)
        arrays[p] = make_array(ar, field_type(run->shape->columns[st->params[p].column].store), count);
    MR_TRY(fill_arrays(run, st, arrays, rows, count, done, err));
    for (size_t p = 0; p < st->param_count; p++) {
        enum mr_my_store store = run->shape->columns[st->params[p].column].store;
        bind_array(&arrays[p], field_type(store), store == MR_MY_STORE_BITS, &bind[p]);
    }
    unsigned size = (unsigned)*done, none = 0;
    mysql_stmt_attr_set(st->stmt, STMT_ATTR_ARRAY_SIZE, &size);
    enum mr_status status = mysql_stmt_bind_param(st->stmt, bind) == 0 ? execute(run, st, "cannot apply rows", err) :
                                                                         mr_my_fail_stmt(run->my, st->stmt, "cannot apply rows", err);
    mysql_stmt_attr_set(st->stmt, STMT_ATTR_ARRAY_SIZE, &none);
    return status;
}

static enum mr_status run_arrays(struct mr_my_run *run, enum mr_my_stmt_kind kind, const uint32_t *rows, size_t count,
                                 struct mr_error *err)
{
    struct mr_my_row_stmt *st = NULL;

    MR_TRY(statement_of(run, kind, &run->batch->rows[rows[0]], 1, &st, err));
    while (st->stmt && count > 0) {
        size_t done = 0;
        MR_TRY(run_array(run, st, rows, count, &done, err));
        rows += done;
        count -= done;
    }
    return MR_OK;
}

enum mr_status mr_my_run_many(struct mr_my_run *run, enum mr_my_stmt_kind kind, const uint32_t *rows, size_t count, struct mr_error *err)
{
    bool is_multi = kind == MR_MY_INSERT || kind == MR_MY_UPSERT || kind == MR_MY_DELETE;

    if (count > 1 && run->my->can_bulk)
        return run_arrays(run, kind, rows, count, err);
    if (count > 1 && is_multi)
        return run_multi(run, kind, rows, count, err);
    for (size_t i = 0; i < count; i++)
        MR_TRY(mr_my_run_row(run, kind, rows[i], NULL, err));
    return MR_OK;
}
