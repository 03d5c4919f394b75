/* Compiled schemas, found by the exact bytes of the schema part. The converter writes the same bytes with every message of a topic, so
 * a comparison of memory takes the place of parsing them. Bounded in entries and in bytes; the entry not used for the longest goes. */
#include "connect.h"

#include <millrace/base/map.h>
#include <millrace/base/mem.h>

#define MAX_ENTRIES 1024
#define MAX_BYTES (UINT64_C(64) << 20)
/* A schema of more bytes than this is compiled for its message alone. */
#define MAX_SCHEMA_BYTES (UINT64_C(2) << 20)
#define PLACES 256 /* a power of two */

static const struct mr_str before_schema = {"{\"schema\":", 10};
static const struct mr_str before_payload = {",\"payload\":", 11};

struct entry {
    struct mr_str raw; /* the schema's bytes, in `ar` */
    const struct mr_connect_schema *schema;
    struct mr_arena *ar; /* owns raw and the compiled form */
    uint64_t bytes;
    uint64_t used; /* the cache's clock at the last use */
};

struct mr_connect_cache {
    struct mr_map *by_raw;         /* raw bytes → struct entry */
    struct entry *places[PLACES];  /* the last schema of a place; NULL = none */
    struct mr_json_reader *reader; /* for schema parts */
    uint64_t bytes;
    uint64_t clock;
};

struct mr_connect_cache *mr_connect_cache_create(const struct mr_json_limits *limits)
{
    struct mr_connect_cache *cache = mr_xcalloc(1, sizeof(*cache));
    cache->by_raw = mr_map_create();
    cache->reader = mr_json_reader_create(limits);
    return cache;
}

static void entry_destroy(void *ptr)
{
    struct entry *e = ptr;
    if (e == NULL)
        return;
    mr_arena_destroy(e->ar);
    mr_xfree(e);
}

void mr_connect_cache_destroy(struct mr_connect_cache *cache)
{
    if (cache == NULL)
        return;
    mr_json_reader_destroy(cache->reader);
    mr_map_destroy(cache->by_raw, entry_destroy);
    mr_xfree(cache);
}

/* What follows the schema part, if that is `,"payload":` … `}`; the payload itself is checked by whoever parses it. */
static bool rest_is_payload(struct mr_str rest, struct mr_str *payload)
{
    while (rest.len != 0 && (rest.ptr[rest.len - 1] == '\n' || rest.ptr[rest.len - 1] == ' ' ||
                             rest.ptr[rest.len - 1] == '\r' || rest.ptr[rest.len - 1] == '\t'))
        rest.len--;
    if (!mr_str_starts(rest, before_payload) || rest.ptr[rest.len - 1] != '}')
        return false;
    *payload = mr_str_of(rest.ptr + before_payload.len, rest.len - before_payload.len - 1);
    return true;
}

const struct mr_connect_schema *mr_connect_cache_find(struct mr_connect_cache *cache, uint64_t place,
                                                      struct mr_str text, struct mr_str *payload)
{
    if (!mr_str_starts(text, before_schema))
        return NULL;
    struct mr_str rest = mr_str_of(text.ptr + before_schema.len, text.len - before_schema.len);

    struct entry **last = &cache->places[place & (PLACES - 1)];
    struct entry *e = *last;
    if (e == NULL || !mr_str_starts(rest, e->raw)) {
        /* No schema of a producer holds these bytes; if one does, the message is parsed as a whole. */
        const char *at = memmem(rest.ptr, rest.len, before_payload.ptr, before_payload.len);
        e = at == NULL ? NULL
                       : mr_map_get(cache->by_raw, mr_str_of(rest.ptr, (size_t)(at - rest.ptr)));
    }
    if (e == NULL)
        return NULL;

    rest = mr_str_of(rest.ptr + e->raw.len, rest.len - e->raw.len);
    if (!rest_is_payload(rest, payload))
        return NULL;
    *last = e;
    e->used = ++cache->clock;
    return e->schema;
}

static void evict_one(struct mr_connect_cache *cache)
{
    struct entry *oldest = NULL;
    for (size_t i = 0; i < mr_map_count(cache->by_raw); i++) {
        struct mr_str key;
        struct entry *e = mr_map_at(cache->by_raw, i, &key);
        if (e != NULL && (oldest == NULL || e->used < oldest->used))
            oldest = e;
    }
    if (oldest == NULL)
        return;

    for (size_t i = 0; i < PLACES; i++) {
        if (cache->places[i] == oldest)
            cache->places[i] = NULL;
    }
    cache->bytes -= oldest->bytes;
    mr_map_remove(cache->by_raw, oldest->raw);
    entry_destroy(oldest);
}

const struct mr_connect_schema *mr_connect_cache_add(struct mr_connect_cache *cache, uint64_t place,
                                                     const struct mr_json_doc *doc, uint32_t node,
                                                     struct mr_arena *ar)
{
    struct mr_str raw = mr_json_raw(doc, node);
    if (raw.len > MAX_SCHEMA_BYTES)
        return mr_connect_compile(doc, node, ar);

    struct entry *known = mr_map_get(cache->by_raw, raw);
    if (known != NULL) {
        known->used = ++cache->clock;
        cache->places[place & (PLACES - 1)] = known;
        return known->schema;
    }

    /* The entry outlives the message, so it is compiled from its own copy of the bytes. */
    struct mr_arena *own = mr_arena_create(0);
    struct mr_str copy = mr_arena_copy(own, raw);
    struct mr_json_doc parsed;
    if (mr_json_parse(cache->reader, copy, &parsed, NULL) != MR_OK) {
        mr_arena_destroy(own);
        return mr_connect_compile(doc, node, ar);
    }

    struct entry *e = mr_xcalloc(1, sizeof(*e));
    e->ar = own;
    e->raw = copy;
    e->schema = mr_connect_compile(&parsed, 0, own);
    e->bytes = mr_arena_used(own) + sizeof(*e);
    e->used = ++cache->clock;
    if (e->bytes > MAX_BYTES / 4) { /* so that a message's key and value are never evicted by each other */
        entry_destroy(e);
        return mr_connect_compile(doc, node, ar);
    }
    while (mr_map_count(cache->by_raw) >= MAX_ENTRIES ||
           (mr_map_count(cache->by_raw) != 0 && cache->bytes + e->bytes > MAX_BYTES))
        evict_one(cache);

    mr_map_put(cache->by_raw, copy, e);
    cache->bytes += e->bytes;
    cache->places[place & (PLACES - 1)] = e;
    return e->schema;
}
