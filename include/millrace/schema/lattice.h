/* The join of two types: the smallest type that holds the values of both without loss, or a conflict. Commutative,
 * associative, idempotent, never narrows (tests/property/lattice). Rules: ARCHITECTURE.md, "Types". */
#ifndef MILLRACE_SCHEMA_LATTICE_H
#define MILLRACE_SCHEMA_LATTICE_H

#include <millrace/model/type.h>
#include <millrace/model/value.h>

/* What the values seen so far need, beside the type. Facts of two value sets add up by maximum and by or. */
struct mr_facts {
    uint32_t int_digits;   /* widest integer part of a number */
    uint32_t frac_digits;  /* widest fraction, trailing zeros kept */
    uint64_t max_abs;      /* largest |n| of whole numbers; UINT64_MAX = at least that */
    uint32_t max_len;      /* longest text or bytes, in bytes */
    bool has_special;      /* NaN or an infinity was there */
    bool has_fraction;     /* a number that is not whole was there */
    bool has_negative_time; /* a TIME value outside 0…24 h */
    bool has_inexact;      /* a number that no double holds digit for digit; not kept over a restart */
};

struct mr_facts mr_facts_of(struct mr_value v);
void mr_facts_add(struct mr_facts *into, const struct mr_facts *more);

/* The join; false = conflict (*out untouched). `facts` are those of both sides together. MR_T_NONE is neutral. The
 * result's origin is the stronger of the two. */
bool mr_type_join(struct mr_type a, struct mr_type b, const struct mr_facts *facts, struct mr_type *out);

/* What a value is for a column of type `have`: fits as it is (fast test, no join needed). */
bool mr_type_accepts(struct mr_type have, struct mr_value v);

#endif
