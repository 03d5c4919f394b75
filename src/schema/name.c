/* The names taken in one scope. Two maps over the same entries: by source path, so that a path keeps its name, and by the folded
 * name, so that no two paths ever have the same one. A substitute name is made of the wanted one and a hash of the path, hence
 * depends on nothing but the path and on whether a substitute was needed. */
#include <millrace/schema/name.h>

#include <millrace/base/hash.h>
#include <millrace/base/map.h>
#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>
#include <millrace/dialect.h>

#include "fold.h"

#define MAX_NAME (64 * 1024)
#define SUFFIX_LEN 9 /* _xxxxxxxx */
#define MAX_PREFIXES 4

struct entry {
    char *path;
    size_t path_len;
    char *name;
    size_t name_len;
    bool is_foreign; /* taken by somebody else: has no path */
    bool substituted;
};

struct mr_names {
    const struct mr_dialect *dialect;
    const char *const *reserved; /* whole names; NULL none */
    char *prefixes[MAX_PREFIXES];
    size_t prefix_count;
    struct mr_map *by_path;
    struct mr_map *by_name; /* key: folded name */
    struct mr_buf folded;   /* scratch: the last name folded */
    struct mr_buf clean;    /* scratch: the wanted name, sanitised */
    struct mr_buf trial;    /* scratch: the name on trial */
};

static struct mr_names *create(const struct mr_dialect *dialect, const char *const *reserved)
{
    struct mr_names *names = mr_xcalloc(1, sizeof(*names));

    names->dialect = dialect;
    names->reserved = reserved;
    names->by_path = mr_map_create();
    names->by_name = mr_map_create();
    names->folded = MR_BUF_INIT(MAX_NAME);
    names->clean = MR_BUF_INIT(MAX_NAME);
    names->trial = MR_BUF_INIT(MAX_NAME);
    return names;
}

struct mr_names *mr_names_create(const struct mr_dialect *dialect)
{
    return create(dialect, dialect->reserved_columns);
}

struct mr_names *mr_names_create_tables(const struct mr_dialect *dialect)
{
    return create(dialect, NULL);
}

void mr_names_forbid(struct mr_names *names, const char *prefix_z)
{
    if (names->prefix_count < MAX_PREFIXES)
        names->prefixes[names->prefix_count++] = mr_xstrndup(prefix_z, strlen(prefix_z));
}

static void entry_destroy(void *ptr)
{
    struct entry *e = ptr;

    mr_xfree(e->path);
    mr_xfree(e->name);
    mr_xfree(e);
}

void mr_names_destroy(struct mr_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->prefix_count; i++)
        mr_xfree(names->prefixes[i]);
    mr_map_destroy(names->by_path, NULL);
    mr_map_destroy(names->by_name, entry_destroy);
    mr_buf_free(&names->folded);
    mr_buf_free(&names->clean);
    mr_buf_free(&names->trial);
    mr_xfree(names);
}

static struct mr_str not_null(struct mr_str s)
{
    return s.len > 0 ? s : MR_STR("");
}

static struct mr_str fold(struct mr_names *names, struct mr_str name)
{
    mr_buf_clear(&names->folded);
    mr_name_fold(names->dialect, name, &names->folded);
    return not_null(mr_buf_str(&names->folded));
}

static struct entry *holder(struct mr_names *names, struct mr_str name)
{
    return mr_map_get(names->by_name, fold(names, name));
}

static struct entry *add(struct mr_names *names, struct mr_str path, struct mr_str name, bool is_foreign)
{
    struct entry *e = mr_xcalloc(1, sizeof(*e));

    path = not_null(path);
    name = not_null(name);
    e->path = mr_xstrndup(path.ptr, path.len);
    e->path_len = path.len;
    e->name = mr_xstrndup(name.ptr, name.len);
    e->name_len = name.len;
    e->is_foreign = is_foreign;
    mr_map_put(names->by_name, fold(names, name), e);
    if (!is_foreign)
        mr_map_put(names->by_path, path, e);
    return e;
}

bool mr_names_take(struct mr_names *names, struct mr_str path, struct mr_str name)
{
    bool is_foreign = path.len == 0;
    const struct entry *e = holder(names, name);

    if (e)
        return e->is_foreign == is_foreign && mr_str_eq(mr_str_of(e->path, e->path_len), path);
    if (!is_foreign && mr_map_get(names->by_path, path))
        return false; /* the path has another name already */
    add(names, path, name, is_foreign);
    return true;
}

static bool has_forbidden_prefix(const struct mr_names *names, struct mr_str name)
{
    for (size_t i = 0; i < names->prefix_count; i++) {
        size_t len = strlen(names->prefixes[i]);
        if (name.len >= len && mr_str_eq_nocase(mr_str_of(name.ptr, len), mr_str_z(names->prefixes[i])))
            return true;
    }
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A name that the target's parser takes: no NUL, no bytes that are no UTF-8, not empty, not one of the target's own. */
static void sanitise(struct mr_names *names, struct mr_str wanted)
{
    struct mr_buf *out = &names->clean;

    mr_buf_clear(out);
    while (wanted.len > 0 && !out->overflow) {
        uint32_t c;
        size_t len = mr_utf8_decode(wanted, &c);
        bool is_beyond = names->dialect->ident_is_bmp && len > 0 && c > 0xFFFF;
        if (len == 0 || c == 0 || (c >= 0xD800 && c <= 0xDFFF) || is_beyond)
            mr_buf_append_char(out, '_');
        else
            mr_buf_append(out, wanted.ptr, len);
        if (len == 0)
            len = 1;
        wanted = mr_str_of(wanted.ptr + len, wanted.len - len);
    }
    out->overflow = false; /* beyond any identifier: it is cut and hashed anyway */
    for (size_t i = out->len; names->dialect->ident_is_bmp && i > 0 && is_blank(out->data[i - 1]); i--)
        out->data[i - 1] = '_';
    if (out->len == 0)
        mr_buf_append_char(out, '_');
    if (has_forbidden_prefix(names, mr_buf_str(out))) {
        mr_buf_clear(&names->trial);
        mr_buf_append_char(&names->trial, '_');
        mr_buf_append_str(&names->trial, mr_buf_str(out));
        mr_buf_clear(out);
        mr_buf_append_str(out, mr_buf_str(&names->trial));
        out->overflow = false;
    }
}

static bool is_reserved(const struct mr_names *names, struct mr_str name)
{
    const char *const *word = names->reserved;

    for (; word && *word; word++)
        if (mr_name_same(names->dialect, name, mr_str_z(*word)))
            return true;
    return false;
}

static bool fits(const struct mr_names *names, struct mr_str name)
{
    size_t length = names->dialect->ident_in_characters ? mr_utf8_count(name) : name.len;
    return length <= names->dialect->max_ident;
}

/* Bytes of the longest beginning that leaves room for the suffix. */
static size_t cut(const struct mr_names *names, struct mr_str clean)
{
    size_t max = names->dialect->max_ident > SUFFIX_LEN ? names->dialect->max_ident - SUFFIX_LEN : 0, at = 0;

    if (!names->dialect->ident_in_characters)
        return mr_utf8_cut(clean, max);
    for (uint32_t c; max > 0 && at < clean.len; max--)
        at += mr_utf8_decode(mr_str_of(clean.ptr + at, clean.len - at), &c);
    return at;
}

static bool is_free(struct mr_names *names, struct mr_str name)
{
    return fits(names, name) && !is_reserved(names, name) && !holder(names, name);
}

/* The sanitised name, cut to leave room, and a hash of the path. `round` grows while hashes collide. */
static struct mr_str substitute(struct mr_names *names, struct mr_str path, unsigned round)
{
    struct mr_str clean = mr_buf_str(&names->clean);
    char hex[9];

    if (round == 0) {
        mr_hash_hex8(path, hex);
    } else {
        mr_buf_clear(&names->trial);
        mr_buf_append_str(&names->trial, path);
        mr_buf_printf(&names->trial, "\\#%u", round);
        mr_hash_hex8(mr_buf_str(&names->trial), hex);
    }
    mr_buf_clear(&names->trial);
    mr_buf_append(&names->trial, clean.ptr, cut(names, clean));
    mr_buf_append_char(&names->trial, '_');
    mr_buf_append(&names->trial, hex, 8);
    return mr_buf_str(&names->trial);
}

struct mr_str mr_names_give(struct mr_names *names, struct mr_str path, struct mr_str wanted,
                            bool *substituted)
{
    path = not_null(path);
    struct entry *e = mr_map_get(names->by_path, path);

    if (!e) {
        sanitise(names, wanted);
        struct mr_str name = mr_buf_str(&names->clean);
        for (unsigned round = 0; !is_free(names, name); round++)
            name = substitute(names, path, round);
        bool differs = !mr_str_eq(name, wanted);
        e = add(names, path, name, false);
        e->substituted = differs;
    }
    *substituted = e->substituted;
    return mr_str_of(e->name, e->name_len);
}

void mr_names_release(struct mr_names *names, struct mr_str name)
{
    struct entry *e = mr_map_remove(names->by_name, fold(names, name));

    if (!e)
        return;
    if (!e->is_foreign)
        mr_map_remove(names->by_path, not_null(mr_str_of(e->path, e->path_len)));
    entry_destroy(e);
}
