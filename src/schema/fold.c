/* Case folding of names. ASCII for targets that fold no more (SQLite); every letter that the server folds where the dialect says so (MySQL). Simple one-to-one folding: two names that fold alike are the same, nothing more is needed. */
#include "fold.h"

#include <millrace/base/utf8.h>

#define MAX_NAME (64 * 1024)

static uint32_t fold_ascii(uint32_t c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Every `stride`th character from first to last folds to itself plus delta. What MySQL and MariaDB take for the same letter in names of columns, asked of
 * the servers character by character: they compare by small letters, and MariaDB by capitals besides where a table is wide (the micro sign is mu there,
 * the dotless i an i). Only the basic plane, and only letters of older versions of Unicode. */
struct range {
    uint16_t first, last;
    int16_t delta;
    uint16_t stride;
};

/* clang-format off */
static const struct range ranges[] = {
    {0x00B5, 0x00B5, 775, 1}, {0x00C0, 0x00D6, 32, 1}, {0x00D8, 0x00DE, 32, 1}, {0x0100, 0x012E, 1, 2},
    {0x0130, 0x0130, -199, 1}, {0x0131, 0x0131, -200, 1}, {0x0132, 0x0136, 1, 2}, {0x0139, 0x0147, 1, 2},
    {0x014A, 0x0176, 1, 2}, {0x0178, 0x0178, -121, 1}, {0x0179, 0x017D, 1, 2}, {0x017F, 0x017F, -268, 1},
    {0x0181, 0x0181, 210, 1}, {0x0182, 0x0184, 1, 2}, {0x0186, 0x0186, 206, 1}, {0x0187, 0x0187, 1, 1},
    {0x0189, 0x018A, 205, 1}, {0x018B, 0x018B, 1, 1}, {0x018E, 0x018E, 79, 1}, {0x018F, 0x018F, 202, 1},
    {0x0190, 0x0190, 203, 1}, {0x0191, 0x0191, 1, 1}, {0x0193, 0x0193, 205, 1}, {0x0194, 0x0194, 207, 1},
    {0x0196, 0x0196, 211, 1}, {0x0197, 0x0197, 209, 1}, {0x0198, 0x0198, 1, 1}, {0x019C, 0x019C, 211, 1},
    {0x019D, 0x019D, 213, 1}, {0x019F, 0x019F, 214, 1}, {0x01A0, 0x01A4, 1, 2}, {0x01A6, 0x01A6, 218, 1},
    {0x01A7, 0x01A7, 1, 1}, {0x01A9, 0x01A9, 218, 1}, {0x01AC, 0x01AC, 1, 1}, {0x01AE, 0x01AE, 218, 1},
    {0x01AF, 0x01AF, 1, 1}, {0x01B1, 0x01B2, 217, 1}, {0x01B3, 0x01B5, 1, 2}, {0x01B7, 0x01B7, 219, 1},
    {0x01B8, 0x01B8, 1, 1}, {0x01BC, 0x01BC, 1, 1}, {0x01C4, 0x01C4, 2, 1}, {0x01C5, 0x01C5, 1, 1},
    {0x01C7, 0x01C7, 2, 1}, {0x01C8, 0x01C8, 1, 1}, {0x01CA, 0x01CA, 2, 1}, {0x01CB, 0x01DB, 1, 2},
    {0x01DE, 0x01EE, 1, 2}, {0x01F1, 0x01F1, 2, 1}, {0x01F2, 0x01F4, 1, 2}, {0x01F6, 0x01F6, -97, 1},
    {0x01F7, 0x01F7, -56, 1}, {0x01F8, 0x021E, 1, 2}, {0x0222, 0x0232, 1, 2}, {0x0345, 0x0345, 116, 1},
    {0x0386, 0x0386, 38, 1}, {0x0388, 0x038A, 37, 1}, {0x038C, 0x038C, 64, 1}, {0x038E, 0x038F, 63, 1},
    {0x0391, 0x03A1, 32, 1}, {0x03A3, 0x03AB, 32, 1}, {0x03C2, 0x03C2, 1, 1}, {0x03D0, 0x03D0, -30, 1},
    {0x03D1, 0x03D1, -25, 1}, {0x03D5, 0x03D5, -15, 1}, {0x03D6, 0x03D6, -22, 1}, {0x03DA, 0x03EE, 1, 2},
    {0x03F0, 0x03F0, -54, 1}, {0x03F1, 0x03F1, -48, 1}, {0x03F2, 0x03F2, -47, 1}, {0x0400, 0x040F, 80, 1},
    {0x0410, 0x042F, 32, 1}, {0x0460, 0x0480, 1, 2}, {0x048C, 0x04BE, 1, 2}, {0x04C1, 0x04C3, 1, 2},
    {0x04C7, 0x04C7, 1, 1}, {0x04CB, 0x04CB, 1, 1}, {0x04D0, 0x04F4, 1, 2}, {0x04F8, 0x04F8, 1, 1},
    {0x0531, 0x0556, 48, 1}, {0x1E00, 0x1E94, 1, 2}, {0x1E9B, 0x1E9B, -58, 1}, {0x1E9E, 0x1E9E, -7615, 1}, {0x1EA0, 0x1EF8, 1, 2},
    {0x1F08, 0x1F0F, -8, 1}, {0x1F18, 0x1F1D, -8, 1}, {0x1F28, 0x1F2F, -8, 1}, {0x1F38, 0x1F3F, -8, 1},
    {0x1F48, 0x1F4D, -8, 1}, {0x1F59, 0x1F5F, -8, 2}, {0x1F68, 0x1F6F, -8, 1}, {0x1F88, 0x1F8F, -8, 1},
    {0x1F98, 0x1F9F, -8, 1}, {0x1FA8, 0x1FAF, -8, 1}, {0x1FB8, 0x1FB9, -8, 1}, {0x1FBA, 0x1FBB, -74, 1},
    {0x1FBC, 0x1FBC, -9, 1}, {0x1FBE, 0x1FBE, -7173, 1}, {0x1FC8, 0x1FCB, -86, 1}, {0x1FCC, 0x1FCC, -9, 1},
    {0x1FD8, 0x1FD9, -8, 1}, {0x1FDA, 0x1FDB, -100, 1}, {0x1FE8, 0x1FE9, -8, 1}, {0x1FEA, 0x1FEB, -112, 1},
    {0x1FEC, 0x1FEC, -7, 1}, {0x1FF8, 0x1FF9, -128, 1}, {0x1FFA, 0x1FFB, -126, 1}, {0x1FFC, 0x1FFC, -9, 1},
    {0x2126, 0x2126, -7517, 1}, {0x212A, 0x212A, -8383, 1}, {0x212B, 0x212B, -8262, 1}, {0x2160, 0x216F, 16, 1},
    {0x24B6, 0x24CF, 26, 1}, {0xFF21, 0xFF3A, 32, 1},
};
/* clang-format on */

static uint32_t fold_wide(uint32_t c)
{
    size_t low = 0, high = sizeof ranges / sizeof *ranges;

    if (c < 0x80)
        return fold_ascii(c);
    while (low < high) {
        size_t at = (low + high) / 2;
        const struct range *range = &ranges[at];
        if (c < range->first)
            high = at;
        else if (c > range->last)
            low = at + 1;
        else
            return (c - range->first) % range->stride == 0 ? (uint32_t)((int32_t)c + range->delta) : c;
    }
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
