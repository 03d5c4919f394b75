/* Records of transactions come, wait for one another, and go in units: see source_tx.h. */
#include "source_tx_parts.h"

#include <millrace/base/buf.h>
#include <millrace/base/hash.h>
#include <millrace/base/log.h>
#include <millrace/base/mem.h>

#define TICK_MS 500            /* the longest step of the clock */
#define MAX_SCOPES 1000
#define MAX_LET_GO 10000       /* remembered */
#define UNMARKED_ROWS 1000     /* before it is told that nothing marks transactions */
#define MAX_NAME ((size_t)1 << 16)

/* ---- what there is ---- */

struct mr_tx_queue *mr_tx_queue_create(const struct mr_tx_settings *set)
{
    struct mr_tx_queue *q = mr_xcalloc(1, sizeof *q);
    q->set = *set;
    q->txs = mr_map_create();
    q->scopes = mr_map_create();
    q->topics = mr_map_create();
    q->let_go = mr_map_create();
    q->ticked_ms = INT64_MIN;
    return q;
}

static void destroy_tx(void *value)
{
    struct tx *tx = value;
    for (size_t i = 0; i < tx->end.count; i++)
        mr_xfree((char *)tx->end.counts[i].collection.ptr);
    mr_xfree((void *)tx->end.counts);
    mr_xfree((char *)tx->name.ptr);
    mr_xfree(tx->in);
    mr_xfree(tx);
}

void mr_tx_end(struct mr_tx_queue *q, struct tx *tx)
{
    if (tx->in_map)
        (void)mr_map_remove(q->txs, tx->name);
    for (size_t i = 0; i < tx->in_count; i++) {
        struct tx_stream *st = tx->in[i].stream;
        if (st->last == tx) {
            st->last = NULL;
            st->last_end_seq = tx->end_seq;
        }
        if (st->part->run == tx)
            st->part->run = NULL;
    }
    q->open--;
    destroy_tx(tx);
}

static void destroy_scope(void *value)
{
    struct tx_scope *scope = value;
    mr_xfree((char *)scope->name.ptr);
    mr_xfree(scope);
}

static void destroy_topic(void *value)
{
    struct tx_topic *topic = value;
    mr_xfree(topic->streams);
    mr_xfree(topic);
}

void mr_tx_queue_destroy(struct mr_tx_queue *q)
{
    const struct mr_record *none;
    if (q == NULL)
        return;
    (void)mr_tx_queue_take_all(q, &none);
    for (size_t i = 0; i < q->part_count; i++) {
        if (q->parts[i] == NULL)
            continue;
        mr_map_destroy(q->parts[i]->streams, mr_xfree);
        mr_xfree(q->parts[i]->items);
        mr_xfree(q->parts[i]);
    }
    mr_xfree(q->parts);
    mr_map_destroy(q->txs, NULL);
    mr_map_destroy(q->scopes, destroy_scope);
    mr_map_destroy(q->topics, destroy_topic);
    mr_map_destroy(q->let_go, NULL);
    mr_xfree(q->out);
    mr_xfree(q->sorted);
    mr_xfree(q->todo);
    mr_xfree(q);
}

static struct tx_part *part_of(struct mr_tx_queue *q, const struct mr_partition *part)
{
    if (part->index >= q->part_count) {
        q->parts = mr_xgrow(q->parts, &q->part_cap, part->index + 1u, sizeof *q->parts);
        for (size_t i = q->part_count; i <= part->index; i++)
            q->parts[i] = NULL;
        q->part_count = part->index + 1u;
    }
    struct tx_part *p = q->parts[part->index];
    if (p == NULL) {
        p = q->parts[part->index] = mr_xcalloc(1, sizeof *p);
        p->part = part;
        p->streams = mr_map_create();
    }
    return p;
}

static struct tx_topic *topic_of(struct mr_tx_queue *q, struct mr_str name)
{
    struct tx_topic *topic = mr_map_get(q->topics, name);
    if (topic != NULL)
        return topic;
    topic = mr_xcalloc(1, sizeof *topic);
    mr_map_put(q->topics, name, topic);
    (void)mr_map_at(q->topics, mr_map_count(q->topics) - 1, &topic->name);
    return topic;
}

/* A file may hold the records of many partitions. */
static struct tx_stream *stream_of(struct mr_tx_queue *q, struct tx_part *p, const struct mr_record *rec)
{
    struct tx_stream *st = p->recent_stream;
    if (st != NULL && st->partition == rec->partition && mr_str_eq(st->topic->name, rec->topic))
        return st;
    struct mr_buf key = MR_BUF_INIT(MAX_NAME);
    mr_buf_append(&key, &rec->partition, sizeof rec->partition);
    mr_buf_append_str(&key, rec->topic);
    st = mr_map_get(p->streams, mr_buf_str(&key));
    if (st == NULL) {
        struct tx_topic *topic = topic_of(q, rec->topic);
        st = mr_xcalloc(1, sizeof *st);
        *st = (struct tx_stream){.part = p, .topic = topic, .partition = rec->partition};
        mr_map_put(p->streams, mr_buf_str(&key), st);
        topic->streams = mr_xgrow(topic->streams, &topic->cap, topic->count + 1, sizeof *topic->streams);
        topic->streams[topic->count++] = st;
    }
    mr_buf_free(&key);
    return p->recent_stream = st;
}

/* ---- what cannot be kept ---- */

/* The first is told with its reason; further ones are counted, and told now and then. */
static void tell_split(struct mr_tx_queue *q, struct mr_str id, const char *why_z)
{
    uint64_t n = ++q->counts.split;
    if (n == 1 || n % 1000 == 0)
        mr_log(MR_LOG_WARN, "a transaction of the source cannot be kept together; its parts are applied one after the other",
               MR_KV_STR("transaction", id), MR_KV_Z("reason", why_z), MR_KV_INT("so_far", n));
}

void mr_tx_queue_note_split(struct mr_tx_queue *q, const char *why_z)
{
    tell_split(q, MR_STR(""), why_z);
}

static void split(struct mr_tx_queue *q, struct tx *tx, const char *why_z)
{
    if (!tx->is_split)
        tell_split(q, tx->id, why_z);
    tx->is_split = true;
}

static void leave_map(struct mr_tx_queue *q, struct tx *tx)
{
    if (tx->in_map)
        (void)mr_map_remove(q->txs, tx->name);
    tx->in_map = false;
}

/* It goes as it is. What still comes of it stands alone. */
static void let_go(struct mr_tx_queue *q, struct tx *tx, const char *why_z)
{
    split(q, tx, why_z);
    if (mr_map_count(q->let_go) >= MAX_LET_GO)
        mr_map_clear(q->let_go, NULL);
    mr_map_put(q->let_go, tx->name, q);
    leave_map(q, tx);
    for (size_t i = 0; i < tx->in_count; i++)
        if (tx->in[i].stream->part->run == tx)
            tx->in[i].stream->part->run = NULL;
    tx->is_whole = q->dirty = true;
}

/* ---- transactions that lie in one partition ---- */

/* Its records are followed by others, or by nothing for a while. */
static void end_run(struct mr_tx_queue *q, struct tx_part *p, bool is_marked)
{
    struct tx *tx = p->run;
    p->run = NULL;
    if (tx == NULL)
        return;
    if (!is_marked) {
        p->ended[p->ended_at++ % RECENT] = mr_hash(tx->name.ptr, tx->name.len, 7) | 1;
        if (tx->marks_last)
            split(q, tx, "its last record did not come in the partition of the others: transactions are kept where all their records are in one");
    }
    leave_map(q, tx);
    tx->is_whole = true;
}

static bool ended_before(const struct tx_part *p, struct mr_str name)
{
    uint64_t hash = mr_hash(name.ptr, name.len, 7) | 1;
    for (size_t i = 0; i < RECENT; i++)
        if (p->ended[i] == hash)
            return true;
    return false;
}

/* ---- scopes ---- */

static struct tx_scope *scope_of(struct mr_tx_queue *q, struct mr_str name)
{
    struct tx_scope *scope = mr_map_get(q->scopes, name);
    if (scope != NULL)
        return scope;
    scope = mr_xcalloc(1, sizeof *scope);
    scope->name = mr_str_of(mr_xstrndup(name.ptr, name.len), name.len);
    struct mr_buf topic = MR_BUF_INIT(MAX_NAME);
    mr_buf_append_str(&topic, name);
    mr_buf_append_z(&topic, ".transaction");
    if (!q->set.is_file)
        scope->ends = q->set.reads_topic(q->set.ctx, mr_buf_str(&topic)) ? ENDS_TOLD : ENDS_NEVER;
    mr_buf_free(&topic);
    mr_map_put(q->scopes, name, scope);
    return scope;
}

static void note_place(const struct mr_partition **in, bool *many, const struct mr_partition *part)
{
    *many = *many || (*in != NULL && *in != part);
    *in = part;
}

/* No END will be told. What is held is ended by what follows it, as with other producers. */
static void give_up_ends(struct mr_tx_queue *q, struct tx_scope *scope)
{
    size_t count = mr_map_count(q->txs);
    struct tx **all = mr_xcalloc(count + 1, sizeof *all);
    scope->ends = ENDS_NEVER;
    for (size_t i = 0; i < count; i++)
        all[i] = mr_map_at(q->txs, i, NULL);
    for (size_t i = 0; i < count; i++) {
        if (all[i]->scope != scope)
            continue;
        all[i]->is_whole = true;
        leave_map(q, all[i]);
    }
    mr_xfree(all);
}

static enum mr_status note_scope(struct tx_scope *scope, const struct mr_record *rec, const struct mr_tx_mark *mark, struct mr_error *err)
{
    if (!mark->has_rows && mark->order == 0) { /* BEGIN, END */
        note_place(&scope->ends_in, &scope->many_ends_in, rec->part);
        scope->ends = ENDS_TOLD;
        return MR_OK;
    }
    note_place(&scope->rows_in, &scope->many_rows_in, rec->part);
    if (rec->topic.len > 0 && !(mr_str_starts(rec->topic, scope->name) && rec->topic.len > scope->name.len && rec->topic.ptr[scope->name.len] == '.'))
        scope->is_routed = true;
    if (scope->ends == ENDS_NEVER && scope->many_rows_in) {
        mr_fail(err, MR_E_CONFIG, "transactions: source: the rows of \"%.*s\" lie in several topics or partitions, and the topic that tells when a "
                "transaction is whole (\"%.*s.transaction\") is not read", MR_STR_FMT(scope->name), MR_STR_FMT(scope->name));
        mr_error_hint(err, "add it to source.kafka.topics (the connector writes it under provide.transaction.metadata), or set transactions: batch");
        return MR_E_CONFIG;
    }
    return MR_OK;
}

/* ---- a record comes ---- */

/* Names of transactions in one partition begin with its number, others with their scope. */
static struct mr_str name_of(const struct tx_scope *scope, const struct tx_part *p, struct mr_str id, struct mr_buf *buf)
{
    char kind = scope != NULL ? 's' : 'p';
    mr_buf_append_char(buf, kind);
    if (scope != NULL)
        mr_buf_append_str(buf, scope->name);
    else
        mr_buf_append(buf, &p->part->index, sizeof p->part->index);
    mr_buf_append_char(buf, '\0');
    mr_buf_append_str(buf, id);
    return buf->overflow ? (struct mr_str){0} : mr_buf_str(buf);
}

static struct tx *new_tx(struct mr_tx_queue *q, struct tx_scope *scope, struct mr_str name, struct mr_str id)
{
    struct tx *tx = mr_xcalloc(1, sizeof *tx);
    tx->name = mr_str_of(mr_xstrndup(name.ptr, name.len), name.len);
    tx->id = mr_str_of(tx->name.ptr + tx->name.len - id.len, id.len);
    tx->scope = scope;
    tx->in_map = true;
    mr_map_put(q->txs, name, tx);
    q->open++;
    return tx;
}

/* The transaction of a record; NULL if it stands alone. */
static struct tx *find_tx(struct mr_tx_queue *q, struct tx_part *p, struct tx_scope *scope, struct mr_str id)
{
    struct mr_buf buf = MR_BUF_INIT(MAX_NAME);
    if (scope != NULL && scope->ends == ENDS_NEVER)
        scope = NULL;
    struct mr_str name = name_of(scope, p, id, &buf);
    struct tx *tx = NULL;
    if (name.len > 0 && mr_map_get(q->let_go, name) == NULL) {
        tx = mr_map_get(q->txs, name);
        if (tx == NULL)
            tx = new_tx(q, scope, name, id);
        if (tx->in_count == 0 && scope == NULL && ended_before(p, name))
            split(q, tx, "its records do not follow one another, or came with a pause between them");
    }
    mr_buf_free(&buf);
    return tx;
}

static void join(struct mr_tx_queue *q, struct tx *tx, struct tx_part *p, const struct mr_record *rec, const struct mr_tx_mark *mark)
{
    struct tx_stream *st = stream_of(q, p, rec);
    size_t i = tx->in_count;
    while (i > 0 && tx->in[i - 1].stream != st)
        i--;
    if (i == 0) {
        tx->in = mr_xgrow(tx->in, &tx->in_cap, tx->in_count + 1, sizeof *tx->in);
        tx->in[tx->in_count++] = (struct tx_member){.stream = st};
        i = tx->in_count;
    }
    struct tx_member *m = &tx->in[i - 1];
    m->last = p->base + p->count;
    if (mark->order > m->order) { /* else it comes again: the connector was started anew */
        m->order = mark->order;
        m->rows++;
        tx->rows++;
    }
    if (mark->has_rows || mark->order == 0) /* boundaries follow one another as the transactions do */
        st->last = tx;
    tx->marks_last = tx->marks_last || mark->marks_last;
    tx->last_ms = q->clock_ms;
}

static void hold(struct mr_tx_queue *q, struct tx_part *p, const struct mr_record *rec, struct tx *tx)
{
    if (p->head > 0 && p->head + p->count == p->cap) {
        memmove(p->items, p->items + p->head, p->count * sizeof *p->items);
        p->head = 0;
    }
    p->items = mr_xgrow(p->items, &p->cap, p->head + p->count + 1, sizeof *p->items);
    size_t bytes = rec->key.len + rec->value.len + RECORD_BYTES;
    p->items[p->head + p->count++] = (struct tx_held){*rec, tx, q->seq};
    p->bytes += bytes;
    q->bytes += bytes;
    q->held++;
}

static void note_unmarked(struct mr_tx_queue *q, const struct mr_tx_mark *mark)
{
    q->any_marked = q->any_marked || mark->id.len > 0;
    if (!q->any_marked && mark->has_rows && ++q->unmarked == UNMARKED_ROWS)
        mr_log_plain(MR_LOG_WARN, "transactions: source has nothing to go by: the producer does not mark transactions, so each message stands alone");
}

enum mr_status mr_tx_queue_add(struct mr_tx_queue *q, const struct mr_record *rec, const struct mr_tx_mark *mark, struct mr_error *err)
{
    struct tx_part *p = part_of(q, rec->part);
    struct tx_scope *scope = NULL;
    struct tx *tx = NULL;
    q->seq++;
    note_unmarked(q, mark);
    bool is_scoped = mr_map_count(q->scopes) < MAX_SCOPES || mr_map_get(q->scopes, mark->scope) != NULL;
    if (mark->id.len > 0 && mark->scope.len > 0 && is_scoped) {
        scope = scope_of(q, mark->scope);
        MR_TRY(note_scope(scope, rec, mark, err));
    }
    if (mark->id.len > 0)
        tx = find_tx(q, p, scope, mark->id);
    if (p->run != tx && (mark->has_rows || tx != NULL))
        end_run(q, p, false);
    if (tx != NULL) {
        join(q, tx, p, rec, mark);
        p->run = tx->scope == NULL ? tx : NULL;
        if (mark->end != NULL && tx->scope != NULL)
            mr_tx_take_end(q, tx, mark->end);
    }
    hold(q, p, rec, tx);
    if (tx != NULL && mark->is_last && tx->scope == NULL)
        end_run(q, p, true);
    else if (tx != NULL && mark->is_last)
        tx->is_whole = true;
    q->dirty = true;
    return MR_OK;
}

/* ---- time ---- */

void mr_tx_release(struct mr_tx_queue *q, struct tx *tx, const char *why_z)
{
    if (tx->scope != NULL && tx->scope->ends == ENDS_UNKNOWN) {
        give_up_ends(q, tx->scope);
        q->dirty = true;
    } else {
        let_go(q, tx, why_z);
    }
}

static void wait_over(struct mr_tx_queue *q, struct tx_part *p, struct tx *tx)
{
    int64_t waited = q->clock_ms - tx->last_ms;
    if (mr_tx_is_whole(q, tx)) {
        q->dirty = true;
        return;
    }
    if (tx->scope == NULL && !tx->marks_last) {
        if (waited >= QUIET_MS) {
            end_run(q, p, false);
            q->dirty = true;
        }
        return;
    }
    if (waited >= q->set.wait_ms)
        mr_tx_release(q, tx, "it is not whole after batch.transaction_wait without a further record");
}

void mr_tx_queue_tick(struct mr_tx_queue *q, int64_t now_ms)
{
    int64_t step = q->ticked_ms == INT64_MIN ? 0 : now_ms - q->ticked_ms;
    q->ticked_ms = now_ms;
    q->clock_ms += step > TICK_MS ? TICK_MS : step;
    for (size_t i = 0; i < q->part_count && !q->dirty; i++) {
        struct tx_part *p = q->parts[i];
        if (p != NULL && p->count > 0 && p->blocked != NULL && !p->blocked->is_whole)
            wait_over(q, p, p->blocked);
    }
}

void mr_tx_queue_finish(struct mr_tx_queue *q)
{
    if (q->finished)
        return;
    q->finished = q->dirty = true;
    q->seq++; /* what was found before is asked anew */
    for (size_t i = 0; i < mr_map_count(q->scopes); i++) {
        struct tx_scope *scope = mr_map_at(q->scopes, i, NULL);
        if (scope->ends == ENDS_UNKNOWN)
            give_up_ends(q, scope);
    }
    for (size_t i = 0; i < q->part_count; i++)
        if (q->parts[i] != NULL && q->parts[i]->run != NULL && !q->parts[i]->run->marks_last)
            end_run(q, q->parts[i], false);
    for (size_t i = 0; i < mr_map_count(q->txs); i++) { /* a file is all there is: its END tells of topics that are not in it */
        struct tx *tx = mr_map_at(q->txs, i, NULL);
        if (!q->set.is_file || !tx->end_seen || mr_tx_is_whole(q, tx))
            continue;
        q->counts.short_of++;
        tx->is_whole = true;
    }
}

/* ---- questions ---- */

bool mr_tx_queue_ready(const struct mr_tx_queue *q)
{
    return q->dirty && q->held > 0;
}

size_t mr_tx_queue_held(const struct mr_tx_queue *q)
{
    return q->held;
}

size_t mr_tx_queue_unfinished(const struct mr_tx_queue *q)
{
    return q->open;
}

bool mr_tx_queue_is_ahead(const struct mr_tx_queue *q, const struct mr_partition *part)
{
    const struct tx_part *p = part->index < q->part_count ? q->parts[part->index] : NULL;
    if (p == NULL || p->count == 0 || p->blocked == NULL || p->blocked->is_whole || p->bytes < q->set.max_bytes / 8)
        return false;
    const struct tx *last = p->items[p->head + p->count - 1].tx;
    return p->blocked->scope != NULL && last != p->blocked;
}

const struct mr_tx_counts *mr_tx_queue_counts(const struct mr_tx_queue *q)
{
    return &q->counts;
}
