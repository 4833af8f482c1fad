#include "filecoin/input.h"

#include <string.h>
#ifdef ZK_HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/alloc.h"
#include "base/file.h"

#define PIECE_BYTES ((size_t)256 << 10)
/* Frames that ask for more window than this are refused: it is what `zstd -19 --long` needs at most by default. */
#define MAX_ZSTD_WINDOW_LOG 27

typedef struct raw_input {
    zk_input base;
    const uint8_t *memory;      /* or a file: */
    size_t n_memory, at, n_out; /* bytes handed out before, and by the last call */
    zk_passed passed;
    zk_file_reader *file;
    uint8_t *buffer; /* [PIECE_BYTES] */
    size_t n_head;   /* of the buffer: read at opening and not yet handed out */
} raw_input;

static cuzk_status raw_read_file(zk_input *base, const uint8_t **data, size_t *n, bool *last, cuzk_err *err) {
    raw_input *in = (raw_input *)base;
    *n = in->n_head;
    in->n_head = 0;
    if (*n == 0) ZK_TRY(zk_file_reader_read(n, in->file, in->buffer, PIECE_BYTES, err));
    *data = in->buffer;
    *last = *n == 0;
    return CUZK_OK;
}

static cuzk_status raw_read_memory(zk_input *base, const uint8_t **data, size_t *n, bool *last, cuzk_err *err) {
    raw_input *in = (raw_input *)base;
    (void)err;
    zk_passed_tell(&in->passed, in->memory + in->at, in->n_out);
    in->at += in->n_out;
    in->n_out = in->n_memory - in->at < PIECE_BYTES ? in->n_memory - in->at : PIECE_BYTES;
    *data = in->memory + in->at;
    *n = in->n_out;
    *last = in->at + in->n_out == in->n_memory;
    return CUZK_OK;
}

static void raw_close(zk_input *base) {
    raw_input *in = (raw_input *)base;
    if (in->memory) zk_passed_tell(&in->passed, in->memory + in->at, in->n_out);
    zk_file_reader_destroy(in->file);
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

cuzk_status zk_input_open_memory(zk_input **input, const void *data, size_t n, const zk_passed *passed, cuzk_err *err) {
    raw_input *in = zk_calloc(1, sizeof *in);
    if (!in) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "input: no memory");
    in->base.read = raw_read_memory;
    in->base.close = raw_close;
    in->memory = data;
    in->n_memory = n;
    if (passed) in->passed = *passed;
    if (is_zstd(data, n)) return wrap_zstd(input, &in->base, err);
    *input = &in->base;
    return CUZK_OK;
}

cuzk_status zk_input_open_file(zk_input **input, const char *path, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    raw_input *in = zk_calloc(1, sizeof *in);
    if (!in) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to open it", path);
    in->base.read = raw_read_file;
    in->base.close = raw_close;
    in->buffer = zk_malloc(PIECE_BYTES);
    if (!in->buffer) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory to open it", path));
    ZK_GOTO(zk_file_reader_create(&in->file, path, err));
    ZK_GOTO(zk_file_reader_read(&in->n_head, in->file, in->buffer, PIECE_BYTES, err));
    zk_input *opened = &in->base;
    if (is_zstd(in->buffer, in->n_head)) {
        in = NULL; /* taken over */
        status = wrap_zstd(&opened, opened, err);
        if (status != CUZK_OK) {
            zk_err_prefix(err, "%s", path);
            goto out;
        }
    }
    *input = opened;
    in = NULL;
out:
    if (in) raw_close(&in->base);
    return status;
}

void zk_input_close(zk_input *input) {
    if (input) input->close(input);
}
