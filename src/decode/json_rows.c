/* Format `json`: plain rows. The value is the row, a null value deletes by key, and the key, if it is an object or a scalar, is the key.
 * No member has a meaning of its own. Never guessed: rows of this kind and flattened Debezium rows look the same. */
#include <millrace/base/mem.h>

#include "arrays.h"
#include "control.h"
#include "debezium.h"
#include "key.h"
#include "meta.h"

struct mr_decoder {
    struct mr_connect *cn;
    struct mr_meta *meta;
    bool wants_key_text;
};

static void destroy(struct mr_decoder *dec)
{
    if (dec == NULL)
        return;
    mr_meta_destroy(dec->meta);
    mr_connect_destroy(dec->cn);
    mr_xfree(dec);
}

static enum mr_status create(const struct mr_config *cfg, struct mr_decoder **out, struct mr_error *err)
{
    struct mr_decoder *dec = mr_xcalloc(1, sizeof(*dec));
    enum mr_status status = mr_meta_create(cfg, &dec->meta, err);
    if (status != MR_OK) {
        destroy(dec);
        return status;
    }
    dec->cn = mr_connect_create(cfg);
    dec->cn->rows_only = true;
    dec->wants_key_text = mr_config_wants_key_text(cfg);
    *out = dec;
    return MR_OK;
}

static enum mr_status decode(struct mr_decoder *dec, const struct mr_record *rec,
                             struct mr_topic_facts *facts, struct mr_arena *ar, mr_emit_fn emit,
                             void *ctx, struct mr_error *err)
{
    (void)facts;
    struct mr_connect_message key, value;
    struct mr_change *ev = mr_arena_zalloc(ar, sizeof(*ev));
    struct mr_key_rule rule = {{MR_STR(""), MR_STR("")}, false};
    MR_TRY(mr_connect_open(dec->cn, MR_SIDE_VALUE, rec, ar, &value, err));
    MR_TRY(mr_connect_open(dec->cn, MR_SIDE_KEY, rec, ar, &key, err));
    MR_TRY(mr_key_apply(dec->cn, rec, &key, &rule, dec->wants_key_text, ar, ev, err));
    ev->source_us = INT64_MIN;
    ev->meta = mr_meta_fields(dec->meta, dec->cn, rec, NULL, NULL,
                              value.is_null ? MR_STR("d") : MR_STR(""), ar);
    ev->headers = mr_meta_headers(dec->meta, dec->cn, rec, NULL, NULL, value.is_null ? MR_STR("d") : MR_STR(""), ar);

    if (value.is_null) {
        if (!ev->has_key)
            return mr_control_emit(MR_CONTROL_EMPTY, NULL, ar, emit, ctx, err);
        ev->op = MR_OP_DELETE;
        ev->is_tombstone = true;
        return emit(ctx, ev, err);
    }
    if (!mr_json_is(&value.doc, value.root, MR_J_OBJECT))
        return mr_fail_data(err, MR_CODE_AMBIGUOUS, "the value is no JSON object, so no row");

    struct mr_field_list list = {0};
    struct mr_arrays arrays = {0};
    mr_arrays_begin(&arrays, dec->cn->cfg, ar, &list);
    mr_connect_row(dec->cn, value.schema, &value.doc, value.root, MR_STR(""), ar, &list);
    ev->after = mr_field_list_get(&list);
    mr_arrays_give(&arrays, &list, ev);
    mr_meta_override(&ev->meta, &ev->after);
    ev->op = MR_OP_UPSERT;
    return emit(ctx, ev, err);
}

const struct mr_decoder_ops mr_decoder_json = {
    .name = "json",
    .create = create,
    .decode = decode,
    .destroy = destroy,
};
