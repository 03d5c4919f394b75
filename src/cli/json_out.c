/* JSON for scripts: see json_out.h. */
#include "json_out.h"

#include <millrace/base/time.h>

static void begin(struct mr_jo *js, const char *name_z)
{
    if (js->comma)
        mr_buf_append_char(js->out, ',');
    if (js->depth > 0) {
        mr_buf_append_char(js->out, '\n');
        for (unsigned i = 0; i < js->depth; i++)
            mr_buf_append_z(js->out, "  ");
    }
    js->comma = true;
    if (name_z != NULL) {
        mr_buf_append_json(js->out, mr_str_z(name_z));
        mr_buf_append_z(js->out, ": ");
    }
}

static void open_bracket(struct mr_jo *js, const char *name_z, char bracket)
{
    begin(js, name_z);
    mr_buf_append_char(js->out, bracket);
    js->depth++;
    js->comma = false;
}

static void close_bracket(struct mr_jo *js, char bracket)
{
    js->depth--;
    if (js->comma) {
        mr_buf_append_char(js->out, '\n');
        for (unsigned i = 0; i < js->depth; i++)
            mr_buf_append_z(js->out, "  ");
    }
    mr_buf_append_char(js->out, bracket);
    js->comma = true;
    if (js->depth == 0)
        mr_buf_append_char(js->out, '\n');
}

void mr_jo_object(struct mr_jo *js, const char *name_z)
{
    open_bracket(js, name_z, '{');
}

void mr_jo_end_object(struct mr_jo *js)
{
    close_bracket(js, '}');
}

void mr_jo_list(struct mr_jo *js, const char *name_z)
{
    open_bracket(js, name_z, '[');
}

void mr_jo_end_list(struct mr_jo *js)
{
    close_bracket(js, ']');
}

void mr_jo_str(struct mr_jo *js, const char *name_z, struct mr_str text)
{
    begin(js, name_z);
    mr_buf_append_json(js->out, text);
}

void mr_jo_z(struct mr_jo *js, const char *name_z, const char *text_z)
{
    if (text_z == NULL)
        mr_jo_null(js, name_z);
    else
        mr_jo_str(js, name_z, mr_str_z(text_z));
}

void mr_jo_int(struct mr_jo *js, const char *name_z, int64_t n)
{
    begin(js, name_z);
    mr_buf_printf(js->out, "%lld", (long long)n);
}

void mr_jo_uint(struct mr_jo *js, const char *name_z, uint64_t n)
{
    begin(js, name_z);
    mr_buf_printf(js->out, "%llu", (unsigned long long)n);
}

void mr_jo_bool(struct mr_jo *js, const char *name_z, bool yes)
{
    begin(js, name_z);
    mr_buf_append_z(js->out, yes ? "true" : "false");
}

void mr_jo_null(struct mr_jo *js, const char *name_z)
{
    begin(js, name_z);
    mr_buf_append_z(js->out, "null");
}

void mr_jo_time(struct mr_jo *js, const char *name_z, int64_t us)
{
    char text[MR_TIME_TEXT + 1];
    if (us == 0 || us == INT64_MIN) {
        mr_jo_null(js, name_z);
        return;
    }
    size_t len = mr_format_timestamp(us, 'T', false, text);
    text[len++] = 'Z';
    mr_jo_str(js, name_z, mr_str_of(text, len));
}

void mr_jo_type(struct mr_jo *js, const char *name_z, struct mr_type type)
{
    char text[32];
    if (type.kind == MR_T_NONE)
        mr_jo_null(js, name_z);
    else
        mr_jo_z(js, name_z, mr_type_text(type, text));
}

void mr_jo_raw(struct mr_jo *js, const char *name_z, struct mr_str text)
{
    begin(js, name_z);
    mr_buf_append_str(js->out, text);
}
