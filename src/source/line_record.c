/* JSON line to record.
 *
 * The difficulty is to tell a record from a bare event that happens to have columns named key or value. Rule: every member's name is
 * one that records have, there is a value (`value`, `payload`, `value_base64`), and there is evidence that no table row would give:
 * a `topic` that is a text; or `partition` and `offset`; or one of these beside a key; or a `..._base64` member; or exactly
 * {key, value} where the value is a JSON document (or null beside a key that is one). Debezium's own wrapper {"schema","payload"} has a name
 * that records have not, and {"payload": …} alone has no evidence. Once the line is a record, a member of a wrong type makes it a
 * broken line. */
#include "line_record.h"

#include "json_scan.h"

#include <millrace/base/encode.h>
#include <millrace/base/error.h>
#include <millrace/base/time.h>

#include <stdarg.h>
#include <stdio.h>

enum member {
    M_TOPIC,
    M_PARTITION,
    M_OFFSET,
    M_TIMESTAMP,
    M_TS,
    M_KEY,
    M_VALUE,
    M_PAYLOAD,
    M_HEADERS,
    M_KEY_BASE64,
    M_VALUE_BASE64,
    M_HEADERS_BASE64,
    M_TSTYPE,
    M_BROKER,
    M_COUNT,
};

static const char *const member_names[M_COUNT] = {
    [M_TOPIC] = "topic",
    [M_PARTITION] = "partition",
    [M_OFFSET] = "offset",
    [M_TIMESTAMP] = "timestamp",
    [M_TS] = "ts",
    [M_KEY] = "key",
    [M_VALUE] = "value",
    [M_PAYLOAD] = "payload",
    [M_HEADERS] = "headers",
    [M_KEY_BASE64] = "key_base64",
    [M_VALUE_BASE64] = "value_base64",
    [M_HEADERS_BASE64] = "headers_base64",
    [M_TSTYPE] = "tstype",
    [M_BROKER] = "broker",
};

struct members {
    struct mr_scan_value value[M_COUNT];
    bool seen[M_COUNT];
    size_t count;
};

/* A record with more headers is refused: each costs memory beyond its share of the line. */
#define MAX_HEADERS ((size_t)10000)

struct header_list {
    struct mr_header *items;
    size_t count, cap;
    bool is_base64;
};

/* What the line turned out to be. */
enum line_kind { LINE_RECORD, LINE_BARE, LINE_BROKEN };

static void start_record(const struct mr_line_place *place, struct mr_record *rec)
{
    rec->topic = place->topic;
    rec->partition = -1;
    rec->offset = place->line;
    rec->timestamp_ms = -1;
    rec->key = rec->value = (struct mr_str){NULL, 0};
    rec->has_key = rec->has_value = false;
    rec->is_bare = false;
    rec->headers = NULL;
    rec->header_count = 0;
    rec->broken_code = NULL;
    rec->broken_message = (struct mr_str){NULL, 0};
}

void mr_line_broken(struct mr_str text, const struct mr_line_place *place, struct mr_arena *ar,
                    struct mr_record *rec, const char *fmt, ...)
{
    char what[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);

    start_record(place, rec);
    rec->value = text;
    rec->has_value = true;
    rec->is_bare = true;
    rec->broken_code = MR_CODE_BAD_LINE;
    rec->broken_message = mr_arena_printf(ar, "%s, line %lld: %s", place->file_z,
                                          (long long)place->line, what);
}

static int member_of(struct mr_str name)
{
    for (int i = 0; i < M_COUNT; i++)
        if (mr_str_eq_z(name, member_names[i]))
            return i;
    return -1;
}

/* Is the value a JSON object, or a text that holds one? */
static bool holds_document(const struct mr_scan_value *value)
{
    struct mr_str text = value->text;

    if (value->kind == MR_SCAN_OBJECT)
        return true;
    if (value->kind != MR_SCAN_STRING)
        return false;
    text = mr_str_trim(text);
    return text.len >= 2 && text.ptr[0] == '{';
}

static bool has_evidence(const struct members *m)
{
    bool has_place = m->seen[M_PARTITION] || m->seen[M_OFFSET];

    if (m->seen[M_KEY_BASE64] || m->seen[M_VALUE_BASE64])
        return true;
    if (m->seen[M_TOPIC])
        return m->value[M_TOPIC].kind == MR_SCAN_STRING;
    if (m->seen[M_PARTITION] && m->seen[M_OFFSET])
        return true;
    if (has_place && m->seen[M_KEY])
        return true;
    if (m->count != 2 || !m->seen[M_KEY] || !m->seen[M_VALUE])
        return false;
    return holds_document(&m->value[M_VALUE]) ||
           (m->value[M_VALUE].kind == MR_SCAN_NULL && holds_document(&m->value[M_KEY]));
}

/* Walk the outer object as long as it may be a record. */
static enum line_kind classify(struct mr_scan *sc, struct members *m)
{
    *m = (struct members){0};
    if (!mr_scan_char(sc, '{')) {
        sc->expected = "a JSON object (one a line)";
        return LINE_BROKEN;
    }
    for (bool is_first = true;; is_first = false) {
        struct mr_scan_value value;
        struct mr_str name = {NULL, 0};
        bool more;
        int i;

        if (!mr_scan_member(sc, is_first, &name, &value, &more))
            return name.ptr && member_of(name) < 0 ? LINE_BARE : LINE_BROKEN;
        if (!more)
            break;
        i = member_of(name);
        if (i < 0)
            return LINE_BARE; /* the decoder reads the rest */
        m->count += !m->seen[i];
        m->seen[i] = true;
        m->value[i] = value;
    }
    if (!(m->seen[M_VALUE] || m->seen[M_PAYLOAD] || m->seen[M_VALUE_BASE64]) || !has_evidence(m))
        return LINE_BARE;
    mr_scan_blanks(sc);
    if (sc->pos < sc->end) {
        sc->expected = "the end of the line";
        return LINE_BROKEN;
    }
    return LINE_RECORD;
}

static bool is_given(const struct members *m, enum member i)
{
    return m->seen[i] && m->value[i].kind != MR_SCAN_NULL;
}

/* A whole number within bounds; `out` keeps what it has if the member is absent or null. */
static bool read_int(const struct members *m, enum member i, int64_t min, int64_t max, int64_t *out)
{
    int64_t n;

    if (!is_given(m, i))
        return true;
    if (m->value[i].kind != MR_SCAN_SCALAR || !mr_parse_int64(m->value[i].text, &n) || n < min ||
        n > max)
        return false;
    *out = n;
    return true;
}

/* Milliseconds, or an ISO time. */
static bool read_time(const struct members *m, enum member i, int64_t *out)
{
    int64_t us;
    bool has_zone;

    if (!is_given(m, i) || m->value[i].kind != MR_SCAN_STRING)
        return read_int(m, i, INT64_MIN, INT64_MAX, out);
    if (!mr_parse_timestamptz(m->value[i].text, &us, &has_zone))
        return false;
    *out = mr_floor_div(us, 1000);
    return true;
}

/* key or value: base64 if that is given, else the text or document. */
static bool read_bytes(const struct members *m, enum member base64, enum member plain,
                       struct mr_arena *ar, struct mr_str *out, bool *has, enum member *bad)
{
    struct mr_str text;

    if (is_given(m, base64)) {
        *bad = base64;
        *has = true;
        return m->value[base64].kind == MR_SCAN_STRING &&
               mr_scan_string(&m->value[base64], ar, &text) && mr_base64_decode(text, ar, out);
    }
    *bad = plain;
    *has = is_given(m, plain);
    return !*has || mr_scan_message(&m->value[plain], ar, out);
}

static bool add_header(struct header_list *list, struct mr_str name,
                       const struct mr_scan_value *value, struct mr_arena *ar)
{
    struct mr_header *header;

    if (list->count == list->cap)
        return false;
    header = &list->items[list->count++];
    header->name = name;
    header->is_null = value->kind == MR_SCAN_NULL;
    header->value = (struct mr_str){NULL, 0};
    if (header->is_null)
        return true;
    if (!mr_scan_message(value, ar, &header->value))
        return false;
    struct mr_str text = header->value;
    return !list->is_base64 || mr_base64_decode(text, ar, &header->value);
}

/* {"name": value, …} */
static bool headers_of_object(struct mr_scan *sc, struct header_list *list, struct mr_arena *ar)
{
    mr_scan_char(sc, '{');
    for (bool is_first = true;; is_first = false) {
        struct mr_scan_value name = {.kind = MR_SCAN_STRING}, value;
        struct mr_str text;
        bool more;

        if (!mr_scan_member(sc, is_first, &name.text, &value, &more))
            return false;
        if (!more)
            return true;
        name.is_escaped = name.text.len > 0 && memchr(name.text.ptr, '\\', name.text.len);
        if (!mr_scan_string(&name, ar, &text) || !add_header(list, text, &value, ar))
            return false;
    }
}

/* The elements of a pair [name, value]. */
static bool header_of_pair(struct mr_str pair, struct header_list *list, struct mr_arena *ar)
{
    struct mr_scan sc = mr_scan_begin(pair);
    struct mr_scan_value name, value;
    struct mr_str text;

    return mr_scan_char(&sc, '[') && mr_scan_next(&sc, &name) && name.kind == MR_SCAN_STRING &&
           mr_scan_string(&name, ar, &text) && mr_scan_char(&sc, ',') && mr_scan_next(&sc, &value) &&
           mr_scan_char(&sc, ']') && add_header(list, text, &value, ar);
}

/* [["name", value], …] or kcat's ["name", value, "name", value, …] */
static bool headers_of_list(struct mr_scan *sc, struct header_list *list, struct mr_arena *ar)
{
    mr_scan_char(sc, '[');
    if (mr_scan_char(sc, ']'))
        return true;
    do {
        struct mr_scan_value item, value;
        struct mr_str name;

        if (!mr_scan_next(sc, &item))
            return false;
        if (item.kind == MR_SCAN_ARRAY) {
            if (!header_of_pair(item.text, list, ar))
                return false;
        } else if (item.kind != MR_SCAN_STRING || !mr_scan_string(&item, ar, &name) ||
                   !mr_scan_char(sc, ',') || !mr_scan_next(sc, &value) ||
                   !add_header(list, name, &value, ar)) {
            return false;
        }
    } while (mr_scan_char(sc, ','));
    return mr_scan_char(sc, ']');
}

/* At least as many as the text can hold: each header needs a comma or a colon. */
static size_t header_bound(struct mr_str text)
{
    size_t bound = 1;

    for (size_t i = 0; i < text.len; i++)
        bound += text.ptr[i] == ',' || text.ptr[i] == ':';
    return bound < MAX_HEADERS ? bound : MAX_HEADERS;
}

static bool read_headers(const struct members *m, struct mr_arena *ar, struct mr_record *rec)
{
    enum member which = is_given(m, M_HEADERS_BASE64) ? M_HEADERS_BASE64 : M_HEADERS;
    const struct mr_scan_value *value = &m->value[which];
    struct header_list list = {.is_base64 = which == M_HEADERS_BASE64};
    struct mr_scan sc;
    bool ok;

    if (!is_given(m, which))
        return true;
    if (value->kind != MR_SCAN_OBJECT && value->kind != MR_SCAN_ARRAY)
        return false;
    sc = mr_scan_begin(value->text);
    list.cap = header_bound(value->text);
    list.items = mr_arena_alloc(ar, list.cap * sizeof(*list.items));
    ok = value->kind == MR_SCAN_OBJECT ? headers_of_object(&sc, &list, ar)
                                       : headers_of_list(&sc, &list, ar);
    rec->headers = list.items;
    rec->header_count = list.count;
    return ok && sc.pos == sc.end;
}

/* The record's members; false, and which one, if a member is not what it must be. */
static bool read_record(const struct members *m, struct mr_arena *ar, struct mr_record *rec,
                        enum member *bad)
{
    int64_t partition = -1;

    *bad = M_TOPIC;
    if (is_given(m, M_TOPIC) &&
        (m->value[M_TOPIC].kind != MR_SCAN_STRING || !mr_scan_string(&m->value[M_TOPIC], ar, &rec->topic)))
        return false;
    *bad = M_PARTITION;
    if (!read_int(m, M_PARTITION, -1, INT32_MAX, &partition))
        return false;
    rec->partition = (int32_t)partition;
    *bad = M_OFFSET;
    if (!read_int(m, M_OFFSET, -1, INT64_MAX, &rec->offset))
        return false;
    *bad = M_TIMESTAMP;
    if (!read_time(m, M_TIMESTAMP, &rec->timestamp_ms))
        return false;
    *bad = M_TS;
    if (!is_given(m, M_TIMESTAMP) && !read_time(m, M_TS, &rec->timestamp_ms))
        return false;
    if (!read_bytes(m, M_KEY_BASE64, M_KEY, ar, &rec->key, &rec->has_key, bad))
        return false;
    if (!read_bytes(m, M_VALUE_BASE64, m->seen[M_VALUE] ? M_VALUE : M_PAYLOAD, ar, &rec->value,
                    &rec->has_value, bad))
        return false;
    *bad = is_given(m, M_HEADERS_BASE64) ? M_HEADERS_BASE64 : M_HEADERS;
    return read_headers(m, ar, rec);
}

void mr_line_record(struct mr_str text, const struct mr_line_place *place, struct mr_arena *ar,
                    struct mr_record *rec)
{
    struct mr_scan sc = mr_scan_begin(text);
    struct members m;
    enum member bad;

    start_record(place, rec);
    switch (classify(&sc, &m)) {
    case LINE_BARE:
        rec->value = mr_str_trim(text);
        rec->has_value = true;
        rec->is_bare = true;
        return;
    case LINE_BROKEN:
        mr_line_broken(text, place, ar, rec, "%s expected at byte %zu", sc.expected,
                       (size_t)(sc.pos - sc.start) + 1);
        return;
    case LINE_RECORD:
        break;
    }
    if (!read_record(&m, ar, rec, &bad))
        mr_line_broken(text, place, ar, rec, "the record's \"%s\" is not what it must be",
                       member_names[bad]);
}
