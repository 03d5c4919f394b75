/* Names of databases, tables and columns in the spelling that name_case asks for. */
#ifndef MILLRACE_DECODE_NAMES_H
#define MILLRACE_DECODE_NAMES_H

#include <millrace/base/arena.h>
#include <millrace/config/config.h>
#include <millrace/model/change.h>

/* `name` itself where nothing changes, else a copy in `ar`. */
struct mr_str mr_name_spelled(const struct mr_config *cfg, struct mr_str name, struct mr_arena *ar);

/* The relation of rows whose message names none: what the operator says with --topic (for a file's bare events) or with a target.table that is a
 * plain name. DATA no_table without either: such topics are called anything, so the topic's name is no guess to make. */
enum mr_status mr_name_unnamed(const struct mr_config *cfg, bool is_bare, struct mr_relation *out, struct mr_error *err)
    MR_MUST_CHECK;

#endif
