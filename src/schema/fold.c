/* Case folding of names. ASCII for targets that fold no more (SQLite); Latin-1, Latin Extended-A, Greek and Cyrillic besides where
 * the dialect says so (MySQL). Simple one-to-one folding: two names that fold alike are the same, nothing more is needed. */
#include "fold.h"

#include <millrace/base/utf8.h>

#define MAX_NAME (64 * 1024)

static uint32_t fold_ascii(uint32_t c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static uint32_t fold_wide(uint32_t c)
{
    if (c < 0x80)
        return fold_ascii(c);
    if (c >= 0xC0 && c <= 0xDE && c != 0xD7) /* À … Þ without × */
        return c + 32;
    if (c == 0x178) /* Ÿ */
        return 0xFF;
    if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177)) /* pairs, capital on even */
        return c | 1;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) /* pairs, capital on odd */
        return c + (c & 1);
    if (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) /* Α … Ω */
        return c + 32;
    if (c == 0x3C2) /* final sigma */
        return 0x3C3;
    if (c == 0x386)
        return 0x3AC;
    if (c >= 0x388 && c <= 0x38A)
        return c + 37;
    if (c == 0x38C)
        return 0x3CC;
    if (c == 0x38E || c == 0x38F)
        return c + 63;
    if (c >= 0x400 && c <= 0x40F) /* Ѐ … Џ */
        return c + 80;
    if (c >= 0x410 && c <= 0x42F) /* А … Я */
        return c + 32;
    if (c >= 0x460 && c <= 0x481)
        return c | 1;
    return c;
}

void mr_name_fold(const struct mr_dialect *dialect, struct mr_str name, struct mr_buf *out)
{
    if (!dialect->ident_case_folds) {
        mr_buf_append_str(out, name);
        return;
    }
    while (name.len > 0) {
        uint32_t c;
        size_t len = mr_utf8_decode(name, &c);

        if (len == 0 || c < 0x80 || !dialect->ident_folds_unicode) {
            if (len == 0)
                len = 1; /* a byte that is no UTF-8 stands for itself */
            mr_buf_append_char(out, (char)fold_ascii((unsigned char)name.ptr[0]));
            mr_buf_append(out, name.ptr + 1, len - 1);
        } else {
            char text[4];
            mr_buf_append(out, text, mr_utf8_encode(fold_wide(c), text));
        }
        name = mr_str_of(name.ptr + len, name.len - len);
    }
}

bool mr_name_same(const struct mr_dialect *dialect, struct mr_str a, struct mr_str b)
{
    if (mr_str_eq(a, b))
        return true;
    if (!dialect->ident_case_folds)
        return false;

    struct mr_buf fa = MR_BUF_INIT(MAX_NAME), fb = MR_BUF_INIT(MAX_NAME);
    mr_name_fold(dialect, a, &fa);
    mr_name_fold(dialect, b, &fb);
    bool same = !fa.overflow && !fb.overflow && mr_str_eq(mr_buf_str(&fa), mr_buf_str(&fb));
    mr_buf_free(&fa);
    mr_buf_free(&fb);
    return same;
}

int mr_catalog_find(const struct mr_dialect *dialect, const struct mr_catalog_table *now,
                    struct mr_str name)
{
    for (size_t i = 0; i < now->column_count; i++)
        if (mr_str_eq(now->columns[i].name, name))
            return (int)i;
    if (!dialect->ident_case_folds)
        return -1;

    struct mr_buf wanted = MR_BUF_INIT(MAX_NAME), other = MR_BUF_INIT(MAX_NAME);
    int found = -1;
    mr_name_fold(dialect, name, &wanted);
    for (size_t i = 0; i < now->column_count && found < 0; i++) {
        mr_buf_clear(&other);
        mr_name_fold(dialect, now->columns[i].name, &other);
        if (mr_str_eq(mr_buf_str(&wanted), mr_buf_str(&other)))
            found = (int)i;
    }
    mr_buf_free(&wanted);
    mr_buf_free(&other);
    return found;
}
