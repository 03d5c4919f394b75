/* Values of options between their written form and their member of struct mr_config. */
#include "option.h"

#include <millrace/base/buf.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

/* Enum members are written through an int. */
_Static_assert(sizeof(enum mr_policy) == sizeof(int), "enums are as wide as int");

static void *member(const struct mr_option *opt, const struct mr_config *cfg)
{
    return (char *)(uintptr_t)cfg + opt->offset;
}

/* ---- Words, sizes, durations ---- */

bool mr_word_parse(const struct mr_word *words, struct mr_str text, int *value)
{
    for (; words->text_z; words++) {
        if (mr_str_eq_nocase(text, mr_str_z(words->text_z))) {
            *value = words->value;
            return true;
        }
    }
    return false;
}

const char *mr_word_name(const struct mr_word *words, int value)
{
    for (; words->text_z; words++) {
        if (words->value == value)
            return words->text_z;
    }
    return "";
}

void mr_words_append(const struct mr_word *words, const char *between_z, struct mr_buf *out)
{
    for (size_t i = 0; words[i].text_z; i++) {
        if (i > 0)
            mr_buf_append_z(out, between_z);
        mr_buf_append_z(out, words[i].text_z);
    }
}

struct unit {
    const char *name_z;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"GiB", UINT64_C(1) << 30},
    {"MiB", UINT64_C(1) << 20},
    {"KiB", UINT64_C(1) << 10},
    {"GB", UINT64_C(1000000000)},
    {"MB", UINT64_C(1000000)},
    {"kB", UINT64_C(1000)},
    {"B", 1},
    {NULL, 0},
};
static const struct unit duration_units[] = {
    {"d", UINT64_C(86400000)},
    {"h", UINT64_C(3600000)},
    {"m", UINT64_C(60000)},
    {"s", UINT64_C(1000)},
    {"ms", 1},
    {NULL, 0},
};

/* Digits and a unit. A number alone is taken only where *bare_ok, and then as the smallest unit; 0 needs none. */
static bool parse_units(struct mr_str text, const struct unit *units, bool bare_ok, uint64_t *out)
{
    size_t digits = 0;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;

    uint64_t number;
    if (digits == 0 || !mr_parse_uint64(mr_str_of(text.ptr, digits), &number))
        return false;
    struct mr_str rest = mr_str_trim(mr_str_of(text.ptr + digits, text.len - digits));
    if (rest.len == 0) {
        *out = number;
        return bare_ok || number == 0;
    }
    for (; units->name_z; units++) {
        /* "kb" and "KIB" are read too; no two units differ by case alone */
        if (mr_str_eq_nocase(rest, mr_str_z(units->name_z)))
            return !__builtin_mul_overflow(number, units->factor, out);
    }
    return false;
}

static void append_units(uint64_t value, const struct unit *units, struct mr_buf *out)
{
    for (; units->name_z; units++) {
        if (units->factor == 1 || (value > 0 && value % units->factor == 0)) {
            mr_buf_printf(out, "%llu%s", (unsigned long long)(value / units->factor), units->name_z);
            return;
        }
    }
}

bool mr_parse_size(struct mr_str text, uint64_t *bytes)
{
    return parse_units(text, size_units, true, bytes);
}

bool mr_parse_duration(struct mr_str text, int64_t *ms)
{
    uint64_t value;
    if (!parse_units(text, duration_units, false, &value) || value > INT64_MAX)
        return false;
    *ms = (int64_t)value;
    return true;
}

void mr_append_size(uint64_t bytes, struct mr_buf *out)
{
    append_units(bytes, size_units, out);
}

void mr_append_duration(int64_t ms, struct mr_buf *out)
{
    append_units(ms < 0 ? 0 : (uint64_t)ms, duration_units, out);
}

static bool parse_bool(struct mr_str text, bool *out)
{
    static const struct mr_word words[] = {{"true", 1}, {"yes", 1}, {"on", 1}, {"false", 0},
                                           {"no", 0},   {"off", 0}, {NULL, 0}};
    int value;
    if (!mr_word_parse(words, text, &value))
        return false;
    *out = value != 0;
    return true;
}

/* ---- Lists ---- */

void mr_strings_add(struct mr_strings *list, struct mr_str item)
{
    /* Doubled whenever the count is a power of two, so that the room needs no member of its own. */
    if ((list->count & (list->count - 1)) == 0)
        list->items = mr_xrealloc(list->items, (list->count ? list->count * 2 : 1) * sizeof *list->items);
    list->items[list->count++] = mr_xstrndup(item.ptr ? item.ptr : "", item.len);
}

void mr_strings_free(struct mr_strings *list)
{
    for (size_t i = 0; i < list->count; i++)
        mr_xfree(list->items[i]);
    mr_xfree(list->items);
    *list = (struct mr_strings){0};
}

void mr_strings_split(struct mr_strings *list, struct mr_str text)
{
    int depth = 0;
    size_t start = 0;

    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.ptr[i] : ',';
        if (c == '{' || c == '[' || c == '(')
            depth++;
        if ((c == '}' || c == ']' || c == ')') && depth > 0)
            depth--;
        if (c != ',' || (depth > 0 && i < text.len))
            continue;
        struct mr_str item = mr_str_trim(mr_str_of(text.ptr + start, i - start));
        if (item.len > 0)
            mr_strings_add(list, item);
        start = i + 1;
    }
}

static void append_joined(const struct mr_strings *list, struct mr_buf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            mr_buf_append_char(out, ',');
        mr_buf_append_z(out, list->items[i]);
    }
}

/* ---- Members ---- */

static bool parse_start(struct mr_config *cfg, struct mr_str text)
{
    static const struct mr_word words[] = {
        {"earliest", MR_START_EARLIEST}, {"latest", MR_START_LATEST}, {NULL, 0}};
    int value;
    if (mr_word_parse(words, text, &value)) {
        cfg->kafka_start = (enum mr_start)value;
        cfg->kafka_start_ms = 0;
        return true;
    }

    int64_t us, days;
    bool has_zone;
    if (!mr_parse_timestamptz(text, &us, &has_zone)) {
        if (!mr_parse_date(text, &days) || days > INT64_MAX / MR_US_PER_DAY ||
            days < INT64_MIN / MR_US_PER_DAY)
            return false;
        us = days * MR_US_PER_DAY;
    }
    cfg->kafka_start = MR_START_TIME;
    cfg->kafka_start_ms = mr_floor_div(us, 1000);
    return true;
}

bool mr_option_parse(const struct mr_option *opt, struct mr_config *cfg, struct mr_str text)
{
    void *at = member(opt, cfg);
    struct mr_str word = mr_str_trim(text);
    struct mr_strings list = {0};
    uint64_t number;

    switch (opt->type) {
    case MR_OPT_TEXT:
    case MR_OPT_COMMAS:
        mr_xfree(*(char **)at);
        *(char **)at = mr_xstrndup(text.ptr ? text.ptr : "", text.len);
        return true;
    case MR_OPT_BOOL:
        return parse_bool(word, at);
    case MR_OPT_UINT:
        if (!mr_parse_uint64(word, &number) || number < (uint64_t)opt->min || number > (uint64_t)opt->max)
            return false;
        *(uint32_t *)at = (uint32_t)number;
        return true;
    case MR_OPT_SIZE:
        if (!mr_parse_size(word, &number) || number < (uint64_t)opt->min || number > (uint64_t)opt->max)
            return false;
        *(uint64_t *)at = number;
        return true;
    case MR_OPT_DURATION: {
        int64_t ms;
        if (!mr_parse_duration(word, &ms) || ms < opt->min || ms > opt->max)
            return false;
        *(int64_t *)at = ms;
        return true;
    }
    case MR_OPT_RATE: {
        double rate;
        if (!mr_parse_double(word, &rate) || !(rate >= 0 && rate <= 1))
            return false;
        *(double *)at = rate;
        return true;
    }
    case MR_OPT_WORD:
        return mr_word_parse(opt->words, word, at);
    case MR_OPT_LIST:
        mr_strings_split(&list, text);
        mr_option_set_list(opt, cfg, list);
        return true;
    case MR_OPT_PATHS:
        if (text.len > 0)
            mr_strings_add(&list, text);
        mr_option_set_list(opt, cfg, list);
        return true;
    case MR_OPT_START:
        return parse_start(cfg, word);
    case MR_OPT_PAIRS:
    case MR_OPT_COLUMN_TYPES:
    case MR_OPT_COLUMN_POLICIES:
    case MR_OPT_TABLES:
        break;
    }
    return false;
}

void mr_option_set_list(const struct mr_option *opt, struct mr_config *cfg, struct mr_strings list)
{
    void *at = member(opt, cfg);
    if (opt->type == MR_OPT_COMMAS) {
        struct mr_buf joined = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);
        append_joined(&list, &joined);
        mr_xfree(*(char **)at);
        *(char **)at = mr_xstrdup(mr_buf_z(&joined));
        mr_buf_free(&joined);
        mr_strings_free(&list);
        return;
    }
    mr_strings_free(at);
    *(struct mr_strings *)at = list;
}

void mr_option_free(const struct mr_option *opt, struct mr_config *cfg)
{
    if (opt->type == MR_OPT_TEXT || opt->type == MR_OPT_COMMAS)
        mr_xfree(*(char **)member(opt, cfg));
    if (opt->type == MR_OPT_LIST || opt->type == MR_OPT_PATHS)
        mr_strings_free(member(opt, cfg));
}

/* ---- Back to text ---- */

static void append_list(const struct mr_strings *list, struct mr_buf *out)
{
    mr_buf_append_char(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            mr_buf_append_z(out, ", ");
        mr_buf_append_json(out, mr_str_z(list->items[i]));
    }
    mr_buf_append_char(out, ']');
}

static void append_start(const struct mr_config *cfg, bool json, struct mr_buf *out)
{
    char text[MR_TIME_TEXT + 2];
    size_t len = 0;

    if (json)
        mr_buf_append_char(out, '"');
    switch (cfg->kafka_start) {
    case MR_START_EARLIEST:
        mr_buf_append_z(out, "earliest");
        break;
    case MR_START_LATEST:
        mr_buf_append_z(out, "latest");
        break;
    case MR_START_TIME:
        len = mr_format_timestamp(cfg->kafka_start_ms * 1000, 'T', false, text);
        mr_buf_append(out, text, len);
        mr_buf_append_char(out, 'Z');
        break;
    }
    if (json)
        mr_buf_append_char(out, '"');
}

static void append_quoted(bool json, const char *text_z, struct mr_buf *out)
{
    if (json)
        mr_buf_append_json(out, mr_str_z(text_z));
    else
        mr_buf_append_z(out, text_z);
}

/* A URL is shown without its password; any other secret not at all. */
static bool is_url(const struct mr_option *opt)
{
    struct mr_str key = mr_str_z(opt->key_z);
    return mr_str_ends(key, MR_STR("url")) || mr_str_ends(key, MR_STR("proxy"));
}

void mr_option_append_value(const struct mr_option *opt, const struct mr_config *cfg, bool json,
                            struct mr_buf *out)
{
    const void *at = member(opt, cfg);
    struct mr_buf text = MR_BUF_INIT(MR_CONFIG_MAX_TEXT);

    switch (opt->type) {
    case MR_OPT_TEXT:
    case MR_OPT_COMMAS: /* quoted in both forms: blanks and nothing must be seen */
        if (opt->secret && !is_url(opt))
            mr_buf_append_z(&text, **(char *const *)at != 0 ? "***" : "");
        else if (opt->secret)
            mr_config_mask_url(*(char *const *)at, &text);
        else
            mr_buf_append_z(&text, *(char *const *)at);
        mr_buf_append_json(out, mr_buf_str(&text));
        break;
    case MR_OPT_BOOL:
        mr_buf_append_z(out, *(const bool *)at ? "true" : "false");
        break;
    case MR_OPT_UINT:
        mr_buf_printf(out, "%u", *(const uint32_t *)at);
        break;
    case MR_OPT_SIZE:
        mr_append_size(*(const uint64_t *)at, &text);
        append_quoted(json, mr_buf_z(&text), out);
        break;
    case MR_OPT_DURATION:
        mr_append_duration(*(const int64_t *)at, &text);
        append_quoted(json, mr_buf_z(&text), out);
        break;
    case MR_OPT_RATE:
        mr_buf_printf(out, "%.12g", *(const double *)at);
        break;
    case MR_OPT_WORD:
        append_quoted(json, mr_word_name(opt->words, *(const int *)at), out);
        break;
    case MR_OPT_LIST:
    case MR_OPT_PATHS:
        append_list(at, out);
        break;
    case MR_OPT_START:
        append_start(cfg, json, out);
        break;
    case MR_OPT_PAIRS:
    case MR_OPT_COLUMN_TYPES:
    case MR_OPT_COLUMN_POLICIES:
    case MR_OPT_TABLES:
        break;
    }
    mr_buf_free(&text);
}

static void append_bound(const struct mr_option *opt, int64_t value, struct mr_buf *out)
{
    if (opt->type == MR_OPT_SIZE)
        mr_append_size((uint64_t)value, out);
    else if (opt->type == MR_OPT_DURATION)
        mr_append_duration(value, out);
    else
        mr_buf_printf(out, "%lld", (long long)value);
}

/* " from 1 to 16" in the option's own units. */
static void append_range(const struct mr_option *opt, struct mr_buf *out)
{
    mr_buf_append_z(out, " from ");
    append_bound(opt, opt->min, out);
    mr_buf_append_z(out, " to ");
    append_bound(opt, opt->max, out);
}

void mr_option_append_expected(const struct mr_option *opt, struct mr_buf *out)
{
    switch (opt->type) {
    case MR_OPT_TEXT:
        mr_buf_append_z(out, "text");
        break;
    case MR_OPT_COMMAS:
        mr_buf_append_z(out, "text with commas, or a list");
        break;
    case MR_OPT_BOOL:
        mr_buf_append_z(out, "true or false");
        break;
    case MR_OPT_UINT:
        mr_buf_append_z(out, "a whole number");
        append_range(opt, out);
        break;
    case MR_OPT_SIZE:
        mr_buf_append_z(out, "a size");
        append_range(opt, out);
        break;
    case MR_OPT_DURATION:
        mr_buf_append_z(out, "a time with its unit (ms, s, m, h, d)");
        append_range(opt, out);
        break;
    case MR_OPT_RATE:
        mr_buf_append_z(out, "a number from 0 to 1");
        break;
    case MR_OPT_WORD:
        mr_words_append(opt->words, " | ", out);
        break;
    case MR_OPT_LIST:
    case MR_OPT_PATHS:
        mr_buf_append_z(out, "a list of texts");
        break;
    case MR_OPT_START:
        mr_buf_append_z(out, "earliest | latest | a time such as 2026-01-31T06:00:00Z");
        break;
    case MR_OPT_PAIRS:
        mr_buf_append_z(out, "names and texts");
        break;
    case MR_OPT_COLUMN_TYPES:
        mr_buf_append_z(out, "columns and types");
        break;
    case MR_OPT_COLUMN_POLICIES:
        mr_buf_append_z(out, "columns and policies");
        break;
    case MR_OPT_TABLES:
        mr_buf_append_z(out, "tables and settings");
        break;
    }
}
