/* Any steps on any text. The first line is what the column holds, each further one a step: its first byte says what is done, "path=value" how; values
 * that are no JSON are left out, as no decoder makes them. What comes out is JSON, and the same whether the steps come together or one by one. */
#include <stdlib.h>

#include <millrace/base/utf8.h>
#include <millrace/model/patch.h>

#include "model/json_text.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define MAX_STEPS 64

struct input {
    struct mr_str base;
    struct mr_step steps[MAX_STEPS];
    size_t count;
    bool is_ill_formed; /* names are written well-formed, and not found again */
};

static struct mr_str take_line(struct mr_str *rest)
{
    ptrdiff_t end = mr_str_find(*rest, '\n');
    size_t len = end < 0 ? rest->len : (size_t)end;
    struct mr_str line = mr_str_of(rest->ptr, len);

    *rest = mr_str_of(rest->ptr + len + (end >= 0), rest->len - len - (end >= 0));
    return line;
}

/* Names joined by dots. */
static void split(struct mr_str path, struct mr_step *step, struct mr_arena *ar)
{
    struct mr_str *names = mr_arena_alloc(ar, (path.len + 1) * sizeof *names);

    for (bool more = true; more && step->count < MR_PATCH_MAX_NAMES;) {
        ptrdiff_t dot = mr_str_find(path, '.');
        size_t len = dot < 0 ? path.len : (size_t)dot;
        names[step->count++] = mr_str_of(path.ptr, len);
        more = dot >= 0;
        path = mr_str_of(path.ptr + len + more, path.len - len - more);
    }
    step->names = names;
}

static void read_step(struct mr_str line, struct input *in, struct mr_arena *ar)
{
    ptrdiff_t equal = mr_str_find(line, '=');

    if (line.len < 2 || equal < 1 || in->count == MAX_STEPS)
        return;
    struct mr_step *step = &in->steps[in->count];
    struct mr_str path = mr_str_of(line.ptr + 1, (size_t)equal - 1);
    struct mr_str value = mr_str_trim(mr_str_of(line.ptr + equal + 1, line.len - (size_t)equal - 1));
    *step = (struct mr_step){.kind = (unsigned char)line.ptr[0] % 3};
    split(path, step, ar);
    if (step->kind == MR_STEP_SET && !mr_json_text_is_valid(value))
        return;
    if (step->kind == MR_STEP_CUT && (!mr_parse_int64(value, &step->size) || step->size < 0))
        return;
    if (step->kind == MR_STEP_SET) {
        step->json = value;
        step->is_empty = mr_str_eq_z(value, "[]");
        step->item = value.ptr[0] == '"' ? mr_value_text(value) : mr_value_int((int64_t)value.len);
    }
    in->count++;
}

static void check(enum mr_status status, const struct mr_error *err, struct mr_value v)
{
    if (status == MR_OK && v.tag != MR_V_NULL && (v.tag != MR_V_JSON || !mr_json_text_is_valid(mr_value_str(v))))
        abort();
    if (status != MR_OK && (status != MR_E_DATA || err->message[0] == '\0'))
        abort();
}

static void on_json(const struct input *in, struct mr_patch_style style, struct mr_arena *ar)
{
    struct mr_patch all = {.steps = in->steps, .count = in->count, .style = style};
    struct mr_value base = mr_value_bytes(MR_V_JSON, in->base), together = {0}, alone = base;
    struct mr_error err = {0};
    enum mr_status status = mr_patch_apply(&all, base, MR_TYPE(MR_T_JSON), ar, &together, &err), one = MR_OK;

    check(status, &err, together);
    for (size_t i = 0; i < in->count && one == MR_OK; i++) {
        struct mr_patch step = {.steps = &in->steps[i], .count = 1, .style = style};
        one = mr_patch_apply(&step, alone, MR_TYPE(MR_T_JSON), ar, &alone, &err);
        check(one, &err, alone);
    }
    if (one == MR_OK && status == MR_OK && !in->is_ill_formed && style.names == MR_NAMES_NONE && !style.arrays_are_documents &&
        (alone.tag != together.tag || (alone.tag == MR_V_JSON && !mr_str_eq(mr_value_str(alone), mr_value_str(together)))))
        abort();
}

static void on_array(const struct input *in, enum mr_type_kind element, struct mr_arena *ar)
{
    struct mr_patch patch = {.steps = in->steps, .count = in->count};
    struct mr_value out = {0};
    struct mr_error err = {0};
    enum mr_status status = mr_patch_apply(&patch, mr_value_bytes(MR_V_JSON, in->base), mr_type_array_of(MR_TYPE(element)), ar, &out, &err);

    if (status != MR_OK ? status != MR_E_DATA || err.message[0] == '\0' : out.tag != MR_V_ARRAY && out.tag != MR_V_NULL)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_str rest = mr_str_of((const char *)data, size);
    struct input in = {.is_ill_formed = (mr_utf8_check(rest) & MR_TEXT_ILL_FORMED) != 0};

    in.base = take_line(&rest);

    while (rest.len > 0)
        read_step(take_line(&rest), &in, ar);
    if (in.count > 0) {
        for (int names = MR_NAMES_NONE; names <= MR_NAMES_AVRO_UNICODE; names++)
            for (int documents = 0; documents < 2; documents++)
                on_json(&in, (struct mr_patch_style){(enum mr_name_mode)names, documents != 0}, ar);
        on_array(&in, MR_T_INT64, ar);
        on_array(&in, MR_T_TEXT, ar);
    }
    mr_arena_destroy(ar);
    return 0;
}
