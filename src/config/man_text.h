/* Plain text (with `code` in back quotes) as the body of a man page; used here and by the command line's man pages. */
#ifndef MR_CONFIG_MAN_TEXT_H
#define MR_CONFIG_MAN_TEXT_H

#include <millrace/base/buf.h>

void mr_man_append(struct mr_buf *out, const char *text_z);

#endif
