/* What messages have told of source tables' columns: which of it is known already, and which is still to be stored (decoder.h). */
#ifndef MILLRACE_DECODE_TOLD_TYPES_H
#define MILLRACE_DECODE_TOLD_TYPES_H

#include <millrace/base/map.h>
#include <millrace/decoder.h>

struct mr_told {
    struct mr_map *places; /* place of a message's change → hash of its text */
    struct mr_source_type *unsaved; /* texts owned */
    size_t count, cap;
};

void mr_told_init(struct mr_told *told);
void mr_told_free(struct mr_told *told);
/* Has exactly this been told from this place? From now on it has. A topic that was made anew tells other things at the same place. */
bool mr_told_is_known(struct mr_told *told, const struct mr_source_type *row);
void mr_told_note(struct mr_told *told, const struct mr_source_type *row); /* copied: to be stored */
void mr_told_saved(struct mr_told *told);

#endif
