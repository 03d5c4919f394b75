/* Source paths: member names joined by '.', with '.' and '\' inside a name escaped by '\'. */
#include <millrace/schema/name.h>

#include <millrace/base/buf.h>
#include <millrace/schema/tracker.h>

#define MAX_ADJUSTED ((size_t)1 << 20) /* bytes of an adjusted name */

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
    size_t len = 0, begin = mr_str_starts(path, MR_STR(MR_EMPTY_NAME)) ? sizeof MR_EMPTY_NAME - 1 : 0;
    for (size_t i = begin; i < path.len; i++) {
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

bool mr_path_is_own(struct mr_str path)
{
    return path.len > 1 && path.ptr[0] == '\\' && path.ptr[1] != '.' && path.ptr[1] != '\\' &&
           !mr_str_starts(path, MR_STR(MR_EMPTY_NAME));
}

/* Bytes of the first segment, still escaped. */
static size_t segment_len(struct mr_str path)
{
    size_t i = 0;
    while (i < path.len && path.ptr[i] != '.')
        i += path.ptr[i] == '\\' && i + 1 < path.len ? 2 : 1;
    return i;
}

struct mr_str mr_path_adjusted_name(struct mr_str path, struct mr_str delimiter, enum mr_name_mode mode, struct mr_arena *ar)
{
    if (mr_str_starts(path, MR_STR(MR_ROOT_KEY_MARK)))
        path = mr_str_of(path.ptr + 2, path.len - 2);
    if (mode == MR_NAMES_NONE || mr_path_is_own(path))
        return mr_path_column_name(path, delimiter, ar);

    struct mr_buf name = MR_BUF_INIT(MAX_ADJUSTED);
    for (bool is_first = true;; is_first = false) {
        size_t len = segment_len(path);
        if (!is_first)
            mr_buf_append_str(&name, delimiter);
        mr_field_name_append(mode, mr_path_column_name(mr_str_of(path.ptr, len), delimiter, ar), &name);
        if (len == path.len)
            break;
        path = mr_str_of(path.ptr + len + 1, path.len - len - 1);
    }
    struct mr_str out = mr_arena_copy(ar, mr_buf_str(&name)); /* cut where it is beyond every identifier: it gets a hash of its path */
    mr_buf_free(&name);
    return out;
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
    else if (name.len == 0)
        mr_buf_append_z(path, MR_EMPTY_NAME);
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
