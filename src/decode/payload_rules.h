/* Which format a topic's keys and values have: the options `format`, `format.key`, `format.value`, and `topics` for single ones. */
#ifndef MILLRACE_DECODE_PAYLOAD_RULES_H
#define MILLRACE_DECODE_PAYLOAD_RULES_H

#include "payload_frame.h"

enum mr_encoding {
    MR_ENC_AUTO, /* JSON as Connect writes it; with a registry, what is framed is recognised */
    MR_ENC_JSON,
    MR_ENC_JSON_SR,
    MR_ENC_AVRO,
    MR_ENC_PROTOBUF,
    MR_ENC_KAFKA,
    MR_ENC_DELIMITED,
    MR_ENC_NONE,
};

/* One topic's settings; texts are "" where nothing is said. By enum mr_connect_side where there are two. */
struct mr_payload_rule {
    enum mr_encoding encoding[2];
    const char *decoder_z; /* "auto", or the name of the format that the values have */
    struct mr_str columns[2], delimiter[2], wrap_single[2];
    struct mr_str text_encoding[2]; /* of texts of the format kafka */
    struct mr_str column_name, envelope, window, null_key, conflict;
    struct mr_str schema_id[2], schema_guid[2], indexes[2], schema_file[2]; /* of messages without framing */
    struct mr_framing framing[2];
    bool is_key_explicit; /* somebody has named the key's format */
};

struct mr_payload_rules;
/* CONFIG: what can be seen without a record. Formats of decoders are not known here: `decoder_z` may be no format at all. */
enum mr_status mr_payload_rules_create(const struct mr_config *cfg, struct mr_payload_rules **out,
                                       struct mr_error *err) MR_MUST_CHECK;
void mr_payload_rules_destroy(struct mr_payload_rules *rules);
/* The rule of a topic; kept. */
const struct mr_payload_rule *mr_payload_rule_of(struct mr_payload_rules *rules, struct mr_str topic);
/* Rule i of all that can be seen without a topic: the general one, and one for each pattern. NULL behind the last. */
const struct mr_payload_rule *mr_payload_rule_at(struct mr_payload_rules *rules, size_t i);

/* Are keys looked at? Not those of the format none, nor bytes without declared columns. */
bool mr_payload_rule_reads_key(const struct mr_payload_rule *rule);

const char *mr_encoding_name(enum mr_encoding encoding);

#endif
