/* See charset.h. The conversions are libc's; the names are the sources' own, and MySQL's latin1 is ours: it is windows-1252, with the five bytes
 * that windows-1252 leaves open as control characters. */
#include "charset.h"

#include <iconv.h>
#include <stdint.h>

#include <millrace/base/utf8.h>

static const struct {
    const char *name_z;  /* without '-' and '_', in lower case */
    const char *iconv_z; /* NULL = UTF-8; "" = latin1 */
} charsets[] = {
    {"utf8", NULL},
    {"utf8mb3", NULL},
    {"utf8mb4", NULL},
    {"al32utf8", NULL},
    {"unicode", NULL},
    {"latin1", ""},
    {"cp1252", ""},
    {"windows1252", ""},
    {"win1252", ""},
    {"we8mswin1252", ""},
    {"ascii", "ASCII"},
    {"usascii", "ASCII"},
    {"us7ascii", "ASCII"},
    {"sqlascii", NULL},
    {"iso88591", "ISO-8859-1"},
    {"we8iso8859p1", "ISO-8859-1"},
    {"latin2", "ISO-8859-2"},
    {"iso88592", "ISO-8859-2"},
    {"latin5", "ISO-8859-9"},
    {"iso88599", "ISO-8859-9"},
    {"latin7", "ISO-8859-13"},
    {"iso885913", "ISO-8859-13"},
    {"iso885915", "ISO-8859-15"},
    {"latin9", "ISO-8859-15"},
    {"we8iso8859p15", "ISO-8859-15"},
    {"greek", "ISO-8859-7"},
    {"iso88597", "ISO-8859-7"},
    {"hebrew", "ISO-8859-8"},
    {"iso88598", "ISO-8859-8"},
    {"iso88595", "ISO-8859-5"},
    {"iso88596", "ISO-8859-6"},
    {"tis620", "TIS-620"},
    {"cp1250", "CP1250"},
    {"windows1250", "CP1250"},
    {"win1250", "CP1250"},
    {"ee8mswin1250", "CP1250"},
    {"cp1251", "CP1251"},
    {"windows1251", "CP1251"},
    {"win1251", "CP1251"},
    {"cl8mswin1251", "CP1251"},
    {"cp1253", "CP1253"},
    {"cp1254", "CP1254"},
    {"cp1255", "CP1255"},
    {"cp1256", "CP1256"},
    {"cp1257", "CP1257"},
    {"cp1258", "CP1258"},
    {"cp850", "CP850"},
    {"cp852", "CP852"},
    {"cp866", "CP866"},
    {"koi8r", "KOI8-R"},
    {"cl8koi8r", "KOI8-R"},
    {"koi8u", "KOI8-U"},
    {"gbk", "GBK"},
    {"cp936", "CP936"},
    {"zhs16gbk", "GBK"},
    {"gb2312", "EUC-CN"},
    {"euccn", "EUC-CN"},
    {"zhs16cgb231280", "EUC-CN"},
    {"gb18030", "GB18030"},
    {"zhs32gb18030", "GB18030"},
    {"big5", "BIG5"},
    {"zht16big5", "BIG5"},
    {"zht16mswin950", "CP950"},
    {"cp950", "CP950"},
    {"sjis", "SJIS"},
    {"shiftjis", "SJIS"},
    {"ja16sjis", "CP932"},
    {"cp932", "CP932"},
    {"ujis", "EUC-JP"},
    {"eucjp", "EUC-JP"},
    {"ja16euc", "EUC-JP"},
    {"eucjpms", "EUC-JP-MS"},
    {"euckr", "EUC-KR"},
    {"ko16ksc5601", "EUC-KR"},
    {"ko16mswin949", "UHC"},
    {"cp949", "UHC"},
    {"ucs2", "UCS-2BE"},
    {"utf16", "UTF-16BE"},
    {"utf16be", "UTF-16BE"},
    {"al16utf16", "UTF-16BE"},
    {"utf16le", "UTF-16LE"},
    {"utf32", "UTF-32BE"},
    {"macroman", "MACINTOSH"},
    {"armscii8", "ARMSCII-8"},
};

#define COUNT (sizeof(charsets) / sizeof(charsets[0]))

bool mr_charset_is_binary(struct mr_str name)
{
    return name.len == 0 || mr_str_eq_nocase(name, MR_STR("binary"));
}

static bool is_named(struct mr_str name, const char *want_z)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c == '-' || c == '_')
            continue;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c + 32);
        if (c != *want_z || c == '\0')
            return false;
        want_z++;
    }
    return *want_z == '\0';
}

static enum mr_charset_result latin1(struct mr_str bytes, struct mr_arena *ar, struct mr_str *out)
{
    static const uint16_t upper[32] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                       0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                       0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                       0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};
    char *text = mr_arena_alloc(ar, bytes.len * 3 + 4);
    size_t n = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        n += mr_utf8_encode(c >= 0x80 && c < 0xa0 ? upper[c - 0x80] : c, text + n);
    }
    *out = mr_str_of(text, n);
    return MR_CHARSET_OK;
}

/* The converter used last: opening one may load a library. */
static struct {
    const char *name_z;
    iconv_t cd;
} kept;

static bool open_converter(const char *name_z)
{
    if (kept.name_z != NULL && strcmp(kept.name_z, name_z) == 0)
        return true;
    iconv_t cd = iconv_open("UTF-8", name_z);
    if (cd == (iconv_t)-1)
        return false;
    if (kept.name_z != NULL)
        (void)iconv_close(kept.cd);
    kept.name_z = name_z;
    kept.cd = cd;
    return true;
}

/* One character of any of the sets becomes at most four bytes a byte. */
static enum mr_charset_result convert(struct mr_str bytes, struct mr_arena *ar, struct mr_str *out)
{
    size_t cap = bytes.len * 4 + 16, in_left = bytes.len, out_left = cap;
    char *text = mr_arena_alloc(ar, cap), *to = text, *from = (char *)(bytes.ptr != NULL ? bytes.ptr : "");
    (void)iconv(kept.cd, NULL, NULL, NULL, NULL);
    size_t done = iconv(kept.cd, &from, &in_left, &to, &out_left);
    if (done == (size_t)-1 || in_left != 0 || iconv(kept.cd, NULL, NULL, &to, &out_left) == (size_t)-1)
        return MR_CHARSET_BAD;
    *out = mr_str_of(text, cap - out_left);
    return MR_CHARSET_OK;
}

enum mr_charset_result mr_charset_decode(struct mr_str name, struct mr_str bytes, struct mr_arena *ar,
                                         struct mr_str *out)
{
    size_t i = 0;
    while (i < COUNT && !is_named(name, charsets[i].name_z))
        i++;
    if (i == COUNT)
        return MR_CHARSET_UNKNOWN;
    const char *iconv_z = charsets[i].iconv_z;
    if (iconv_z == NULL) {
        *out = bytes;
        return MR_CHARSET_OK;
    }
    if (*iconv_z == '\0')
        return latin1(bytes, ar, out);
    return open_converter(iconv_z) ? convert(bytes, ar, out) : MR_CHARSET_UNKNOWN;
}
