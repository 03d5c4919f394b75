/* Hashes. mr_hash is fast and stable over runs, machines and versions, since lanes depend on it;
 * it is no defence against chosen keys, so maps bound their probing. */
#ifndef MILLRACE_BASE_HASH_H
#define MILLRACE_BASE_HASH_H

#include <millrace/base/str.h>

uint64_t mr_hash(const void *ptr, size_t len, uint64_t seed);
/* First 8 hex digits of the 64-bit hash, for names. out[9] is NUL-terminated. */
void mr_hash_hex8(struct mr_str s, char out[9]);

#endif
