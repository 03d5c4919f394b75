/* Adjusting names: see field_name.h. Checked against the transform itself; test_field_name.c has what it gave. */
#include <millrace/model/field_name.h>

#include <millrace/base/utf8.h>

#define REPLACEMENT 0xFFFDu /* what a Java string holds in place of bytes that are no UTF-8 */

static bool is_letter(uint32_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

/* A code of one or two digits gets two zeros; longer ones stay as they are, so U+0301 is _u301. */
static void append_unit(enum mr_name_mode mode, uint32_t unit, struct mr_buf *out)
{
    if (mode == MR_NAMES_AVRO)
        mr_buf_append_char(out, '_');
    else
        mr_buf_printf(out, unit <= 0xFF ? "_u00%x" : "_u%x", (unsigned)unit);
}

static void append_character(enum mr_name_mode mode, uint32_t c, bool is_first, struct mr_buf *out)
{
    bool is_legal = is_letter(c) || (c == '_' && mode == MR_NAMES_AVRO) || (is_digit(c) && !is_first);

    if (is_legal) {
        mr_buf_append_char(out, (char)c);
    } else if (is_digit(c) && mode == MR_NAMES_AVRO) {
        mr_buf_append_char(out, '_');
        mr_buf_append_char(out, (char)c);
    } else if (c > 0xFFFF) {
        append_unit(mode, 0xD800 + ((c - 0x10000) >> 10), out);
        append_unit(mode, 0xDC00 + ((c - 0x10000) & 0x3FF), out);
    } else {
        append_unit(mode, c, out);
    }
}

void mr_field_name_append(enum mr_name_mode mode, struct mr_str name, struct mr_buf *out)
{
    if (mode == MR_NAMES_NONE) {
        mr_buf_append_str(out, name);
        return;
    }
    for (size_t i = 0; i < name.len;) {
        uint32_t c;
        size_t len = mr_utf8_decode(mr_str_of(name.ptr + i, name.len - i), &c);
        append_character(mode, len == 0 ? REPLACEMENT : c, i == 0, out);
        i += len == 0 ? 1 : len;
    }
}
