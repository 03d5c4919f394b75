/* Which lane a row belongs to. A record may be taken in several times (a redo, a kill with one lane ahead of another), and what is known of its
 * table may have changed in between: the key's type has widened, a unique index has come. Its rows must fall into the same lanes as before, or
 * the lane that is ahead swallows them. So the lane depends on the table's name, the key's paths and the values as the record spells them, and
 * on nothing else; and values that any column type takes for equal are one and the same here. */
#ifndef MILLRACE_ENGINE_LANE_H
#define MILLRACE_ENGINE_LANE_H

#include <millrace/model/value.h>

/* Add one member of the key; the order of the members does not count. */
void mr_lane_add(uint64_t *key, struct mr_str path, struct mr_value v, struct mr_buf *scratch, struct mr_arena *ar);
/* The lane of a key (0: no key, one lane for the whole table). */
uint32_t mr_lane_of(struct mr_str target_table, uint64_t key, uint32_t lanes);

#endif
