/* Dead letters from records: everything a person needs to judge the message, and everything replay needs to feed it in again. */
#ifndef MILLRACE_ENGINE_DEAD_LETTER_H
#define MILLRACE_ENGINE_DEAD_LETTER_H

#include "control.h"

/* Fill *out from the record and the error; texts are copied into `ar` (or borrowed from the record). `schema`, `table`: the target table,
 * may be empty. `row`: the failing row's key as JSON, may be empty. */
void mr_dead_letter_fill(struct mr_dead_letter *out, const struct mr_record *rec, const struct mr_error *err,
                         struct mr_str pipeline, struct mr_str schema, struct mr_str table, struct mr_str row,
                         struct mr_arena *ar);

#endif
