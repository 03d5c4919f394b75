/* Streaming decompression behind one reader. Input comes in pieces of IN_BYTES; output goes straight into the caller's
 * buffer, so a bomb costs time but no memory (a zstd window is bounded by the library's default of 128 MiB). */
#include "decompress.h"

#include <millrace/base/mem.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define IN_BYTES ((size_t)128 * 1024)
#define MAGIC_BYTES 4

enum kind { KIND_UNKNOWN, KIND_PLAIN, KIND_GZIP, KIND_ZSTD };

struct mr_bytes {
    int fd;
    bool waits;
    const char *name_z;
    enum kind kind;       /* of the frame we are in; UNKNOWN between two */
    bool plain;           /* the whole input is plain text */
    bool is_first;        /* no frame has ended yet */
    bool at_eof;          /* read() has returned 0 */
    bool in_frame;        /* a frame has begun and not ended */
    unsigned char *in;    /* IN_BYTES */
    size_t pos, len;      /* unread part of `in` */
    uint64_t read_bytes;  /* offset of in[len] in the input */
    z_stream gzip;
    bool gzip_ready;      /* inflateInit2 has run */
    ZSTD_DStream *zstd;
    enum mr_status failed; /* sticky */
    struct mr_error error;
};

struct mr_bytes *mr_bytes_open(int fd, bool waits, bool plain, uint64_t start, const char *name_z)
{
    struct mr_bytes *in = mr_xcalloc(1, sizeof(*in));

    in->fd = fd;
    in->waits = waits;
    in->name_z = name_z;
    in->kind = plain ? KIND_PLAIN : KIND_UNKNOWN;
    in->plain = plain;
    in->is_first = start == 0;
    in->in = mr_xmalloc(IN_BYTES);
    in->read_bytes = start;
    return in;
}

void mr_bytes_close(struct mr_bytes *in)
{
    if (!in)
        return;
    if (in->gzip_ready)
        inflateEnd(&in->gzip);
    ZSTD_freeDStream(in->zstd);
    close(in->fd);
    mr_xfree(in->in);
    mr_xfree(in);
}

uint64_t mr_bytes_offset(const struct mr_bytes *in)
{
    return in->read_bytes - (in->len - in->pos);
}

bool mr_bytes_is_plain(const struct mr_bytes *in)
{
    return in->plain;
}

/* Is there something to read? The end of a pipe counts as something. */
static enum mr_status await(struct mr_bytes *in, int timeout_ms, bool *ready, struct mr_error *err)
{
    struct pollfd pfd = {.fd = in->fd, .events = POLLIN};
    int rc = poll(&pfd, 1, timeout_ms);

    *ready = rc > 0;
    if (rc < 0 && errno != EINTR)
        return mr_fail(err, MR_E_ENV, "cannot wait for %s: %s", in->name_z, strerror(errno));
    return MR_OK;
}

/* Bring at least `need` unread bytes into `in`, unless the input ends or nothing comes in time (*waiting). */
static enum mr_status fill(struct mr_bytes *in, size_t need, int timeout_ms, bool *waiting,
                           struct mr_error *err)
{
    *waiting = false;
    if (in->pos > 0 && in->len - in->pos < need) {
        memmove(in->in, in->in + in->pos, in->len - in->pos);
        in->len -= in->pos;
        in->pos = 0;
    }
    while (in->len - in->pos < need && !in->at_eof) {
        ssize_t got;

        if (in->waits) {
            bool ready;

            MR_TRY(await(in, timeout_ms, &ready, err));
            if (!ready) {
                *waiting = true;
                return MR_OK;
            }
        }
        got = read(in->fd, in->in + in->len, IN_BYTES - in->len);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            *waiting = true;
            return MR_OK;
        }
        if (got < 0)
            return mr_fail(err, MR_E_ENV, "cannot read %s: %s", in->name_z, strerror(errno));
        in->at_eof = got == 0;
        in->len += (size_t)got;
        in->read_bytes += (uint64_t)got;
    }
    return MR_OK;
}

static enum kind kind_of(const unsigned char *p, size_t len)
{
    if (len >= 2 && p[0] == 0x1f && p[1] == 0x8b)
        return KIND_GZIP;
    if (len >= MAGIC_BYTES && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd)
        return KIND_ZSTD;
    if (len >= MAGIC_BYTES && (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18)
        return KIND_ZSTD; /* a skippable frame */
    return KIND_PLAIN;
}

static bool is_padding(const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p[i] != 0)
            return false;
    return true;
}

static enum mr_status begin_gzip(struct mr_bytes *in, struct mr_error *err)
{
    /* 16: a gzip header is wanted, no bare zlib stream. */
    int rc = in->gzip_ready ? inflateReset(&in->gzip) : inflateInit2(&in->gzip, 16 + MAX_WBITS);

    if (rc != Z_OK)
        return mr_fail(err, MR_E_ENV, "cannot start zlib for %s: code %d", in->name_z, rc);
    in->gzip_ready = true;
    return MR_OK;
}

static enum mr_status begin_zstd(struct mr_bytes *in, struct mr_error *err)
{
    if (!in->zstd)
        in->zstd = ZSTD_createDStream();
    if (!in->zstd || ZSTD_isError(ZSTD_initDStream(in->zstd)))
        return mr_fail(err, MR_E_ENV, "cannot start zstd for %s", in->name_z);
    return MR_OK;
}

/* Between two frames: which kind begins here? Leaves kind UNKNOWN at the end of the input. */
static enum mr_status begin_frame(struct mr_bytes *in, int timeout_ms, bool *waiting,
                                  struct mr_error *err)
{
    const unsigned char *p;
    size_t len;

    MR_TRY(fill(in, MAGIC_BYTES, timeout_ms, waiting, err));
    p = in->in + in->pos;
    len = in->len - in->pos;
    if (*waiting || len == 0)
        return MR_OK;

    in->kind = kind_of(p, len);
    if (in->kind == KIND_PLAIN && !in->is_first) {
        in->kind = KIND_UNKNOWN;
        /* Tape-like tools fill the last block with zero bytes; gzip passes over them too. */
        if (is_padding(p, len)) {
            in->pos = in->len;
            return MR_OK;
        }
        return mr_fail_data(err, MR_CODE_BAD_LINE,
                            "%s: something that is not compressed follows the compressed data at byte %llu",
                            in->name_z, (unsigned long long)mr_bytes_offset(in));
    }
    in->plain = in->kind == KIND_PLAIN;
    in->in_frame = !in->plain;
    if (in->kind == KIND_GZIP)
        return begin_gzip(in, err);
    return in->kind == KIND_ZSTD ? begin_zstd(in, err) : MR_OK;
}

static void end_frame(struct mr_bytes *in)
{
    in->in_frame = false;
    in->is_first = false;
    in->kind = KIND_UNKNOWN;
}

static enum mr_status inflate_some(struct mr_bytes *in, char *out, size_t cap, size_t *len,
                                   struct mr_error *err)
{
    int rc;

    in->gzip.next_in = in->in + in->pos;
    in->gzip.avail_in = (uInt)(in->len - in->pos);
    in->gzip.next_out = (unsigned char *)out;
    in->gzip.avail_out = cap > UINT32_MAX ? UINT32_MAX : (uInt)cap;
    rc = inflate(&in->gzip, Z_NO_FLUSH);
    in->pos = in->len - in->gzip.avail_in;
    *len = (size_t)(in->gzip.next_out - (unsigned char *)out);

    if (rc == Z_STREAM_END)
        end_frame(in);
    else if (rc != Z_OK && rc != Z_BUF_ERROR)
        return mr_fail_data(err, MR_CODE_BAD_LINE, "%s: corrupt gzip data near byte %llu: %s",
                            in->name_z, (unsigned long long)mr_bytes_offset(in),
                            in->gzip.msg ? in->gzip.msg : "unknown reason");
    return MR_OK;
}

static enum mr_status unzstd_some(struct mr_bytes *in, char *out, size_t cap, size_t *len,
                                  struct mr_error *err)
{
    ZSTD_inBuffer from = {in->in, in->len, in->pos};
    ZSTD_outBuffer to = {out, cap, 0};
    size_t rc = ZSTD_decompressStream(in->zstd, &to, &from);

    in->pos = from.pos;
    *len = to.pos;
    if (ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge) {
        enum mr_status status = mr_fail(err, MR_E_CONFIG, "%s: compressed with a window of more than 128 MiB (zstd --long)", in->name_z);
        mr_error_hint(err, "decompress it first: zstd -dc --long=31 FILE | millrace backfill -");
        return status;
    }
    if (ZSTD_isError(rc))
        return mr_fail_data(err, MR_CODE_BAD_LINE, "%s: corrupt zstd data near byte %llu: %s",
                            in->name_z, (unsigned long long)mr_bytes_offset(in),
                            ZSTD_getErrorName(rc));
    if (rc == 0)
        end_frame(in);
    return MR_OK;
}

static enum mr_status copy_some(struct mr_bytes *in, char *out, size_t cap, size_t *len)
{
    size_t have = in->len - in->pos;

    *len = have < cap ? have : cap;
    memcpy(out, in->in + in->pos, *len);
    in->pos += *len;
    return MR_OK;
}

/* One step: begin a frame, or read or decompress some. */
static enum mr_status step(struct mr_bytes *in, char *out, size_t cap, int timeout_ms, size_t *len,
                           bool *waiting, struct mr_error *err)
{
    *waiting = false;
    if (in->kind == KIND_UNKNOWN)
        return begin_frame(in, timeout_ms, waiting, err);

    /* The library may hold output back although all input is used up: only ask for more when it has said so (no output). */
    switch (in->kind) {
    case KIND_PLAIN:
        MR_TRY(fill(in, 1, timeout_ms, waiting, err));
        return copy_some(in, out, cap, len);
    case KIND_GZIP:
        MR_TRY(inflate_some(in, out, cap, len, err));
        break;
    case KIND_ZSTD:
        MR_TRY(unzstd_some(in, out, cap, len, err));
        break;
    case KIND_UNKNOWN:
        break;
    }
    if (*len > 0 || in->kind == KIND_UNKNOWN)
        return MR_OK;
    return fill(in, 1, timeout_ms, waiting, err);
}

enum mr_status mr_bytes_read(struct mr_bytes *in, char *out, size_t cap, int timeout_ms, size_t *len,
                             enum mr_bytes_state *state, struct mr_error *err)
{
    bool waiting = false;

    *len = 0;
    if (in->failed != MR_OK) {
        if (err)
            *err = in->error;
        return in->failed;
    }
    while (*len == 0) {
        in->failed = step(in, out, cap, timeout_ms, len, &waiting, &in->error);
        if (in->failed != MR_OK) {
            if (err)
                *err = in->error;
            return in->failed;
        }
        if (*len > 0)
            break;
        if (waiting) {
            *state = MR_BYTES_WAIT;
            return MR_OK;
        }
        if (in->at_eof && in->pos == in->len) {
            *state = in->in_frame ? MR_BYTES_CUT : MR_BYTES_END;
            return MR_OK;
        }
    }
    *state = MR_BYTES_DATA;
    return MR_OK;
}
