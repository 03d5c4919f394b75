/* See shareplex_pair.h. A list in order of arrival; closed entries go when room is needed. */
#include "shareplex_pair.h"

#include <millrace/base/mem.h>

#define MAX_ENTRIES 4096
#define MAX_BYTES ((size_t)64 << 20)
#define OPEN INT64_MAX
#define MAX_DISTANCE 10000 /* records between the halves of an update */

struct entry {
    uint32_t part;
    int64_t opened, closed; /* places as one number, see place_of; closed OPEN = not yet */
    char *name, *text;      /* owned: table, transaction, row with NUL behind each; the image */
    size_t name_len, text_len;
    bool is_adjacent;          /* the next document is its other half, or none is */
    struct mr_str transaction; /* within name */
};

struct mr_pairs {
    struct entry *entries;
    size_t count, cap, bytes;
};

struct mr_pairs *mr_pairs_create(void)
{
    return mr_xcalloc(1, sizeof(struct mr_pairs));
}

static void drop(struct mr_pairs *pairs, size_t i)
{
    pairs->bytes -= pairs->entries[i].name_len + pairs->entries[i].text_len;
    mr_xfree(pairs->entries[i].name);
    mr_xfree(pairs->entries[i].text);
}

void mr_pairs_destroy(struct mr_pairs *pairs)
{
    if (pairs == NULL)
        return;
    for (size_t i = 0; i < pairs->count; i++)
        drop(pairs, i);
    mr_xfree(pairs->entries);
    mr_xfree(pairs);
}

/* Documents of one record in order, and before those of the next. */
static int64_t place_of(int64_t position, uint32_t document)
{
    return position * 1024 + (document < 1023 ? document : 1023);
}

static int64_t place(struct mr_pair_place at)
{
    return place_of(at.position, at.document);
}

static bool is_named(const struct entry *e, const struct mr_pair_name *name)
{
    const struct mr_str parts[] = {name->table, name->transaction, name->row};
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        if (e->name_len - at < parts[i].len + 1 ||
            (parts[i].len != 0 && memcmp(e->name + at, parts[i].ptr, parts[i].len) != 0) ||
            e->name[at + parts[i].len] != '\0')
            return false;
        at += parts[i].len + 1;
    }
    return at == e->name_len;
}

/* Closed entries of long ago, as many as half of all. */
static void make_room(struct mr_pairs *pairs)
{
    size_t kept = 0, gone = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        if (pairs->entries[i].closed != OPEN && gone < MAX_ENTRIES / 2) {
            drop(pairs, i);
            gone++;
        } else {
            pairs->entries[kept++] = pairs->entries[i];
        }
    }
    pairs->count = kept;
}

static void fill(struct mr_pairs *pairs, struct entry *e, const struct mr_pair_name *name, struct mr_str text)
{
    const struct mr_str parts[] = {name->table, name->transaction, name->row};
    size_t at = 0;
    e->name_len = parts[0].len + parts[1].len + parts[2].len + 3;
    e->name = mr_xcalloc(1, e->name_len);
    for (size_t i = 0; i < 3; i++) {
        if (i == 1)
            e->transaction = mr_str_of(e->name + at, parts[1].len);
        if (parts[i].len != 0)
            memcpy(e->name + at, parts[i].ptr, parts[i].len);
        at += parts[i].len + 1;
    }
    e->text = mr_xstrndup(text.ptr, text.len);
    e->text_len = text.len;
    e->is_adjacent = name->transaction.len == 0 || name->row.len == 0;
    pairs->bytes += e->name_len + e->text_len;
}

bool mr_pairs_keep(struct mr_pairs *pairs, struct mr_pair_place at, const struct mr_pair_name *name,
                   struct mr_str text)
{
    for (size_t i = pairs->count; i-- > 0;) { /* the record again: it waits again */
        struct entry *e = &pairs->entries[i];
        if (e->part != at.part || e->opened != place(at))
            continue;
        return true;
    }
    size_t size = name->table.len + name->transaction.len + name->row.len + 3 + text.len;
    if (pairs->count >= MAX_ENTRIES || size > MAX_BYTES - pairs->bytes)
        make_room(pairs);
    if (pairs->count >= MAX_ENTRIES || size > MAX_BYTES - pairs->bytes)
        return false;
    pairs->entries = mr_xgrow(pairs->entries, &pairs->cap, pairs->count + 1, sizeof(*pairs->entries));
    struct entry *e = &pairs->entries[pairs->count++];
    *e = (struct entry){.part = at.part, .opened = place(at), .closed = OPEN};
    fill(pairs, e, name, text);
    return true;
}

/* Did it wait just before that place? */
static bool waits_before(const struct entry *e, struct mr_pair_place at)
{
    return e->part == at.part && e->opened < place(at) && e->closed >= place(at);
}

void mr_pairs_begin(struct mr_pairs *pairs, struct mr_pair_place at)
{
    for (size_t i = 0; i < pairs->count; i++) {
        struct entry *e = &pairs->entries[i];
        if (e->part == at.part && e->closed == place(at))
            e->closed = OPEN;
    }
}

bool mr_pairs_take(struct mr_pairs *pairs, struct mr_pair_place at, const struct mr_pair_name *name,
                   struct mr_arena *ar, struct mr_str *text)
{
    for (size_t i = pairs->count; i-- > 0;) {
        struct entry *e = &pairs->entries[i];
        if (!waits_before(e, at) || !is_named(e, name))
            continue;
        e->closed = place(at);
        *text = mr_arena_copy(ar, mr_str_of(e->text, e->text_len));
        return true;
    }
    return false;
}

bool mr_pairs_lost(struct mr_pairs *pairs, struct mr_pair_place at, const struct mr_pair_name *name,
                   bool is_last, struct mr_arena *ar, struct mr_str *text)
{
    for (size_t i = 0; i < pairs->count; i++) {
        struct entry *e = &pairs->entries[i];
        if (!waits_before(e, at) || e->closed == place(at))
            continue;
        bool is_over = e->is_adjacent || (is_last && mr_str_eq(e->transaction, name->transaction)) ||
                       at.position - e->opened / 1024 > MAX_DISTANCE;
        if (!is_over)
            continue;
        e->closed = place(at);
        *text = mr_arena_copy(ar, mr_str_of(e->text, e->text_len));
        return true;
    }
    return false;
}

int64_t mr_pairs_waiting(const struct mr_pairs *pairs, uint32_t part, int64_t position, int64_t after)
{
    int64_t at = place_of(position, 1023), first = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        const struct entry *e = &pairs->entries[i];
        int64_t opened = e->opened / 1024;
        if (e->part == part && e->opened <= at && e->closed > at && opened > after &&
            (first == 0 || opened < first))
            first = opened;
    }
    return first;
}
