/* Time zones: from a wall clock in a zone to the instant. Read from the system's zone files, never from the process's own
 * zone. A zone is const after opening; any thread may use it. */
#ifndef MILLRACE_BASE_ZONE_H
#define MILLRACE_BASE_ZONE_H

#include <millrace/base/error.h>
#include <millrace/base/str.h>

struct mr_zone;

/* `name` is UTC, Z, an offset (+08:00, -0330, +5), or the name of a zone file ($TZDIR, else /usr/share/zoneinfo). CONFIG if there is none
 * of that name, or if its file cannot be read. */
enum mr_status mr_zone_open(const char *name_z, struct mr_zone **out, struct mr_error *err) MR_MUST_CHECK;
void mr_zone_close(struct mr_zone *zone); /* NULL is fine */

/* A wall clock's microseconds since 1970-01-01 00:00:00 as an instant. Of an hour that comes twice the first is meant; in an hour that is
 * left out the offset before the gap holds. False beyond int64. */
bool mr_zone_to_utc(const struct mr_zone *zone, int64_t local_us, int64_t *utc_us);

/* Seconds east of UTC at an instant (seconds since 1970). */
int32_t mr_zone_offset(const struct mr_zone *zone, int64_t utc_s);

#endif
