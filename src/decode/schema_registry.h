/* A client of Confluent's schema registry and of those that speak its language (Karapace, Apicurio): reads only. The one place that knows
 * libcurl. It blocks while it asks; schemas are kept by payload_schemas.c, so each is asked for once. Main thread only. */
#ifndef MILLRACE_DECODE_SCHEMA_REGISTRY_H
#define MILLRACE_DECODE_SCHEMA_REGISTRY_H

#include <millrace/base/arena.h>
#include <millrace/base/error.h>
#include <millrace/config/config.h>

enum mr_schema_type { MR_SCHEMA_AVRO, MR_SCHEMA_PROTOBUF, MR_SCHEMA_JSON };

struct mr_schema_reference {
    struct mr_str name, subject;
    int64_t version;
};

/* An answer; everything in the arena that was given. */
struct mr_schema_reply {
    enum mr_schema_type type;
    struct mr_str text;
    const struct mr_schema_reference *references;
    size_t reference_count;
};

/* Where a schema stands: by GUID if there is one, else by subject and version, else by id. */
struct mr_schema_place {
    const unsigned char *guid; /* 16 bytes, or NULL */
    struct mr_str subject;
    int64_t version;
    uint64_t id;
    const char *native_z; /* Apicurio's own interface: "contentIds", "globalIds"; NULL = Confluent's */
    enum mr_schema_type native_type; /* which does not tell what kind it is */
};

/* Errors: ENV with code registry_unavailable or registry_bad_reply (wait and ask again), CONFIG (credentials, certificates,
 * a registry that has never answered), DATA unknown_schema_id, bad_schema (a reference that does not exist), unsupported_schema. */
#define MR_CODE_REGISTRY_DOWN "registry_unavailable"
#define MR_CODE_REGISTRY_REPLY "registry_bad_reply"
#define MR_CODE_REGISTRY_AUTH "registry_auth"
#define MR_CODE_REGISTRY_TLS "registry_tls"

struct mr_registry;
/* CONFIG: options that contradict each other, files that cannot be read. */
enum mr_status mr_registry_create(const struct mr_config *cfg, struct mr_registry **out,
                                  struct mr_error *err) MR_MUST_CHECK;
void mr_registry_destroy(struct mr_registry *reg); /* NULL is fine */

enum mr_status mr_registry_schema(struct mr_registry *reg, const struct mr_schema_place *place,
                                  struct mr_arena *ar, struct mr_schema_reply *out,
                                  struct mr_error *err) MR_MUST_CHECK;
/* The serialized form of a Protobuf schema, in base64; "" = the registry has none to give. ENV, CONFIG as above, never DATA. */
enum mr_status mr_registry_descriptor(struct mr_registry *reg, const struct mr_schema_place *place,
                                      struct mr_arena *ar, struct mr_str *out,
                                      struct mr_error *err) MR_MUST_CHECK;
/* Does it answer, and let us in? */
enum mr_status mr_registry_ping(struct mr_registry *reg, struct mr_arena *ar,
                                struct mr_error *err) MR_MUST_CHECK;

#endif
