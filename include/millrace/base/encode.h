/* Base64 and hexadecimal, strict unless said. */
#ifndef MILLRACE_BASE_ENCODE_H
#define MILLRACE_BASE_ENCODE_H

#include <millrace/base/arena.h>
#include <millrace/base/buf.h>

/* Standard alphabet; padding may be missing; false on any other byte. */
bool mr_base64_decode(struct mr_str text, struct mr_arena *ar, struct mr_str *out);
void mr_base64_append(struct mr_buf *buf, struct mr_str bytes);
bool mr_hex_decode(struct mr_str text, struct mr_arena *ar, struct mr_str *out);
void mr_hex_append(struct mr_buf *buf, struct mr_str bytes); /* lower case */
/* 8-4-4-4-12 (or 32 digits) to 16 bytes and back (36 characters, lower case). */
bool mr_uuid_parse(struct mr_str text, unsigned char out[16]);
void mr_uuid_format(const unsigned char bytes[16], char out[37]);

#endif
