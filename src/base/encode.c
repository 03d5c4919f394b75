/* Base64, hexadecimal and UUID texts. */
#include <millrace/base/encode.h>

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char hex_digits[] = "0123456789abcdef";

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

bool mr_base64_decode(struct mr_str text, struct mr_arena *ar, struct mr_str *out)
{
    size_t len = text.len;
    if (len > 0 && len % 4 == 0 && text.ptr[len - 1] == '=')
        len -= text.ptr[len - 2] == '=' ? 2 : 1;
    if (len % 4 == 1)
        return false;
    unsigned char *bytes = mr_arena_alloc(ar, len / 4 * 3 + 3);
    size_t n = 0;
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < len; i++) {
        int value = base64_value(text.ptr[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes[n++] = (unsigned char)(bits >> count);
        }
    }
    /* Bits that belong to no byte must be zero: another text would decode to the same bytes. */
    if (bits & ((1u << count) - 1))
        return false;
    *out = mr_str_of((const char *)bytes, n);
    return true;
}

void mr_base64_append(struct mr_buf *buf, struct mr_str bytes)
{
    if (bytes.len > SIZE_MAX / 4 - 2) {
        buf->overflow = true;
        return;
    }
    size_t size = (bytes.len + 2) / 3 * 4;
    char *out = size ? mr_buf_reserve(buf, size) : NULL;
    if (!out)
        return;
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    size_t rest = bytes.len;
    for (; rest >= 3; rest -= 3, p += 3) {
        *out++ = base64_digits[p[0] >> 2];
        *out++ = base64_digits[(p[0] & 3) << 4 | p[1] >> 4];
        *out++ = base64_digits[(p[1] & 15) << 2 | p[2] >> 6];
        *out++ = base64_digits[p[2] & 63];
    }
    if (rest) {
        unsigned second = rest == 2 ? p[1] : 0;
        *out++ = base64_digits[p[0] >> 2];
        *out++ = base64_digits[(p[0] & 3) << 4 | second >> 4];
        *out++ = rest == 2 ? base64_digits[(second & 15) << 2] : '=';
        *out = '=';
    }
    buf->len += size;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool decode_hex(const char *text, size_t len, unsigned char *out)
{
    for (size_t i = 0; i < len; i += 2) {
        int high = hex_value(text[i]), low = hex_value(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i / 2] = (unsigned char)(high << 4 | low);
    }
    return true;
}

bool mr_hex_decode(struct mr_str text, struct mr_arena *ar, struct mr_str *out)
{
    if (text.len % 2)
        return false;
    unsigned char *bytes = mr_arena_alloc(ar, text.len / 2 + 1);
    if (!decode_hex(text.ptr, text.len, bytes))
        return false;
    *out = mr_str_of((const char *)bytes, text.len / 2);
    return true;
}

void mr_hex_append(struct mr_buf *buf, struct mr_str bytes)
{
    if (bytes.len > SIZE_MAX / 2) {
        buf->overflow = true;
        return;
    }
    char *out = bytes.len ? mr_buf_reserve(buf, bytes.len * 2) : NULL;
    if (!out)
        return;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.ptr[i];
        out[2 * i] = hex_digits[byte >> 4];
        out[2 * i + 1] = hex_digits[byte & 15];
    }
    buf->len += bytes.len * 2;
}

bool mr_uuid_parse(struct mr_str text, unsigned char out[16])
{
    char digits[32];
    if (text.len == 32) {
        memcpy(digits, text.ptr, 32);
    } else if (text.len == 36) {
        size_t n = 0;
        for (size_t i = 0; i < 36; i++) {
            bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
            if (is_dash != (text.ptr[i] == '-'))
                return false;
            if (!is_dash)
                digits[n++] = text.ptr[i];
        }
    } else {
        return false;
    }
    unsigned char bytes[16];
    if (!decode_hex(digits, 32, bytes))
        return false;
    memcpy(out, bytes, 16);
    return true;
}

void mr_uuid_format(const unsigned char bytes[16], char out[37])
{
    size_t n = 0;
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[n++] = '-';
        out[n++] = hex_digits[bytes[i] >> 4];
        out[n++] = hex_digits[bytes[i] & 15];
    }
    out[n] = 0;
}
