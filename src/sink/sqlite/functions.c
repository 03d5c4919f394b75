/* SQL functions of our connection, for what SQLite cannot do without loss: they give a stored value in the forms of the value model.
 *
 *   millrace_text(x)         canonical text: shortest text of a double, digits of an integer, base64 of bytes, texts as they are
 *   millrace_decimal(x, s)   plain digits with at least s after the point
 *   millrace_number(x)       a number as a column with open digits stores it
 *   millrace_json(x)         the canonical text as a JSON string
 *   millrace_json_number(x)  a number as JSON; NaN and the infinities as strings
 *
 * NULL gives NULL. */
#include "internal.h"

#include <millrace/base/decimal.h>
#include <millrace/base/encode.h>

#define MAX_RESULT (1u << 30)

static struct mr_str text_of(sqlite3_value *x)
{
    const char *ptr = (const char *)sqlite3_value_text(x);
    return mr_str_of(ptr ? ptr : "", (size_t)sqlite3_value_bytes(x));
}

static struct mr_str blob_of(sqlite3_value *x)
{
    const char *ptr = sqlite3_value_blob(x);
    return mr_str_of(ptr ? ptr : "", (size_t)sqlite3_value_bytes(x));
}

static void append_canonical(sqlite3_value *x, struct mr_buf *out)
{
    char number[32];
    switch (sqlite3_value_type(x)) {
    case SQLITE_INTEGER:
        mr_buf_printf(out, "%lld", (long long)sqlite3_value_int64(x));
        return;
    case SQLITE_FLOAT:
        mr_buf_append(out, number, mr_double_text(sqlite3_value_double(x), number));
        return;
    case SQLITE_BLOB:
        mr_base64_append(out, blob_of(x));
        return;
    default:
        mr_buf_append_str(out, text_of(x));
        return;
    }
}

static void give_text(sqlite3_context *ctx, struct mr_buf *out)
{
    if (out->overflow)
        sqlite3_result_error_toobig(ctx);
    else
        sqlite3_result_text64(ctx, out->len ? out->data : "", out->len, SQLITE_TRANSIENT, SQLITE_UTF8);
    mr_buf_free(out);
}

static bool is_null(sqlite3_value *x)
{
    return sqlite3_value_type(x) == SQLITE_NULL;
}

static void to_text(sqlite3_context *ctx, int count, sqlite3_value **x)
{
    (void)count;
    if (is_null(x[0]))
        return;
    struct mr_buf out = MR_BUF_INIT(MAX_RESULT);
    append_canonical(x[0], &out);
    give_text(ctx, &out);
}

static void to_decimal(sqlite3_context *ctx, int count, sqlite3_value **x)
{
    (void)count;
    if (is_null(x[0]))
        return;
    struct mr_sqlite *s = sqlite3_user_data(ctx);
    struct mr_buf digits = MR_BUF_INIT(MAX_RESULT), out = MR_BUF_INIT(MAX_RESULT);
    append_canonical(x[0], &digits);
    mr_arena_reset(s->ar);
    mr_buf_append_str(&out, mr_sqlite_pad(mr_buf_str(&digits), sqlite3_value_int(x[1]), s->ar));
    mr_buf_free(&digits);
    give_text(ctx, &out);
}

static void to_number(sqlite3_context *ctx, int count, sqlite3_value **x)
{
    (void)count;
    if (is_null(x[0]))
        return;
    struct mr_sqlite *s = sqlite3_user_data(ctx);
    struct mr_buf digits = MR_BUF_INIT(MAX_RESULT);
    struct mr_decimal_info info;
    append_canonical(x[0], &digits);
    struct mr_str text = mr_buf_str(&digits);
    int64_t i = 0;
    double f = 0;
    if (!mr_decimal_parse(text, &info)) { /* a word, or something a person has put there */
        sqlite3_result_value(ctx, x[0]);
    } else {
        switch (mr_sqlite_number_form(text, &i, &f)) {
        case MR_SQLITE_AS_INT:
            sqlite3_result_int64(ctx, i);
            break;
        case MR_SQLITE_AS_REAL:
            sqlite3_result_double(ctx, f);
            break;
        case MR_SQLITE_AS_TEXT:
            mr_arena_reset(s->ar);
            text = mr_decimal_canonical(text, s->ar);
            sqlite3_result_text64(ctx, text.ptr, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
            break;
        }
    }
    mr_buf_free(&digits);
}

static void to_json(sqlite3_context *ctx, int count, sqlite3_value **x)
{
    (void)count;
    if (is_null(x[0]))
        return;
    struct mr_buf text = MR_BUF_INIT(MAX_RESULT), out = MR_BUF_INIT(MAX_RESULT);
    append_canonical(x[0], &text);
    mr_buf_append_json(&out, mr_buf_str(&text));
    mr_buf_free(&text);
    give_text(ctx, &out);
}

static void to_json_number(sqlite3_context *ctx, int count, sqlite3_value **x)
{
    (void)count;
    if (is_null(x[0]))
        return;
    struct mr_buf text = MR_BUF_INIT(MAX_RESULT), out = MR_BUF_INIT(MAX_RESULT);
    struct mr_decimal_info info;
    append_canonical(x[0], &text);
    if (mr_decimal_parse(mr_buf_str(&text), &info))
        mr_buf_append_str(&out, mr_buf_str(&text));
    else
        mr_buf_append_json(&out, mr_buf_str(&text));
    mr_buf_free(&text);
    give_text(ctx, &out);
}

enum mr_status mr_sqlite_add_functions(struct mr_sqlite *s, struct mr_error *err)
{
    static const struct {
        const char *name;
        int args;
        void (*fn)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"millrace_text", 1, to_text},     {"millrace_decimal", 2, to_decimal},         {"millrace_number", 1, to_number},
        {"millrace_json", 1, to_json}, {"millrace_json_number", 1, to_json_number},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        int rc = sqlite3_create_function_v2(s->db, functions[i].name, functions[i].args,
                                            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, s, functions[i].fn, NULL,
                                            NULL, NULL);
        if (rc != SQLITE_OK)
            return mr_sqlite_fail(s, err, "add the function %s", functions[i].name);
    }
    return MR_OK;
}
