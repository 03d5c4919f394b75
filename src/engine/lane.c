/* Lanes of keys: see lane.h. */
#include "lane.h"

#include <millrace/base/decimal.h>
#include <millrace/base/hash.h>

#define MAX_DIGITS 400 /* numbers with more of them share a lane: writing them out would cost more than it spreads */

/* 1, 1.0, 1e0 and the text "1" are one key under some column type. */
static struct mr_str form_of(struct mr_value v, struct mr_buf *scratch, struct mr_arena *ar)
{
    struct mr_decimal_info info;
    mr_buf_clear(scratch);
    mr_value_append_text(v, scratch);
    struct mr_str text = mr_buf_str(scratch);
    if (v.tag == MR_V_INT || !mr_decimal_parse(text, &info))
        return text;
    if (info.int_digits > MAX_DIGITS || info.frac_significant > MAX_DIGITS)
        return (struct mr_str){0};
    return mr_decimal_canonical(text, ar);
}

void mr_lane_add(uint64_t *key, struct mr_str path, struct mr_value v, struct mr_buf *scratch, struct mr_arena *ar)
{
    struct mr_str form = form_of(v, scratch, ar);
    *key += mr_hash(form.len > 0 ? form.ptr : "", form.len, mr_hash(path.ptr, path.len, 1));
}

uint32_t mr_lane_of(struct mr_str target_table, uint64_t key, uint32_t lanes)
{
    if (lanes == 1)
        return 0;
    uint64_t h = mr_hash(target_table.ptr, target_table.len, key);
    uint32_t shard = (uint32_t)(h >> 60); /* 16 shards */
    return shard * lanes / 16;
}
