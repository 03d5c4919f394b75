/* One file: opening it at the right line, reading its lines into records, closing it. */
#include "file_reader.h"

#include "line_record.h"

#include <millrace/base/log.h>
#include <millrace/base/mem.h>
#include <millrace/base/time.h>

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Finished files are given back in groups: every commit of the engine moves the positions of all partitions it has. */
#define MAX_ASSIGNED 64
/* Lines to pass over between two looks at the clock. */
#define SKIP_STEP 10000

/* ---- Opening and closing ---- */

/* Close the file we are in, remembering where we are. `at_end`: nothing whole is left in it. */
void mr_file_close_current(struct mr_source *src, bool at_end)
{
    struct mr_file *file = src->cur;
    uint64_t used, pending;

    if (!file)
        return;
    used = mr_bytes_offset(mr_lines_input(src->lines));
    pending = mr_lines_pending(src->lines);
    file->done = used;
    if (mr_bytes_is_plain(mr_lines_input(src->lines))) {
        file->at_line = src->line;
        file->offset = used - pending;
        file->is_plain = true;
    } else if (at_end && pending == 0) {
        file->at_line = src->line;
        file->offset = used;
        file->is_plain = false;
    } else {
        file->at_line = 0;
        file->offset = 0;
    }
    if (at_end)
        file->state = MR_FILE_DONE;
    mr_lines_destroy(src->lines);
    src->lines = NULL;
    src->cur = NULL;
}

void mr_file_give_back(struct mr_source *src, const struct mr_partition *part)
{
    src->assigned--;
    src->listener->revoked(src->listener->ctx, &part, 1, false);
}

/* Give back what has been read to its end. */
static void give_back_finished(struct mr_source *src)
{
    for (size_t i = 0; i < src->list.count; i++) {
        struct mr_file *file = src->list.items[i];

        if (!file->assigned || file == src->cur || file->state == MR_FILE_READY)
            continue;
        file->assigned = false;
        mr_file_give_back(src, file->part);
    }
}

static enum mr_status assign(struct mr_source *src, struct mr_file *file, struct mr_error *err)
{
    const struct mr_partition *part = file->part;
    int64_t position = MR_POSITION_NONE;

    if (src->assigned >= MAX_ASSIGNED)
        give_back_finished(src);
    MR_TRY(src->listener->assigned(src->listener->ctx, &part, 1, &position, err));
    file->assigned = true;
    src->assigned++;
    file->want = position < 0 ? 0 : position;
    return MR_OK;
}

static int open_file(const struct mr_file *file)
{
    if (strcmp(file->path_z, "-") == 0)
        return dup(STDIN_FILENO);
    return open(file->path_z, O_RDONLY | O_CLOEXEC);
}

/* Who is it, where do we go on? Afterwards the descriptor stands where reading begins, after *line lines. */
static enum mr_status place_file(struct mr_source *src, struct mr_file *file, int fd, int64_t *line,
                                 struct mr_error *err)
{
    const struct mr_partition *old = file->part;
    bool was_assigned = file->assigned;

    MR_TRY(mr_file_identify(&src->list, file, fd, src->cfg->file_id, src->listener, err));
    if (was_assigned && file->part != old)
        mr_file_give_back(src, old);
    if (!file->assigned)
        MR_TRY(assign(src, file, err));

    *line = 0;
    if (file->is_stream)
        return MR_OK;
    /* Go to where we have been before, unless the wanted line lies before it or the file has been cut. */
    if (file->at_line > 0 && file->at_line <= file->want && file->offset <= file->size)
        *line = file->at_line;
    else
        file->at_line = 0;
    if (*line == 0)
        file->offset = 0;
    if (lseek(fd, (off_t)file->offset, SEEK_SET) < 0)
        return mr_fail(err, MR_E_ENV, "cannot seek in %s: %s", file->shown_z, strerror(errno));
    return MR_OK;
}

/* The file was there when it was listed. A followed one that has gone since is simply over. */
static enum mr_status open_failed(struct mr_source *src, struct mr_file *file, int code,
                                  struct mr_error *err)
{
    if (code == EINTR) /* a signal while a named pipe had no writer yet */
        return mr_fail(err, MR_E_STOPPED, "stopped while opening %s", mr_file_shown(file));
    if (code == ENOENT && !src->bounded) {
        mr_log(MR_LOG_WARN, "file has gone", MR_KV_Z("file", mr_file_shown(file)));
        file->state = MR_FILE_DONE;
        return MR_OK;
    }
    return mr_fail(err, code == ENOENT || code == EACCES ? MR_E_CONFIG : MR_E_ENV,
                   "cannot open %s: %s", mr_file_shown(file), strerror(code));
}

static enum mr_status open_current(struct mr_source *src, struct mr_file *file, struct mr_error *err)
{
    struct stat st;
    struct mr_bytes *in;
    enum mr_status status;
    int64_t line;
    int fd = open_file(file);

    if (fd < 0)
        return open_failed(src, file, errno, err);
    if (fstat(fd, &st) != 0) {
        status = mr_fail(err, MR_E_ENV, "cannot look at %s: %s", mr_file_shown(file), strerror(errno));
        goto failed;
    }
    file->device = (uint64_t)st.st_dev;
    file->inode = (uint64_t)st.st_ino;
    if (!file->is_stream) {
        file->size = (uint64_t)st.st_size;
        if (file->size == 0) { /* nothing to tell it by yet */
            file->state = MR_FILE_DONE;
            file->done = 0;
            close(fd);
            return MR_OK;
        }
    }
    status = place_file(src, file, fd, &line, err);
    if (status != MR_OK)
        goto failed;
    in = mr_bytes_open(fd, file->is_stream, line > 0 && file->is_plain,
                       line > 0 ? file->offset : 0, mr_file_shown(file));
    src->lines = mr_lines_create(in, line == 0, src->cfg->max_message_bytes);
    src->cur = file;
    src->line = line;
    return MR_OK;

failed:
    close(fd);
    return status;
}

/* The next file that is ready becomes the current one; none: cur stays NULL. */
enum mr_status mr_file_open_next(struct mr_source *src, struct mr_error *err)
{
    while (!src->cur && src->next < src->list.count) {
        struct mr_file *file = src->list.items[src->next];

        if (file->state == MR_FILE_READY)
            MR_TRY(open_current(src, file, err));
        if (!src->cur)
            src->next++;
    }
    return MR_OK;
}

/* ---- Reading ---- */

int mr_file_time_left(const struct mr_file_poll *call)
{
    int64_t left = call->deadline_ms - mr_monotonic_ms();

    return left > 0 ? (int)left : 0;
}

/* One line into the batch. */
static void take_line(struct mr_source *src, const struct mr_line *line, struct mr_file_poll *call)
{
    struct mr_record *rec = &call->out[call->count];
    struct mr_line_place place = {mr_file_shown(src->cur), src->line, mr_str_z(src->cfg->file_topic)};
    struct mr_str text;

    if (mr_str_trim(line->text).len == 0)
        return;
    text = mr_arena_copy(call->ar, line->text);
    *rec = (struct mr_record){.part = src->cur->part, .position = src->line};
    if (line->too_long)
        mr_line_broken(text, &place, call->ar, rec,
                       "a line of %llu bytes is longer than limits.message_bytes allows (%llu)",
                       (unsigned long long)line->length,
                       (unsigned long long)src->cfg->max_message_bytes);
    else
        mr_line_record(text, &place, call->ar, rec);
    call->count++;
    call->bytes += text.len;
}

/* The current file has no more whole line. Is that fine? */
static enum mr_status check_end(struct mr_source *src, enum mr_lines_state state, struct mr_error *err)
{
    struct mr_file *file = src->cur;
    bool has_rest = mr_lines_pending(src->lines) > 0;

    if (state == MR_LINES_CUT && (src->bounded || file->is_stream)) {
        mr_fail(err, MR_E_CONFIG, "%s: the compressed data ends in the middle, after line %lld",
                mr_file_shown(file), (long long)src->line);
        if (file->is_stream)
            mr_error_hint(err, "what came before that place is loaded; the whole input can be sent again and goes on there only "
                               "if --id NAME was given both times");
        else
            mr_error_hint(err, "the file is incomplete; once it is whole, start again: reading goes on "
                               "where it stopped");
        return MR_E_CONFIG;
    }
    if (state == MR_LINES_CUT)
        mr_log(MR_LOG_WARN, "the compressed data ends in the middle; waiting for the rest",
               MR_KV_Z("file", mr_file_shown(file)), MR_KV_INT("line", src->line));
    /* A last line without its end counts as done where a bounded run has taken it. */
    if (state == MR_LINES_END && src->line + has_rest < file->want) {
        mr_fail(err, MR_E_CONFIG, "%s has %lld lines, but %lld of it are recorded as done",
                mr_file_shown(file), (long long)src->line, (long long)file->want);
        mr_error_hint(err, "it has been cut or is not the same input; --again reads it from the "
                           "beginning");
        return MR_E_CONFIG;
    }
    return MR_OK;
}

/* A line could not be read: say where, in a class that says whether it can ever work. */
static enum mr_status read_failed(struct mr_source *src, enum mr_status status, struct mr_error *err)
{
    if (status == MR_E_DATA) {
        char message[sizeof(err->message)];

        memcpy(message, err->message, sizeof(message));
        status = mr_fail(err, MR_E_CONFIG, "%s, after line %lld", message, (long long)src->line);
        mr_error_hint(err, "the file is damaged; the lines before are read");
    }
    if (src->cur->is_stream && status == MR_E_ENV)
        status = mr_fail(err, MR_E_CONFIG, "%s broke off after line %lld and cannot be read again",
                         mr_file_shown(src->cur), (long long)src->line);
    mr_file_close_current(src, false); /* the next poll opens it anew */
    return status;
}

enum mr_status mr_file_read_current(struct mr_source *src, struct mr_file_poll *call, enum mr_file_outcome *outcome,
                                   struct mr_error *err)
{
    struct mr_file *file = src->cur;
    bool take_rest = src->bounded || file->is_stream;

    for (int64_t step = 1;; step++) {
        struct mr_line line;
        enum mr_lines_state state;
        enum mr_status status;
        /* Do not keep back what is there for what may come. */
        int timeout_ms = call->count > 0 || !file->is_stream ? 0 : mr_file_time_left(call);

        if (call->count == call->cap || call->bytes >= call->max_bytes) {
            *outcome = MR_FILE_OUT_FULL;
            return MR_OK;
        }
        if (step % SKIP_STEP == 0 && mr_monotonic_ms() >= call->deadline_ms) {
            *outcome = MR_FILE_OUT_TIME;
            return MR_OK;
        }
        status = mr_lines_next(src->lines, take_rest, timeout_ms, &line, &state, err);
        if (status != MR_OK && call->count > 0) {
            *outcome = MR_FILE_OUT_FULL; /* the records first; the error comes again */
            return MR_OK;
        }
        if (status != MR_OK)
            return read_failed(src, status, err);

        switch (state) {
        case MR_LINES_LINE:
            src->line++;
            if (src->line > file->want) {
                take_line(src, &line, call);
                file->want = src->line;
            }
            break;
        case MR_LINES_MORE:
            step = SKIP_STEP - 1; /* look at the clock */
            break;
        case MR_LINES_WAIT:
            *outcome = MR_FILE_OUT_WAIT;
            return MR_OK;
        case MR_LINES_END:
        case MR_LINES_CUT:
            /* An error waits until the records before it are gone. */
            if (call->count == 0)
                MR_TRY(check_end(src, state, err));
            *outcome = MR_FILE_OUT_FILE_END;
            return MR_OK;
        }
    }
}
