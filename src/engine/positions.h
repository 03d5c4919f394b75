/* Array positions in partial updates, where arrays are documents with the members _0, _1 … (unwrap.array.encoding `document`). */
#ifndef MILLRACE_ENGINE_POSITIONS_H
#define MILLRACE_ENGINE_POSITIONS_H

#include <millrace/model/change.h>
#include <millrace/schema/tracker.h>

/* A change like `ev`, with `items.2.price` as the path of the column that holds it (`items._2.price`) and `removed` without cut arrays. The
 * columns that are known tell arrays from documents whose members are digits; where they do not, the update is refused: DATA unsupported. */
enum mr_status mr_positions_resolve(const struct mr_tracker *tk, const struct mr_change *ev, struct mr_arena *ar,
                                    struct mr_change *out, struct mr_error *err) MR_MUST_CHECK;

#endif
