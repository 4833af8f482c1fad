#include "program/digest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/pool.h"
#include "hash/sha256.h"

#define BUFFER_BYTES 65536
#define TERM_BYTES 37
#define INSTANCES_A_LOOK 64 /* between looks at the cancel flag: some milliseconds */

/* A hash with a buffer before it and checkpoints. */
typedef struct stream {
    zk_sha256_ctx hash;
    uint8_t *buffer; /* [BUFFER_BYTES] */
    size_t n;
    uint32_t every, left; /* units (rows, values) a checkpoint; units until the next one */
    zk_checkpoints *checkpoints;
} stream;

static void flush(stream *s) {
    zk_sha256_update(&s->hash, s->buffer, s->n);
    s->n = 0;
}

static uint8_t *room(stream *s, size_t n) {
    if (n > BUFFER_BYTES - s->n) flush(s);
    return s->buffer + s->n;
}

/* A row or value is complete. */
static void unit_done(stream *s) {
    if (!s->every || --s->left) return;
    uint8_t digest[32];
    s->left = s->every;
    flush(s);
    zk_sha256_peek(digest, &s->hash);
    memcpy(s->checkpoints->at[s->checkpoints->n++], digest, 8);
}

static cuzk_status stream_open(stream *s, zk_checkpoints *checkpoints, uint32_t every, size_t n_units, cuzk_err *err) {
    memset(s, 0, sizeof *s);
    zk_sha256_init(&s->hash);
    s->buffer = zk_malloc(BUFFER_BYTES);
    if (checkpoints && every) {
        s->every = s->left = every;
        s->checkpoints = checkpoints;
        checkpoints->at = zk_malloc((n_units / every + 1) * sizeof *checkpoints->at);
    }
    if (!s->buffer || (s->every && !checkpoints->at)) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "digest: no memory");
    return CUZK_OK;
}

static void stream_close(stream *s, uint8_t digest[32]) {
    flush(s);
    zk_sha256_final(digest, &s->hash);
}

void zk_checkpoints_free(zk_checkpoints *c) {
    free(c->at);
    memset(c, 0, sizeof *c);
}

/* ---- structure ---- */

typedef struct structure_job {
    const zk_program *program;
    const uint8_t (*coefs)[32]; /* the dictionary, canonical */
    uint32_t every;
    zk_structure_digest *digest;
    cuzk_status status[3];
    cuzk_err err[3];
} structure_job;

typedef struct row_sink {
    stream s;
    const uint8_t (*coefs)[32];
} row_sink;

static void hash_row(void *ctx, uint32_t row, const zk_row_term *terms, size_t n) {
    (void)row;
    row_sink *sink = ctx;
    zk_store_le32(room(&sink->s, 4), (uint32_t)n);
    sink->s.n += 4;
    for (size_t i = 0; i < n; i++) {
        uint8_t *to = room(&sink->s, TERM_BYTES);
        to[0] = !(terms[i].var & ZK_VAR_INPUT);
        zk_store_le32(to + 1, terms[i].var & ~ZK_VAR_INPUT);
        memcpy(to + 5, sink->coefs[terms[i].coef], 32);
        sink->s.n += TERM_BYTES;
    }
    unit_done(&sink->s);
}

static void hash_matrix(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    structure_job *job = ctx;
    for (size_t m = begin; m < end; m++) {
        row_sink sink = {.coefs = job->coefs};
        cuzk_err *err = &job->err[m];
        job->status[m] = stream_open(&sink.s, &job->digest->checkpoints[m], job->every, job->program->n_rows, err);
        const zk_program *p = job->program;
        for (uint32_t i = 0; i < p->n_instances && job->status[m] == CUZK_OK; i += INSTANCES_A_LOOK) {
            uint32_t n = p->n_instances - i < INSTANCES_A_LOOK ? p->n_instances - i : INSTANCES_A_LOOK;
            job->status[m] = zk_program_walk(p, (unsigned)m, i, n, hash_row, &sink, err);
            if (job->status[m] == CUZK_OK) job->status[m] = zk_cancel_check(NULL, "digest", err);
        }
        if (job->status[m] == CUZK_OK) stream_close(&sink.s, job->digest->sha256[m]);
        free(sink.s.buffer);
    }
}

cuzk_status zk_structure_digest_make(zk_structure_digest *digest, const zk_program *p, uint32_t rows_per_checkpoint,
                                     zk_pool *pool, cuzk_err *err) {
    memset(digest, 0, sizeof *digest);
    cuzk_status status = CUZK_OK;
    uint8_t(*coefs)[32] = zk_malloc(p->n_coefs * sizeof *coefs);
    if (!coefs) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "digest of circuit %s: no memory", p->name));
    for (uint32_t i = 0; i < p->n_coefs; i++) zk_fr_to_bytes_le(coefs[i], &p->coefs[i]);
    structure_job job = {
        .program = p, .coefs = (const uint8_t(*)[32])coefs, .every = rows_per_checkpoint, .digest = digest};
    zk_pool_for(pool, 3, 1, hash_matrix, &job);
    for (int m = 0; m < 3; m++)
        if (job.status[m] != CUZK_OK) ZK_GOTO(ZK_FAIL(err, job.status[m], "%s", job.err[m].message));
    ZK_GOTO(zk_program_density(p, NULL, NULL, NULL, &digest->stats, pool, err));
out:
    free(coefs);
    if (status != CUZK_OK) zk_structure_digest_free(digest);
    return status;
}

void zk_structure_digest_free(zk_structure_digest *digest) {
    for (int m = 0; m < 3; m++) zk_checkpoints_free(&digest->checkpoints[m]);
}

/* ---- assignment ---- */

static cuzk_status hash_values(stream *s, const zk_program *p, const zk_witness *w, cuzk_err *err) {
    uint32_t n_wide = 0;
    for (uint32_t i = 0; i < p->n_instances; i++) {
        if (i % INSTANCES_A_LOOK == 0) ZK_TRY(zk_cancel_check(NULL, "digest", err));
        const zk_instance *x = &p->instances[i];
        const zk_template *t = &p->templates[x->template_id];
        for (uint32_t k = 0; k < t->n_aux; k++) {
            uint8_t *to = room(s, 32);
            if (t->wide_mask[k / 64] >> (k % 64) & 1) {
                zk_fr_to_bytes_le(to, &w->wide[n_wide++]);
            } else {
                uint32_t aux = x->first_aux + k;
                memset(to, 0, 32);
                to[0] = w->bits[aux / 64] >> (aux % 64) & 1;
            }
            s->n += 32;
            unit_done(s);
        }
    }
    return CUZK_OK;
}

cuzk_status zk_witness_digest(uint8_t sha256[32], zk_checkpoints *checkpoints, const zk_program *p, const zk_witness *w,
                              uint32_t every, cuzk_err *err) {
    stream s;
    if (checkpoints) memset(checkpoints, 0, sizeof *checkpoints);
    cuzk_status status = stream_open(&s, checkpoints, every, p->n_aux, err);
    if (status == CUZK_OK) status = hash_values(&s, p, w, err);
    if (status == CUZK_OK)
        stream_close(&s, sha256);
    else if (checkpoints)
        zk_checkpoints_free(checkpoints);
    free(s.buffer);
    return status;
}
