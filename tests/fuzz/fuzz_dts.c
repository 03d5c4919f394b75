/* Any bytes as a record of DTS, as a geometry, and as a text in each of a few character sets; the first byte chooses. A record must be read twice alike,
 * and what reads strictly must decode or be refused with a code. */
#include <stdlib.h>

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/decoder.h>

#include "decode/charset.h"
#include "decode/dts.h"
#include "decode/wkb.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static char format[] = "dts-avro", underscore[] = "_", none[] = "", prefix[] = "__";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static enum mr_status emit(void *ctx, const struct mr_change *ev, struct mr_error *err)
{
    struct mr_buf out = MR_BUF_INIT(1 << 22);
    (void)err;
    ++*(size_t *)ctx;
    require(ev->has_key == (ev->key.count != 0));
    for (size_t i = 0; i < ev->after.count; i++)
        mr_value_append_json(ev->after.items[i].value, &out);
    for (size_t i = 0; i < ev->before.count; i++)
        mr_value_append_text(ev->before.items[i].value, &out);
    for (size_t i = 0; i < ev->key.count; i++)
        mr_value_append_text(ev->key.items[i].value, &out);
    mr_buf_free(&out);
    return MR_OK;
}

static void decode(struct mr_str datum, unsigned mode)
{
    static const struct mr_partition part = {"t", 0, 0};
    struct mr_record rec = {.part = &part,
                            .position = 1,
                            .partition = 0,
                            .offset = 1,
                            .timestamp_ms = -1,
                            .value = datum,
                            .has_value = true};
    struct mr_config cfg = {.format = format,
                            .flatten_delimiter = underscore,
                            .add_fields = none,
                            .add_fields_prefix = prefix,
                            .add_headers = none,
                            .add_headers_prefix = prefix,
                            .max_depth = 64,
                            .max_message_bytes = 1 << 20,
                            .dts_fraction = (enum mr_dts_fraction)(mode & 3),
                            .dts_logical_names = (mode & 4) != 0,
                            .zero_date = mode & 8 ? MR_ZERO_DATE_ERROR : MR_ZERO_DATE_NULL};
    struct mr_decoder_set *set;
    struct mr_topic_facts facts = {0};
    struct mr_error err = {0};
    struct mr_arena *ar = mr_arena_create(0);
    size_t first = 0, second = 0;
    require(mr_decoder_set_create(&cfg, &set, NULL) == MR_OK);
    enum mr_status a = mr_decoder_set_decode(set, &rec, &facts, ar, emit, &first, &err);
    require(a == MR_OK || (a == MR_E_DATA && err.code[0] != '\0'));
    require(a != MR_OK || mr_dts_is(datum, ar));
    require(mr_decoder_set_decode(set, &rec, &facts, ar, emit, &second, &err) == a && first == second);
    mr_decoder_set_destroy(set);
    mr_arena_destroy(ar);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char *const sets[] = {"utf8", "latin1", "gbk", "ucs2", "sjis", "gb18030", "utf16", "big5"};
    mr_log_setup(MR_LOG_ERROR, MR_LOG_LOGFMT, false);
    if (size == 0)
        return 0;
    struct mr_str rest = mr_str_of((const char *)data + 1, size - 1);
    if (data[0] >= 0x80) {
        struct mr_arena *ar = mr_arena_create(0);
        struct mr_value v;
        struct mr_str text;
        (void)mr_wkb_read(rest, ar, &v);
        (void)mr_charset_decode(mr_str_z(sets[data[0] & 7]), rest, ar, &text);
        mr_arena_destroy(ar);
        return 0;
    }
    decode(rest, data[0]);
    return 0;
}
