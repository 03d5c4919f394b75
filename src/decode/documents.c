/* See documents.h. */
#include "documents.h"

/* The next line that is not blank. False at the end. */
static bool next_line(struct mr_str *rest, unsigned *number, struct mr_str *line)
{
    while (rest->len != 0) {
        ptrdiff_t end = mr_str_find(*rest, '\n');
        size_t len = end < 0 ? rest->len : (size_t)end;
        *line = mr_str_trim(mr_str_of(rest->ptr, len));
        size_t used = end < 0 ? len : len + 1;
        *rest = mr_str_of(rest->ptr + used, rest->len - used);
        ++*number;
        if (line->len != 0)
            return true;
    }
    return false;
}

/* Is it worth reading line by line what is no one document? A JSON string holds no line feed as it is, so that lines can be cut. */
static bool has_lines(struct mr_str text)
{
    text = mr_str_trim(text);
    return text.len != 0 && text.ptr[0] == '{' && mr_str_find(text, '\n') >= 0;
}

static enum mr_status each_line(struct mr_connect *cn, struct mr_str rest, mr_document_fn fn, void *ctx, struct mr_error *err)
{
    struct mr_json_doc doc;
    struct mr_str line;
    unsigned number = 0;
    while (next_line(&rest, &number, &line)) {
        enum mr_status status = mr_json_parse(cn->value_reader, line, &doc, err);
        if (status != MR_OK) {
            mr_error_prefix(err, "value, line %u: ", number);
            return status;
        }
        MR_TRY(fn(ctx, &doc, 0, err));
    }
    return MR_OK;
}

/* Does the first line alone parse? Else the text is one broken document, and the error of the whole is the better one. */
static bool first_line(struct mr_connect *cn, struct mr_str text, struct mr_json_doc *doc)
{
    struct mr_str line;
    unsigned number = 0;
    return has_lines(text) && next_line(&text, &number, &line) && mr_json_parse(cn->value_reader, line, doc, NULL) == MR_OK;
}

static bool is_bad_json(enum mr_status status, const struct mr_error *err)
{
    return status == MR_E_DATA && strcmp(err->code, MR_CODE_BAD_JSON) == 0;
}

enum mr_status mr_documents_each(struct mr_connect *cn, const struct mr_record *rec, struct mr_arena *ar, mr_document_fn fn,
                                 void *ctx, bool *is_null, struct mr_error *err)
{
    struct mr_connect_message value;
    struct mr_json_doc doc;
    struct mr_error own = {0};
    err = err != NULL ? err : &own;
    *is_null = false;
    enum mr_status status = mr_connect_open(cn, MR_SIDE_VALUE, rec, ar, &value, err);
    if (is_bad_json(status, err) && first_line(cn, rec->value, &doc)) {
        mr_error_clear(err);
        return each_line(cn, rec->value, fn, ctx, err);
    }
    MR_TRY(status);
    *is_null = value.is_null;
    if (value.is_null)
        return MR_OK;
    if (!mr_json_is(&value.doc, value.root, MR_J_ARRAY))
        return fn(ctx, &value.doc, value.root, err);

    *is_null = value.doc.nodes[value.root].count == 0;
    for (uint32_t n = mr_json_first(&value.doc, value.root); n != MR_JSON_NONE; n = mr_json_next_in(&value.doc, value.root, n))
        MR_TRY(fn(ctx, &value.doc, n, err));
    return MR_OK;
}

enum mr_status mr_documents_first(struct mr_connect *cn, const struct mr_record *rec, struct mr_arena *ar,
                                  struct mr_first_document *out, enum mr_first *what, struct mr_error *err)
{
    struct mr_error own = {0};
    err = err != NULL ? err : &own;
    uint32_t node = 0;
    out->is_described = false;
    enum mr_status status = mr_connect_open(cn, MR_SIDE_VALUE, rec, ar, &out->value, err);
    if (is_bad_json(status, err) && first_line(cn, rec->value, &out->doc)) {
        mr_error_clear(err);
        out->value = (struct mr_connect_message){.doc = out->doc};
    } else {
        MR_TRY(status);
        out->doc = out->value.doc;
        node = out->value.root;
        out->is_described = out->value.schema != NULL && out->value.schema->kind == MR_C_STRUCT;
    }
    *what = MR_FIRST_NULL;
    if (out->value.is_null)
        return MR_OK;
    if (mr_json_is(&out->doc, node, MR_J_ARRAY)) {
        *what = MR_FIRST_OTHER;
        if (out->doc.nodes[node].count == 0)
            return MR_OK;
        node = mr_json_first(&out->doc, node);
    }
    *what = mr_json_is(&out->doc, node, MR_J_OBJECT) ? MR_FIRST_OBJECT : MR_FIRST_OTHER;
    if (*what == MR_FIRST_OBJECT)
        mr_shape_of(&out->doc, node, ar, &out->shape);
    return MR_OK;
}
