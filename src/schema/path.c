/* Source paths: member names joined by '.', with '.' and '\' inside a name escaped by '\'. */
#include <millrace/schema/name.h>

#include <millrace/base/buf.h>
#include <millrace/schema/tracker.h>

struct mr_str mr_path_column_name(struct mr_str path, struct mr_str delimiter, struct mr_arena *ar)
{
    if (mr_str_starts(path, MR_STR(MR_ROOT_KEY_MARK))) /* named as in the root's own table */
        path = mr_str_of(path.ptr + 2, path.len - 2);
    if (mr_str_find(path, '.') < 0 && mr_str_find(path, '\\') < 0)
        return path;

    size_t dots = 0;
    for (size_t i = 0; i < path.len; i++)
        dots += path.ptr[i] == '.';

    char *out = mr_arena_alloc(ar, path.len + dots * delimiter.len);
    size_t len = 0;
    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        if (c == '.') {
            if (delimiter.len > 0)
                memcpy(out + len, delimiter.ptr, delimiter.len);
            len += delimiter.len;
            continue;
        }
        if (c == '\\' && i + 1 < path.len)
            c = path.ptr[++i];
        out[len++] = c;
    }
    return mr_str_of(out, len);
}

bool mr_path_is_below(struct mr_str path, struct mr_str prefix)
{
    static const char mark[] = MR_VARIANT_MARK;

    if (!mr_str_starts(path, prefix))
        return false;
    if (path.len == prefix.len)
        return true;
    struct mr_str rest = mr_str_of(path.ptr + prefix.len, path.len - prefix.len);
    return rest.ptr[0] == '.' || mr_str_starts(rest, mr_str_z(mark));
}

void mr_path_append(struct mr_buf *path, struct mr_str name)
{
    if (path->len > 0)
        mr_buf_append_char(path, '.');
    size_t start = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] != '.' && name.ptr[i] != '\\')
            continue;
        mr_buf_append(path, name.ptr + start, i - start);
        mr_buf_append_char(path, '\\');
        start = i;
    }
    if (name.len > start)
        mr_buf_append(path, name.ptr + start, name.len - start);
}
