/* Splitting the text of a named query: see query_text.h. One pass over the bytes; quoted parts are copied whole. */
#include "query_text.h"

#include <millrace/base/buf.h>

#define MAX_PARAMS 256
#define MAX_STATEMENTS 64

struct splitter {
    const char *at;
    struct mr_str control;
    const char *collation_z;
    struct mr_buf text; /* of the statement under construction */
    bool has_text;      /* something beside white space */
    uint16_t params[MAX_PARAMS];
    size_t param_count;
    struct mr_my_statement statements[MAX_STATEMENTS];
    size_t count;
    struct mr_arena *ar;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* {name}: true if there was one. */
static bool take_name(struct splitter *sp)
{
    const char *end = sp->at + 1;
    if (*sp->at != '{')
        return false;
    while (is_name(*end))
        end++;
    if (*end != '}' || end == sp->at + 1)
        return false;

    struct mr_str name = mr_str_of(sp->at + 1, (size_t)(end - sp->at - 1));
    if (mr_str_eq_z(name, "collation")) {
        mr_buf_append_z(&sp->text, sp->collation_z);
    } else {
        mr_buf_append_str(&sp->text, sp->control);
        if (!mr_str_eq_z(name, "control")) {
            mr_buf_append_z(&sp->text, ".`millrace_");
            mr_buf_append_str(&sp->text, name);
            mr_buf_append_char(&sp->text, '`');
        }
    }
    sp->at = end + 1;
    return true;
}

/* A literal or a quoted name up to its closing quote; a doubled quote is simply two such parts. */
static bool take_quoted(struct splitter *sp)
{
    char quote = *sp->at;
    mr_buf_append_char(&sp->text, *sp->at++);
    while (*sp->at && *sp->at != quote)
        mr_buf_append_char(&sp->text, *sp->at++);
    if (!*sp->at)
        return false;
    mr_buf_append_char(&sp->text, *sp->at++);
    return true;
}

static bool take_param(struct splitter *sp)
{
    unsigned number = 0;

    for (sp->at++; *sp->at >= '0' && *sp->at <= '9' && number < 10000; sp->at++)
        number = number * 10 + (unsigned)(*sp->at - '0');
    if (number == 0 || number > UINT16_MAX || sp->param_count == MAX_PARAMS)
        return false;
    sp->params[sp->param_count++] = (uint16_t)(number - 1);
    mr_buf_append_char(&sp->text, '?');
    return true;
}

/* Comments are dropped: they are for the reader of the file. */
static bool skip_comment(struct splitter *sp)
{
    while (*sp->at && *sp->at != '\n')
        sp->at++;
    return true;
}

static bool end_statement(struct splitter *sp)
{
    while (sp->text.len > 0 && is_space(sp->text.data[sp->text.len - 1]))
        sp->text.len--;
    if (sp->has_text) {
        if (sp->count == MAX_STATEMENTS)
            return false;
        uint16_t *params = mr_arena_alloc(sp->ar, sp->param_count * sizeof(*params) + 1);
        for (size_t i = 0; i < sp->param_count; i++)
            params[i] = sp->params[i];
        sp->statements[sp->count++] = (struct mr_my_statement){
            .text = mr_arena_copy(sp->ar, mr_buf_str(&sp->text)),
            .param_count = sp->param_count,
            .params = params,
        };
    }
    mr_buf_clear(&sp->text);
    sp->has_text = false;
    sp->param_count = 0;
    return true;
}

static bool take_one(struct splitter *sp)
{
    char c = *sp->at;

    if (c == '-' && sp->at[1] == '-')
        return skip_comment(sp);
    if (c == ';') {
        sp->at++;
        return end_statement(sp);
    }
    if (is_space(c) && !sp->has_text) {
        sp->at++;
        return true;
    }
    sp->has_text = sp->has_text || !is_space(c);
    if (c == '\'' || c == '`')
        return take_quoted(sp);
    if (c == '?')
        return take_param(sp);
    if (!take_name(sp))
        mr_buf_append_char(&sp->text, *sp->at++);
    return true;
}

enum mr_status mr_my_query_split(const char *sql_z, struct mr_str control, const char *collation_z, struct mr_arena *ar,
                                 struct mr_my_statement **out, size_t *count, struct mr_error *err)
{
    struct splitter *sp = mr_arena_zalloc(ar, sizeof(*sp));
    bool is_whole = true;

    sp->at = sql_z;
    sp->control = control;
    sp->collation_z = collation_z;
    sp->ar = ar;
    sp->text = MR_BUF_INIT((size_t)1 << 20);
    while (*sp->at && is_whole)
        is_whole = take_one(sp);
    is_whole = is_whole && end_statement(sp) && !sp->text.overflow;
    mr_buf_free(&sp->text);
    if (!is_whole)
        return mr_fail(err, MR_E_BUG, "a named query's text cannot be taken apart near \"%.40s\"", sp->at);
    *out = sp->statements;
    *count = sp->count;
    return MR_OK;
}
