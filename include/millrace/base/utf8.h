/* UTF-8 checks. Lone surrogates, which JSON can spell, travel inside Millrace as their three-byte
 * encoding (ED A0…BF xx) and are reported, never silently replaced. */
#ifndef MILLRACE_BASE_UTF8_H
#define MILLRACE_BASE_UTF8_H

#include <millrace/base/arena.h>

/* What is wrong with a text, as bits. */
enum {
    MR_TEXT_HAS_NUL = 1,       /* U+0000 */
    MR_TEXT_HAS_SURROGATE = 2, /* a lone surrogate */
    MR_TEXT_ILL_FORMED = 4,    /* bytes that are no UTF-8 */
};

unsigned mr_utf8_check(struct mr_str s);
/* The first character (a surrogate's three-byte form is one) and its length; 0 if the bytes are ill-formed or s is empty. */
size_t mr_utf8_decode(struct mr_str s, uint32_t *code_point);
/* Length of the longest prefix of at most `max` bytes that does not cut a character. */
size_t mr_utf8_cut(struct mr_str s, size_t max);
size_t mr_utf8_count(struct mr_str s); /* characters; ill-formed bytes count one each */
/* Remove (replace = false) or replace by U+FFFD every NUL, surrogate and ill-formed byte. A text without any is
 * returned as it is. */
struct mr_str mr_utf8_repair(struct mr_str s, bool replace, struct mr_arena *ar);
/* Append the encoding of a code point (surrogates too) to out[4]; returns the length. */
/* A character that is not seen but acts on a terminal: control characters (C1 too), line separators, those that turn the reading direction. */
bool mr_utf8_is_hidden(uint32_t code_point);
size_t mr_utf8_encode(uint32_t code_point, char out[4]);

#endif
