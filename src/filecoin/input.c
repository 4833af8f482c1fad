#include "filecoin/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#ifdef ZK_HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/alloc.h"

#define PIECE_BYTES ((size_t)256 << 10)
/* Frames that ask for more window than this are refused: it is what `zstd -19 --long` needs at most by default. */
#define MAX_ZSTD_WINDOW_LOG 27

typedef struct raw_input {
    zk_input base;
    const uint8_t *memory; /* or a file: */
    size_t n_memory;
    int fd;
    char *path;
    uint64_t offset;
    uint8_t *buffer; /* [PIECE_BYTES] */
} raw_input;

static cuzk_status raw_read_file(zk_input *base, const uint8_t **data, size_t *n, bool *last, cuzk_err *err) {
    raw_input *in = (raw_input *)base;
    ssize_t got;
    do got = read(in->fd, in->buffer, PIECE_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return ZK_FAIL(err, CUZK_IO, "%s: reading at byte %llu: %s", in->path, (unsigned long long)in->offset,
                       strerror(errno));
    in->offset += (uint64_t)got;
    *data = in->buffer;
    *n = (size_t)got;
    *last = got == 0;
    return CUZK_OK;
}

static cuzk_status raw_read_memory(zk_input *base, const uint8_t **data, size_t *n, bool *last, cuzk_err *err) {
    raw_input *in = (raw_input *)base;
    (void)err;
    *data = in->memory;
    *n = in->n_memory;
    *last = true;
    return CUZK_OK;
}

static void raw_close(zk_input *base) {
    raw_input *in = (raw_input *)base;
    if (in->fd >= 0) close(in->fd);
    free(in->path);
    free(in->buffer);
    free(in);
}

#ifdef ZK_HAVE_ZSTD
typedef struct zstd_input {
    zk_input base;
    zk_input *source;
    ZSTD_DStream *stream;
    ZSTD_inBuffer in;
    bool source_ended;
    size_t hint; /* of the last call: 0 at the end of a frame */
    uint8_t *buffer;
} zstd_input;

static cuzk_status zstd_read(zk_input *base, const uint8_t **data, size_t *n, bool *last, cuzk_err *err) {
    zstd_input *z = (zstd_input *)base;
    ZSTD_outBuffer out = {z->buffer, PIECE_BYTES, 0};
    while (out.pos == 0) {
        if (z->in.pos == z->in.size) {
            if (z->source_ended) break;
            const uint8_t *piece;
            size_t n_piece;
            ZK_TRY(z->source->read(z->source, &piece, &n_piece, &z->source_ended, err));
            z->in = (ZSTD_inBuffer){piece, n_piece, 0};
            continue;
        }
        z->hint = ZSTD_decompressStream(z->stream, &out, &z->in);
        if (ZSTD_isError(z->hint)) return ZK_FAIL(err, CUZK_BAD_INPUT, "zstd: %s", ZSTD_getErrorName(z->hint));
    }
    if (out.pos == 0) { /* the source is used up; what the decoder still holds comes out first */
        z->hint = z->hint == 0 ? 0 : ZSTD_decompressStream(z->stream, &out, &z->in);
        if (ZSTD_isError(z->hint)) return ZK_FAIL(err, CUZK_BAD_INPUT, "zstd: %s", ZSTD_getErrorName(z->hint));
        if (out.pos == 0 && z->hint != 0)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "zstd: the data ends in the middle of a frame");
    }
    *data = z->buffer;
    *n = out.pos;
    *last = out.pos == 0;
    return CUZK_OK;
}

static void zstd_close(zk_input *base) {
    zstd_input *z = (zstd_input *)base;
    zk_input_close(z->source);
    ZSTD_freeDStream(z->stream);
    free(z->buffer);
    free(z);
}

/* Takes the source over, also on failure. */
static cuzk_status wrap_zstd(zk_input **input, zk_input *source, cuzk_err *err) {
    zstd_input *z = zk_calloc(1, sizeof *z);
    if (!z) {
        zk_input_close(source);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "zstd: no memory for the decoder");
    }
    z->base.read = zstd_read;
    z->base.close = zstd_close;
    z->source = source;
    z->hint = 1;
    z->stream = ZSTD_createDStream();
    z->buffer = zk_malloc(PIECE_BYTES);
    if (!z->stream || !z->buffer ||
        ZSTD_isError(ZSTD_DCtx_setParameter(z->stream, ZSTD_d_windowLogMax, MAX_ZSTD_WINDOW_LOG))) {
        zstd_close(&z->base);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "zstd: no memory for the decoder");
    }
    *input = &z->base;
    return CUZK_OK;
}

bool zk_input_has_zstd(void) { return true; }
#else
static cuzk_status wrap_zstd(zk_input **input, zk_input *source, cuzk_err *err) {
    (void)input;
    zk_input_close(source);
    return ZK_FAIL(err, CUZK_UNSUPPORTED, "the data is zstd-compressed and this build has no zstd: unpack it first");
}

bool zk_input_has_zstd(void) { return false; }
#endif

static bool is_zstd(const uint8_t *data, size_t n) {
    static const uint8_t magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    return n >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

cuzk_status zk_input_open_memory(zk_input **input, const void *data, size_t n, cuzk_err *err) {
    raw_input *in = zk_calloc(1, sizeof *in);
    if (!in) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "input: no memory");
    in->base.read = raw_read_memory;
    in->base.close = raw_close;
    in->fd = -1;
    in->memory = data;
    in->n_memory = n;
    if (is_zstd(data, n)) return wrap_zstd(input, &in->base, err);
    *input = &in->base;
    return CUZK_OK;
}

cuzk_status zk_input_open_file(zk_input **input, const char *path, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    uint8_t head[4];
    raw_input *in = zk_calloc(1, sizeof *in);
    if (!in) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to open it", path);
    in->fd = -1;
    in->base.read = raw_read_file;
    in->base.close = raw_close;
    in->path = zk_strdup(path);
    in->buffer = zk_malloc(PIECE_BYTES);
    if (!in->path || !in->buffer) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to open it", path));
    in->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) ZK_GOTO(ZK_FAIL(err, errno == ENOENT ? CUZK_NOT_FOUND : CUZK_IO, "%s: %s", path, strerror(errno)));
    ssize_t got = pread(in->fd, head, sizeof head, 0);
    /* A pipe cannot be looked into; it is taken as plain. */
    if (got < 0 && errno != ESPIPE) ZK_GOTO(ZK_FAIL(err, CUZK_IO, "%s: %s", path, strerror(errno)));
    if (is_zstd(head, got < 0 ? 0 : (size_t)got)) {
        zk_input *source = &in->base;
        in = NULL;
        status = wrap_zstd(input, source, err);
        if (status != CUZK_OK) zk_err_prefix(err, "%s", path);
        goto out;
    }
    *input = &in->base;
    in = NULL;
out:
    if (in) raw_close(&in->base);
    return status;
}

void zk_input_close(zk_input *input) {
    if (input) input->close(input);
}
