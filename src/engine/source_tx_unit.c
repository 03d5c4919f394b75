/* What goes together: the smallest set of records that is whole in its transactions, and has nothing before it in any of its partitions. See
 * source_tx.h. */
#include "source_tx_parts.h"

#include <stdlib.h>

#include <millrace/base/mem.h>

/* The partition must give out its records up to number `upto`; `now`: it is being looked at. */
static void ask_for(struct mr_tx_queue *q, struct tx_part *p, uint64_t upto, const struct tx_part *now, size_t *todo)
{
    if (p->visit != q->visit) {
        p->visit = q->visit;
        p->seen = p->upto = p->base;
        p->is_todo = false;
    }
    if (upto <= p->upto)
        return;
    p->upto = upto;
    if (p == now || p->is_todo)
        return;
    p->is_todo = true;
    q->todo = mr_xgrow(q->todo, &q->todo_cap, *todo + 1, sizeof *q->todo);
    q->todo[(*todo)++] = p;
}

/* The records of `p` that must go along, and what goes along with them elsewhere. The transaction that is not whole, or NULL. */
static struct tx *look_through(struct mr_tx_queue *q, struct tx_part *p, size_t *todo)
{
    while (p->seen < p->upto) {
        struct tx *tx = p->items[p->head + (size_t)(p->seen++ - p->base)].tx;
        if (tx == NULL || tx->visit == q->visit)
            continue;
        tx->visit = q->visit;
        if (!mr_tx_is_whole(q, tx))
            return tx;
        for (size_t i = 0; i < tx->in_count; i++)
            ask_for(q, tx->in[i].stream->part, tx->in[i].last + 1, p, todo);
    }
    return NULL;
}

/* Mark what must go along with the first record of `from`. The transaction that is not whole, or NULL. */
static struct tx *close_over(struct mr_tx_queue *q, struct tx_part *from)
{
    struct tx *waits = NULL;
    size_t todo = 0;
    q->visit++;
    ask_for(q, from, from->base + 1, NULL, &todo);
    while (todo > 0 && waits == NULL) {
        struct tx_part *p = q->todo[--todo];
        p->is_todo = false;
        waits = look_through(q, p, &todo);
    }
    return waits;
}

static int compare_seq(const void *a, const void *b)
{
    uint64_t x = ((const struct tx_held *)a)->seq, y = ((const struct tx_held *)b)->seq;
    return x < y ? -1 : x > y;
}

static void pop(struct mr_tx_queue *q, struct tx_part *p, struct tx_held *out)
{
    *out = p->items[p->head];
    size_t bytes = out->rec.key.len + out->rec.value.len + RECORD_BYTES;
    p->head++;
    p->count--;
    p->base++;
    p->bytes -= bytes;
    q->bytes -= bytes;
    q->held--;
}

/* Transactions whose records have all gone. */
static void end_txs(struct mr_tx_queue *q, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tx *tx = q->sorted[i].tx;
        if (tx == NULL || tx->is_gone)
            q->sorted[i].tx = NULL; /* each once */
        else
            tx->is_gone = true;
    }
    for (size_t i = 0; i < q->part_count; i++)
        if (q->parts[i] != NULL && q->parts[i]->blocked != NULL && q->parts[i]->blocked->is_gone)
            q->parts[i]->blocked = NULL;
    for (size_t i = 0; i < count; i++) {
        if (q->sorted[i].tx == NULL)
            continue;
        q->counts.whole += !q->sorted[i].tx->is_split;
        mr_tx_end(q, q->sorted[i].tx);
    }
}

static size_t give_out(struct mr_tx_queue *q, const struct mr_record **records)
{
    size_t count = 0;
    for (size_t i = 0; i < q->part_count; i++) {
        struct tx_part *p = q->parts[i];
        if (p == NULL || p->visit != q->visit)
            continue;
        q->sorted = mr_xgrow(q->sorted, &q->sorted_cap, count + (size_t)(p->upto - p->base) + 1, sizeof *q->sorted);
        while (p->base < p->upto)
            pop(q, p, &q->sorted[count++]);
    }
    qsort(q->sorted, count, sizeof *q->sorted, compare_seq);
    q->out = mr_xgrow(q->out, &q->out_cap, count + 1, sizeof *q->out);
    for (size_t i = 0; i < count; i++)
        q->out[i] = q->sorted[i].rec;
    *records = q->out;
    return count;
}

/* The partition whose first record came first, of those that are not known to wait. */
static struct tx_part *oldest(struct mr_tx_queue *q, bool waiting)
{
    struct tx_part *found = NULL;
    for (size_t i = 0; i < q->part_count; i++) {
        struct tx_part *p = q->parts[i];
        if (p == NULL || p->count == 0)
            continue;
        bool waits = p->blocked != NULL && !mr_tx_is_whole(q, p->blocked);
        if (waits == waiting && (found == NULL || p->items[p->head].seq < found->items[found->head].seq))
            found = p;
    }
    return found;
}

bool mr_tx_queue_next(struct mr_tx_queue *q, const struct mr_record **records, size_t *count)
{
    for (;;) {
        struct tx_part *p = oldest(q, false);
        if (p == NULL && q->bytes > q->set.max_bytes && (p = oldest(q, true)) != NULL) {
            mr_tx_release(q, p->blocked, "more than batch.transaction_bytes would have to be held");
            continue;
        }
        if (p == NULL)
            break;
        p->blocked = close_over(q, p);
        if (p->blocked != NULL)
            continue;
        *count = give_out(q, records);
        end_txs(q, *count);
        return true;
    }
    q->dirty = false;
    return false;
}

size_t mr_tx_queue_take_all(struct mr_tx_queue *q, const struct mr_record **records)
{
    q->visit++;
    for (size_t i = 0; i < q->part_count; i++) {
        struct tx_part *p = q->parts[i];
        if (p == NULL)
            continue;
        p->visit = q->visit;
        p->upto = p->base + p->count;
        memset(p->ended, 0, sizeof p->ended);
    }
    q->finished = false;
    size_t count = give_out(q, records);
    uint64_t whole = q->counts.whole;
    end_txs(q, count);
    q->counts.whole = whole;
    return count;
}
