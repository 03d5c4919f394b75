/* The halves of SharePlex's updates that come as two records: before images that wait for their after image.
 *
 * Everything is a function of positions, not of how often a record has been decoded: a batch may be made anew from its records, and must then give
 * what it gave before. A half that has found its other half is therefore kept for a while, with the place where it did. */
#ifndef MILLRACE_DECODE_SHAREPLEX_PAIR_H
#define MILLRACE_DECODE_SHAREPLEX_PAIR_H

#include <millrace/base/arena.h>
#include <millrace/model/record.h>

struct mr_pairs;
struct mr_pairs *mr_pairs_create(void);
void mr_pairs_destroy(struct mr_pairs *pairs); /* NULL is fine */

/* Where a document stands: its record and, in a record of several, its number. */
struct mr_pair_place {
    uint32_t part;
    int64_t position;
    uint32_t document;
};

/* What must be equal in both halves. Without transaction or row address the next document of the partition is the other half. */
struct mr_pair_name {
    struct mr_str table, transaction, row;
};

/* The document at that place is decoded, maybe not for the first time: what it has closed before is open again. */
void mr_pairs_begin(struct mr_pairs *pairs, struct mr_pair_place at);
/* Remember the before image (`text`, copied). False: too many wait already, or it is too large. */
bool mr_pairs_keep(struct mr_pairs *pairs, struct mr_pair_place at, const struct mr_pair_name *name,
                   struct mr_str text);
/* The before image of the after image at that place; false if there is none. *text is in `ar`. */
bool mr_pairs_take(struct mr_pairs *pairs, struct mr_pair_place at, const struct mr_pair_name *name,
                   struct mr_arena *ar, struct mr_str *text);
/* A before image before that place whose other half can no longer come, now that the document there is known: that is the last of its transaction
 * (`name`, is_last), or stands behind a half whose other half had to come next, or is far away. To be called until it gives false. */
bool mr_pairs_lost(struct mr_pairs *pairs, struct mr_pair_place at, const struct mr_pair_name *name,
                   bool is_last, struct mr_arena *ar, struct mr_str *text);
/* The position of the first before image of the partition from behind position `after` that waits when everything up to `position` is known; 0 = none. */
int64_t mr_pairs_waiting(const struct mr_pairs *pairs, uint32_t part, int64_t position, int64_t after);

#endif
