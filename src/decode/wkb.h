/* Geometries as the sources send them: WKB, PostGIS's EWKB, or MySQL's own form with four bytes of SRID in front. */
#ifndef MILLRACE_DECODE_WKB_H
#define MILLRACE_DECODE_WKB_H

#include <millrace/base/arena.h>
#include <millrace/model/value.h>

/* The document that Debezium makes of a geometry: {"wkb": base64, "srid": n}. What parses to its exact end as WKB is taken as that; else four bytes
 * of SRID come first. False: it is neither. */
bool mr_wkb_read(struct mr_str bytes, struct mr_arena *ar, struct mr_value *out);

#endif
