/* OAuth's client credentials for the registry: a token from its issuer, kept until shortly before it expires. */
#ifndef MILLRACE_DECODE_REGISTRY_OAUTH_H
#define MILLRACE_DECODE_REGISTRY_OAUTH_H

#include "schema_registry.h"

struct mr_oauth;
/* CONFIG: settings are missing. */
enum mr_status mr_oauth_create(const struct mr_config *cfg, struct mr_oauth **out,
                               struct mr_error *err) MR_MUST_CHECK;
void mr_oauth_destroy(struct mr_oauth *o); /* NULL is fine */
/* The token, asked for if there is none or it is about to expire. ENV: the issuer does not answer; CONFIG registry_auth: it refuses. */
enum mr_status mr_oauth_token(struct mr_oauth *o, const char **token_z, struct mr_error *err) MR_MUST_CHECK;
/* The registry has taken it. */
void mr_oauth_accepted(struct mr_oauth *o);
/* The registry does not take it: forget it. True if it had taken it before, so that another one may help. */
bool mr_oauth_forget(struct mr_oauth *o);

/* Are they Kafka's credentials (SASL_OAUTHBEARER_INHERIT)? */
bool mr_oauth_is_inherited(const struct mr_registry_config *rc);

#endif
