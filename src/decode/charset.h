/* Texts in the character sets of the sources, as UTF-8. */
#ifndef MILLRACE_DECODE_CHARSET_H
#define MILLRACE_DECODE_CHARSET_H

#include <millrace/base/arena.h>
#include <millrace/base/str.h>

enum mr_charset_result {
    MR_CHARSET_OK,
    MR_CHARSET_UNKNOWN, /* no character set of that name is known */
    MR_CHARSET_BAD,     /* bytes that the set does not have */
};

/* `name` as the source calls it (MySQL, Oracle, IANA; case, '-' and '_' do not count). *out borrows `bytes` where they are UTF-8 already, well-formed
 * or not. Main thread only: the converter used last is kept. */
enum mr_charset_result mr_charset_decode(struct mr_str name, struct mr_str bytes, struct mr_arena *ar,
                                         struct mr_str *out);
/* Is it the name of bytes without a character set ("", "binary")? */
bool mr_charset_is_binary(struct mr_str name);

#endif
