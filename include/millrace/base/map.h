/* Hash map from bytes to a pointer. Keys are copied into the map. Iteration order is the order of
 * insertion (so that everything derived from a map comes out the same every time). One thread at a time, reading too:
 * the first mr_map_at after a removal renumbers. */
#ifndef MILLRACE_BASE_MAP_H
#define MILLRACE_BASE_MAP_H

#include <millrace/base/str.h>

struct mr_map;

struct mr_map *mr_map_create(void);
void mr_map_destroy(struct mr_map *map, void (*destroy_value)(void *)); /* both may be NULL */
void *mr_map_get(const struct mr_map *map, struct mr_str key);          /* NULL if absent */
void mr_map_put(struct mr_map *map, struct mr_str key, void *value);    /* replaces */
void *mr_map_remove(struct mr_map *map, struct mr_str key);             /* the old value */
size_t mr_map_count(const struct mr_map *map);
/* Entry i of mr_map_count, in insertion order. `key` may be NULL; it is NUL-terminated, not counted in len. */
void *mr_map_at(const struct mr_map *map, size_t i, struct mr_str *key);
void mr_map_clear(struct mr_map *map, void (*destroy_value)(void *));

#endif
