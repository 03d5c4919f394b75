/* Keys and values that are no plain JSON: framed by a schema registry (Avro, Protobuf, JSON_SR), or in one of ksqlDB's formats for keys. They are
 * opened before a decoder sees the record, to what Kafka Connect's JSON would have been: a document and a Connect schema. So every decoder
 * reads them without knowing.
 *
 * The parts: payload.c (which encoding, and opening), payload_schemas.c (schemas by id, kept), payload_frame.c (framings), payload_rules.c (which
 * format which topic has), key_*.c (declared columns). Main thread only; one a decoder set. */
#ifndef MILLRACE_DECODE_PAYLOAD_H
#define MILLRACE_DECODE_PAYLOAD_H

#include "connect.h"

struct mr_payloads;

/* What has been opened of a record; mr_record's `opened` points to it while the record is with its decoder. */
struct mr_opened {
    bool has[2];                          /* by enum mr_connect_side; else the side is read as JSON */
    struct mr_connect_message message[2]; /* valid until the next record */
    bool key_is_observed;                 /* a key in JSON without schema, whose columns nobody declares */
    bool is_encoded;                      /* the value is not JSON as Connect writes it */
};

/* CONFIG: unknown formats, options that contradict each other or lack a registry. */
enum mr_status mr_payloads_create(const struct mr_config *cfg, struct mr_payloads **out,
                                  struct mr_error *err) MR_MUST_CHECK;
void mr_payloads_destroy(struct mr_payloads *p); /* NULL is fine */

/* DATA: bytes that are not of the format; ENV, CONFIG: the registry's. */
enum mr_status mr_payloads_open(struct mr_payloads *p, const struct mr_record *rec, struct mr_arena *ar,
                                struct mr_opened *out, struct mr_error *err) MR_MUST_CHECK;

/* The decoder that the configuration names for a topic's values; "auto" = find it out. */
const char *mr_payloads_decoder(struct mr_payloads *p, struct mr_str topic);

/* Has somebody named the format of the topic's keys? */
bool mr_payloads_key_is_explicit(struct mr_payloads *p, struct mr_str topic);
/* A change on its way to the engine, held against its key where somebody has named the key's format. *is_skipped: it is to be passed over. */
enum mr_status mr_payloads_hold(struct mr_payloads *p, const struct mr_opened *opened,
                                const struct mr_record *rec, struct mr_arena *ar, struct mr_change *ev,
                                bool *is_skipped, struct mr_error *err) MR_MUST_CHECK;
/* The same for each rule of the configuration; NULL behind the last. */
const char *mr_payloads_decoder_at(struct mr_payloads *p, size_t i);

#endif
