/* Memory that cannot fail: allocation failure ends the process with a message (exit 70),
 * since nothing sensible can be done without memory. Sizes are checked for overflow. */
#ifndef MILLRACE_BASE_MEM_H
#define MILLRACE_BASE_MEM_H

#include <stddef.h>

void *mr_xmalloc(size_t size);
void *mr_xcalloc(size_t count, size_t size);
void *mr_xrealloc(void *ptr, size_t size);
/* Grow an array of `elem` sized items to hold at least `need`; doubles *cap. */
void *mr_xgrow(void *ptr, size_t *cap, size_t need, size_t elem);
char *mr_xstrdup(const char *text_z);
char *mr_xstrndup(const char *ptr, size_t len); /* NUL-terminated copy of len bytes */
void mr_xfree(void *ptr);

#endif
