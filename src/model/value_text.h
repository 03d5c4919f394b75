/* Between the files of this layer: the canonical text of values that have a short one. */
#ifndef MILLRACE_MODEL_VALUE_TEXT_H
#define MILLRACE_MODEL_VALUE_TEXT_H

#include <millrace/model/value.h>

#define SHORT_TEXT 64

/* BOOL, INT, FLOAT, times and UUID: writes the text and returns its length (never 0). Other tags: 0. */
size_t value_short_text(struct mr_value v, char out[SHORT_TEXT]);

#endif
