/* Hash map in insertion order: a dense array of entries and an open-addressing index of 8-byte slots (32 bits of the
 * hash, entry number). The index is at most half full. A new key that has to probe too far means that somebody
 * chose the keys: the map then changes for good from the fast hash to SipHash with a random key, for which nobody
 * can choose them. */
#include <millrace/base/map.h>

#include <millrace/base/hash.h>
#include <millrace/base/mem.h>

#include <sys/random.h>
#include <time.h>

#define MIN_SLOTS 16
#define MAX_PROBES 192 /* half-full linear probing stays far below for honest keys, even with millions of them */

struct slot {
    uint32_t tag;   /* low half of the hash */
    uint32_t entry; /* entry number + 1, 0 = free */
};

struct entry {
    char *key; /* owned; NULL = removed */
    size_t len;
    uint64_t hash;
    void *value;
};

struct mr_map {
    struct slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    struct entry *entries;
    size_t used, cap;  /* entries with and without the removed ones */
    size_t live;
    uint64_t seed[2];
    bool is_attacked;  /* hash with SipHash */
};

static inline uint64_t rotl(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

#define SIP_ROUND(v0, v1, v2, v3)                                                                  \
    do {                                                                                           \
        v0 += v1;                                                                                  \
        v1 = rotl(v1, 13) ^ v0;                                                                    \
        v0 = rotl(v0, 32);                                                                         \
        v2 += v3;                                                                                  \
        v3 = rotl(v3, 16) ^ v2;                                                                    \
        v0 += v3;                                                                                  \
        v3 = rotl(v3, 21) ^ v0;                                                                    \
        v2 += v1;                                                                                  \
        v1 = rotl(v1, 17) ^ v2;                                                                    \
        v2 = rotl(v2, 32);                                                                         \
    } while (0)

/* SipHash-1-3. */
static uint64_t hash_keyed(const uint64_t key[2], struct mr_str s)
{
    uint64_t v0 = key[0] ^ UINT64_C(0x736f6d6570736575), v1 = key[1] ^ UINT64_C(0x646f72616e646f6d);
    uint64_t v2 = key[0] ^ UINT64_C(0x6c7967656e657261), v3 = key[1] ^ UINT64_C(0x7465646279746573);
    size_t i = 0;
    uint64_t word;
    for (; s.len - i >= 8; i += 8) {
        memcpy(&word, s.ptr + i, 8);
        v3 ^= word;
        SIP_ROUND(v0, v1, v2, v3);
        v0 ^= word;
    }
    word = (uint64_t)s.len << 56;
    for (size_t shift = 0; i < s.len; i++, shift += 8)
        word |= (uint64_t)(unsigned char)s.ptr[i] << shift;
    v3 ^= word;
    SIP_ROUND(v0, v1, v2, v3);
    v0 ^= word;
    v2 ^= 0xff;
    for (int round = 0; round < 3; round++)
        SIP_ROUND(v0, v1, v2, v3);
    return v0 ^ v1 ^ v2 ^ v3;
}

static inline uint64_t hash_of(const struct mr_map *map, struct mr_str key)
{
    return map->is_attacked ? hash_keyed(map->seed, key) : mr_hash(key.ptr, key.len, map->seed[0]);
}

static void random_seed(uint64_t seed[2])
{
    if (getrandom(seed, 2 * sizeof(uint64_t), GRND_NONBLOCK) == (ssize_t)(2 * sizeof(uint64_t)))
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seed[0] = mr_hash(&now, sizeof(now), (uint64_t)(uintptr_t)seed);
    seed[1] = mr_hash(&now, sizeof(now), seed[0]);
}

struct mr_map *mr_map_create(void)
{
    struct mr_map *map = mr_xcalloc(1, sizeof(*map));
    random_seed(map->seed);
    return map;
}

void mr_map_clear(struct mr_map *map, void (*destroy_value)(void *))
{
    for (size_t i = 0; i < map->used; i++) {
        struct entry *e = &map->entries[i];
        if (e->key && destroy_value)
            destroy_value(e->value);
        mr_xfree(e->key);
    }
    map->used = 0;
    map->live = 0;
    if (map->slots)
        memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
}

void mr_map_destroy(struct mr_map *map, void (*destroy_value)(void *))
{
    if (!map)
        return;
    mr_map_clear(map, destroy_value);
    mr_xfree(map->slots);
    mr_xfree(map->entries);
    mr_xfree(map);
}

/* The key's slot, or the free slot where it belongs; *probes counts the steps. Needs a slot array. */
static struct slot *find_slot(const struct mr_map *map, struct mr_str key, uint64_t hash, size_t *probes)
{
    size_t mask = map->slot_count - 1;
    size_t at = (size_t)(hash >> 32 ^ hash) & mask;
    for (*probes = 0;; (*probes)++, at = (at + 1) & mask) {
        struct slot *slot = &map->slots[at];
        if (slot->entry == 0)
            return slot;
        if (slot->tag != (uint32_t)hash)
            continue;
        const struct entry *e = &map->entries[slot->entry - 1];
        if (e->key && e->hash == hash && mr_str_eq(mr_str_of(e->key, e->len), key))
            return slot;
    }
}

/* Close the holes that removals left and build the index anew. */
static void rebuild(struct mr_map *map, size_t slot_count, bool rehash)
{
    if (slot_count != map->slot_count) {
        mr_xfree(map->slots);
        map->slots = mr_xcalloc(slot_count, sizeof(*map->slots));
        map->slot_count = slot_count;
    } else {
        memset(map->slots, 0, slot_count * sizeof(*map->slots));
    }
    size_t mask = slot_count - 1, n = 0;
    for (size_t i = 0; i < map->used; i++) {
        struct entry e = map->entries[i];
        if (!e.key)
            continue;
        if (rehash)
            e.hash = hash_of(map, mr_str_of(e.key, e.len));
        map->entries[n++] = e;
        size_t at = (size_t)(e.hash >> 32 ^ e.hash) & mask;
        while (map->slots[at].entry)
            at = (at + 1) & mask;
        map->slots[at] = (struct slot){(uint32_t)e.hash, (uint32_t)n};
    }
    map->used = n;
}

void *mr_map_get(const struct mr_map *map, struct mr_str key)
{
    if (map->live == 0)
        return NULL;
    size_t probes;
    const struct slot *slot = find_slot(map, key, hash_of(map, key), &probes);
    return slot->entry ? map->entries[slot->entry - 1].value : NULL;
}

void mr_map_put(struct mr_map *map, struct mr_str key, void *value)
{
    if (key.len == 0)
        key.ptr = "";
    if ((map->used + 1) * 2 > map->slot_count) {
        size_t slots = map->slot_count ? map->slot_count : MIN_SLOTS;
        while ((map->live + 1) * 2 > slots)
            slots *= 2;
        /* Mostly holes: tidy up at the same size, but leave room so that the next tidying is far away. */
        if (slots == map->slot_count && (map->live + 1) * 4 > slots)
            slots *= 2;
        rebuild(map, slots, false);
    }
    uint64_t hash = hash_of(map, key);
    size_t probes;
    struct slot *slot = find_slot(map, key, hash, &probes);
    if (slot->entry) {
        map->entries[slot->entry - 1].value = value;
        return;
    }
    if (probes > MAX_PROBES && !map->is_attacked) {
        map->is_attacked = true;
        rebuild(map, map->slot_count, true);
        hash = hash_of(map, key);
        slot = find_slot(map, key, hash, &probes);
    }
    map->entries = mr_xgrow(map->entries, &map->cap, map->used + 1, sizeof(*map->entries));
    map->entries[map->used] =
        (struct entry){.key = mr_xstrndup(key.ptr, key.len), .len = key.len, .hash = hash, .value = value};
    map->used++;
    map->live++;
    *slot = (struct slot){(uint32_t)hash, (uint32_t)map->used};
}

void *mr_map_remove(struct mr_map *map, struct mr_str key)
{
    if (map->live == 0)
        return NULL;
    size_t probes;
    struct slot *slot = find_slot(map, key, hash_of(map, key), &probes);
    if (!slot->entry)
        return NULL;
    /* The slot goes on pointing at the dead entry, so that probing passes over it. */
    struct entry *e = &map->entries[slot->entry - 1];
    void *value = e->value;
    mr_xfree(e->key);
    e->key = NULL;
    map->live--;
    return value;
}

size_t mr_map_count(const struct mr_map *map)
{
    return map->live;
}

void *mr_map_at(const struct mr_map *map, size_t i, struct mr_str *key)
{
    /* Entries are numbered without the removed ones, so holes are closed first: no visible change, hence const. */
    if (map->live != map->used)
        rebuild((struct mr_map *)map, map->slot_count, false);
    if (i >= map->live)
        return NULL;
    const struct entry *e = &map->entries[i];
    if (key)
        *key = mr_str_of(e->key, e->len);
    return e->value;
}
