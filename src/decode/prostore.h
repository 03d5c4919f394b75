/* Prostore's status events: what the tests look at. */
#ifndef MILLRACE_DECODE_PROSTORE_H
#define MILLRACE_DECODE_PROSTORE_H

#include <millrace/base/arena.h>
#include <millrace/base/str.h>

/* JSON with texts in single quotes as JSON. What is wrong with it stays wrong. */
struct mr_str mr_prostore_requoted(struct mr_str text, struct mr_arena *ar);

#endif
