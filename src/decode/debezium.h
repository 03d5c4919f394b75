/* Debezium's envelopes: parts that the other decoders and the detection share. */
#ifndef MILLRACE_DECODE_DEBEZIUM_H
#define MILLRACE_DECODE_DEBEZIUM_H

#include <millrace/decoder.h>

#include "connect.h"
#include "shape.h"

extern const struct mr_decoder_ops mr_decoder_debezium;
extern const struct mr_decoder_ops mr_decoder_flat;
extern const struct mr_decoder_ops mr_decoder_json;
extern const struct mr_decoder_ops mr_decoder_canal;
extern const struct mr_decoder_ops mr_decoder_maxwell;
extern const struct mr_decoder_ops mr_decoder_dts;
extern const struct mr_decoder_ops mr_decoder_shareplex;
extern const struct mr_decoder_ops mr_decoder_prostore;

/* Is it MongoDB's envelope? `shape` must be an envelope's. */
bool mr_debezium_is_mongodb(const struct mr_shape *shape);
/* Is the payload an envelope: by its schema's name, else by its members? */
bool mr_debezium_is_envelope(const struct mr_connect_message *value, const struct mr_shape *shape);
/* Does the record's own header say that MongoDB's connector wrote it? */
bool mr_debezium_from_mongodb(const struct mr_record *rec);

#endif
