/* See names.h. Case is changed character by character, for ASCII, Latin, Greek and Cyrillic: what names are written in. */
#include "names.h"

#include <millrace/base/buf.h>
#include <millrace/base/utf8.h>

static uint32_t lower(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if (c >= 0xc0 && c <= 0xde && c != 0xd7)
        return c + 32;
    if (c == 0x178)
        return 0xff;
    if (c == 0x130 || c == 0x131) /* dotted and dotless i are no pair */
        return c;
    if ((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177)) /* pairs, capital on even */
        return c | 1;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e)) /* pairs, capital on odd */
        return c + (c & 1);
    if (c >= 0x391 && c <= 0x3a9 && c != 0x3a2)
        return c + 32;
    if (c >= 0x400 && c <= 0x40f)
        return c + 80;
    if (c >= 0x410 && c <= 0x42f)
        return c + 32;
    if (c >= 0x460 && c <= 0x481)
        return c | 1;
    return c;
}

/* Backwards through the same pairs. */
static uint32_t upper(uint32_t c)
{
    static const int16_t distances[] = {-32, -1, -80};
    if (c == 0xff)
        return 0x178;
    for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        uint32_t other = (uint32_t)((int32_t)c + distances[i]);
        if (c >= (uint32_t)-distances[i] && other != c && lower(other) == c)
            return other;
    }
    return c;
}

struct mr_str mr_name_spelled(const struct mr_config *cfg, struct mr_str name, struct mr_arena *ar)
{
    if (cfg->name_case == MR_CASE_PRESERVE || name.len == 0)
        return name;
    /* A pair may differ in length (Ɐ); two bytes more for each is ample for those above. */
    char *out = mr_arena_alloc(ar, name.len * 2 + 4);
    size_t n = 0;
    while (name.len > 0) {
        uint32_t c;
        size_t len = mr_utf8_decode(name, &c);
        if (len == 0) { /* a byte that is no UTF-8 stands for itself */
            out[n++] = name.ptr[0];
            len = 1;
        } else {
            n += mr_utf8_encode(cfg->name_case == MR_CASE_LOWER ? lower(c) : upper(c), out + n);
        }
        name = mr_str_of(name.ptr + len, name.len - len);
    }
    return mr_str_of(out, n);
}

enum mr_status mr_name_unnamed(const struct mr_config *cfg, bool is_bare, struct mr_relation *out, struct mr_error *err)
{
    *out = (struct mr_relation){MR_STR(""), MR_STR("")};
    if (is_bare && cfg->file_topic != NULL && cfg->file_topic[0] != '\0')
        return MR_OK;
    if (cfg->target_table_set && strchr(cfg->target_table, '{') == NULL) {
        out->table = mr_str_z(cfg->target_table);
        return MR_OK;
    }
    enum mr_status status = mr_fail_data(err, MR_CODE_NO_TABLE, "the message names no table");
    mr_error_hint(err, "set target.table to the table of such messages (for a file, --topic will do too)");
    return status;
}
