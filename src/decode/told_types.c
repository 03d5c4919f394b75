/* See told_types.h. */
#include "told_types.h"

#include <millrace/base/buf.h>
#include <millrace/base/hash.h>
#include <millrace/base/mem.h>

void mr_told_init(struct mr_told *told)
{
    *told = (struct mr_told){.places = mr_map_create()};
}

void mr_told_free(struct mr_told *told)
{
    mr_told_saved(told);
    mr_xfree(told->unsaved);
    mr_map_destroy(told->places, mr_xfree);
}

bool mr_told_is_known(struct mr_told *told, const struct mr_source_type *row)
{
    struct mr_buf key = MR_BUF_INIT(row->topic.len + 128);
    mr_buf_printf(&key, "%d %lld %d %.*s", (int)row->partition, (long long)row->position, (int)row->part, MR_STR_FMT(row->topic));
    uint64_t hash = mr_hash(row->text.ptr, row->text.len, 0);
    uint64_t *known = mr_map_get(told->places, mr_buf_str(&key));
    bool is_known = known != NULL && *known == hash;
    if (known == NULL) {
        known = mr_xmalloc(sizeof(*known));
        mr_map_put(told->places, mr_buf_str(&key), known);
    }
    *known = hash;
    mr_buf_free(&key);
    return is_known;
}

static struct mr_str keep_text(struct mr_str text)
{
    return mr_str_of(mr_xstrndup(text.ptr, text.len), text.len);
}

void mr_told_note(struct mr_told *told, const struct mr_source_type *row)
{
    told->unsaved = mr_xgrow(told->unsaved, &told->cap, told->count + 1, sizeof(*told->unsaved));
    struct mr_source_type *out = &told->unsaved[told->count++];
    *out = *row;
    out->topic = keep_text(row->topic);
    out->database = keep_text(row->database);
    out->table = keep_text(row->table);
    out->text = keep_text(row->text);
}

void mr_told_saved(struct mr_told *told)
{
    for (size_t i = 0; i < told->count; i++) {
        mr_xfree((char *)told->unsaved[i].topic.ptr);
        mr_xfree((char *)told->unsaved[i].database.ptr);
        mr_xfree((char *)told->unsaved[i].table.ptr);
        mr_xfree((char *)told->unsaved[i].text.ptr);
    }
    told->count = 0;
}
