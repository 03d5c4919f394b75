/* The file source: files one after another, line by line. Every file is one partition and its position is the number of lines done. Where
 * the input is not bounded, files are followed: lines that are appended and files that appear are read too.
 *
 * The listener is only called at the beginning of a poll, never with records in hand: they would belong to a partition that is no longer
 * ours. */
#include "file_reader.h"
#include "source_ops.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <string.h>

#define SCAN_INTERVAL_MS 500

/* ---- The poll ---- */

/* Nothing is ready. Is this the end, or is there something to wait for? */
static enum mr_status wait_for_files(struct mr_source *src, struct mr_file_poll *call, bool *ended,
                                     struct mr_error *err)
{
    int64_t now = mr_monotonic_ms();
    bool follows = false;

    *ended = false;
    for (size_t i = 0; i < src->cfg->file_paths.count; i++)
        follows = follows || strcmp(src->cfg->file_paths.items[i], "-") != 0;
    if (src->bounded || !follows) {
        *ended = true;
        return MR_OK;
    }
    if (now >= src->next_scan_ms) {
        src->next_scan_ms = now + SCAN_INTERVAL_MS;
        src->next = 0;
        return mr_file_list_scan(&src->list, &src->cfg->file_paths, false, false, err);
    }
    int64_t wait_ms = src->next_scan_ms - now;

    mr_sleep_ms(wait_ms < mr_file_time_left(call) ? wait_ms : mr_file_time_left(call));
    return MR_OK;
}

static enum mr_status poll_files(struct mr_source *src, struct mr_file_poll *call,
                                 enum mr_poll_state *state, struct mr_error *err)
{
    for (;;) {
        enum mr_file_outcome outcome = MR_FILE_OUT_WAIT;

        if (!src->cur)
            MR_TRY(mr_file_open_next(src, err));
        if (!src->cur) {
            bool ended;

            MR_TRY(wait_for_files(src, call, &ended, err));
            if (ended || mr_file_time_left(call) == 0) {
                *state = ended ? MR_POLL_END : MR_POLL_IDLE;
                return MR_OK;
            }
            continue;
        }
        MR_TRY(mr_file_read_current(src, call, &outcome, err));
        switch (outcome) {
        case MR_FILE_OUT_WAIT:
            *state = call->count > 0 ? MR_POLL_MORE : MR_POLL_IDLE;
            return MR_OK;
        case MR_FILE_OUT_FULL:
        case MR_FILE_OUT_TIME:
            *state = MR_POLL_MORE;
            return MR_OK;
        case MR_FILE_OUT_FILE_END:
            if (call->count > 0) { /* the end is looked at anew, without records in hand */
                *state = MR_POLL_MORE;
                return MR_OK;
            }
            mr_file_close_current(src, true);
            break;
        }
    }
}

static enum mr_status file_poll(struct mr_source *src, struct mr_arena *ar, struct mr_record *out,
                                size_t cap, size_t max_bytes, int timeout_ms, size_t *count,
                                enum mr_poll_state *state, struct mr_error *err)
{
    struct mr_file_poll call = {ar, out, cap, 0, max_bytes, 0, mr_monotonic_ms() + timeout_ms};

    *count = 0;
    *state = MR_POLL_IDLE;
    if (src->paused) {
        mr_sleep_ms(timeout_ms);
        return MR_OK;
    }
    MR_TRY(poll_files(src, &call, state, err));
    *count = call.count;
    return MR_OK;
}

/* ---- The rest of the contract ---- */

static void file_destroy(struct mr_source *src);

static enum mr_status file_create(const struct mr_config *cfg, bool bounded,
                                  const struct mr_source_listener *listener, struct mr_source **out,
                                  struct mr_error *err)
{
    struct mr_source *src = mr_xcalloc(1, sizeof(*src));
    enum mr_status status;

    src->cfg = cfg;
    src->listener = listener;
    src->bounded = bounded;
    src->next_scan_ms = mr_monotonic_ms() + SCAN_INTERVAL_MS;
    status = mr_file_list_scan(&src->list, &cfg->file_paths, true, bounded, err);
    if (status != MR_OK) {
        file_destroy(src);
        return status;
    }
    *out = src;
    return MR_OK;
}

static void file_release(struct mr_source *src, struct mr_record *records, size_t count)
{
    /* Everything of a record lives in the batch's arena. */
    (void)src;
    (void)records;
    (void)count;
}

static void file_commit(struct mr_source *src, const struct mr_partition *const *parts,
                        const int64_t *positions, size_t count)
{
    /* Files keep no position of their own. */
    (void)src;
    (void)parts;
    (void)positions;
    (void)count;
}

static void file_destroy(struct mr_source *src)
{
    if (!src)
        return;
    mr_file_close_current(src, false);
    for (size_t i = 0; i < src->list.count; i++)
        if (src->list.items[i]->assigned)
            mr_file_give_back(src, src->list.items[i]->part);
    mr_file_list_free(&src->list);
    mr_xfree(src);
}

static void file_pause(struct mr_source *src)
{
    src->paused = true;
}

static void file_resume(struct mr_source *src)
{
    src->paused = false;
}

static enum mr_status file_seek(struct mr_source *src, const struct mr_partition *part,
                                int64_t position, struct mr_error *err)
{
    struct mr_file *file = mr_file_list_by_part(&src->list, part);

    if (!file)
        return mr_fail(err, MR_E_BUG, "seek in %s, which is no file of ours", part->topic_z);
    position = position < 0 ? 0 : position;
    if (position == file->want)
        return MR_OK;
    if (file->is_stream && position < src->line)
        return mr_fail(err, MR_E_CONFIG, "cannot go back to line %lld of %s, which can be read only once",
                       (long long)position, mr_file_shown(file));
    file->want = position;
    if (file->is_stream)
        return MR_OK;
    if (src->cur)
        mr_file_close_current(src, false);
    file->state = MR_FILE_READY;
    src->next = 0;
    return MR_OK;
}

/* One entry for all files together: what a progress bar needs. */
static size_t file_lag(struct mr_source *src, struct mr_lag *out, size_t cap)
{
    uint64_t done = 0, all = 0;
    bool is_known = true;
    const struct mr_partition *part = NULL;

    for (size_t i = 0; i < src->list.count; i++) {
        const struct mr_file *file = src->list.items[i];
        uint64_t read_bytes = file->done;

        if (file == src->cur)
            read_bytes = mr_bytes_offset(mr_lines_input(src->lines));
        if (file->part)
            part = file->part;
        is_known = is_known && (!file->is_stream || file->state == MR_FILE_DONE);
        done += read_bytes;
        all += file->size > read_bytes ? file->size : read_bytes;
    }
    if (src->cur)
        part = src->cur->part;
    if (!part || cap == 0)
        return 0;
    out[0] = (struct mr_lag){part, (int64_t)done, is_known ? (int64_t)all : -1};
    return 1;
}

static void file_drop(struct mr_source *src, const struct mr_partition *part)
{
    struct mr_file *file = mr_file_list_by_part(&src->list, part);

    if (!file)
        return;
    if (file == src->cur)
        mr_file_close_current(src, false);
    if (file->assigned)
        src->assigned--;
    file->assigned = false;
    file->state = MR_FILE_DROPPED;
    mr_log(MR_LOG_WARN, "file given up", MR_KV_Z("file", mr_file_shown(file)));
}

const struct mr_source_ops mr_source_file = {
    .name = "file",
    .create = file_create,
    .poll = file_poll,
    .release = file_release,
    .commit = file_commit,
    .destroy = file_destroy,
    .pause = file_pause,
    .resume = file_resume,
    .seek = file_seek,
    .lag = file_lag,
    .drop = file_drop,
    .check = mr_file_check,
};
