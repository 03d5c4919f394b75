/* When are two names the same for a target? Where its identifiers fold case, names are compared in their folded form. */
#ifndef MILLRACE_SCHEMA_FOLD_H
#define MILLRACE_SCHEMA_FOLD_H

#include <millrace/base/buf.h>
#include <millrace/dialect.h>

/* Append the form of `name` that is equal exactly for names the dialect cannot tell apart. */
void mr_name_fold(const struct mr_dialect *dialect, struct mr_str name, struct mr_buf *out);
bool mr_name_same(const struct mr_dialect *dialect, struct mr_str a, struct mr_str b);

#endif
