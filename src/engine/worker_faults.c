/* Faults for tests: one at a place that is named, or many at random (worker.h says how they are asked for). Those of
 * the device come from a backend that is put over the real one. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/rand.h"
#include "engine/worker_impl.h"

/* ---- chance ---- */

static _Atomic uint64_t chance_state;

/* SplitMix64: any thread may draw. */
static uint64_t draw(void) {
    uint64_t x = atomic_fetch_add(&chance_state, UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool happens(double probability) { return probability > 0 && (double)(draw() >> 11) * 0x1p-53 < probability; }

/* ---- asking for them ---- */

static double *probability_of(worker_faults *f, const char *name) {
    const struct {
        const char *name;
        double *p;
    } known[] = {
        {"alloc", &f->alloc}, {"device", &f->device}, {"crash", &f->crash}, {"wrong", &f->wrong}, {"lie", &f->lie}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].p;
    return NULL;
}

static cuzk_status parse_random(worker_faults *f, const char *text, cuzk_err *err) {
    while (*text) {
        char name[16];
        double p, *to;
        int n = 0;
        if (sscanf(text, ",%15[a-z]=%lf%n", name, &p, &n) != 2 || !(to = probability_of(f, name)) ||
            !(p >= 0 && p <= 1))
            return ZK_FAIL(err, CUZK_USAGE, "--fault: found \"%s\", expected ,NAME=PROBABILITY", text);
        *to = p;
        text += n;
    }
    f->random = true;
    uint64_t seed;
    ZK_TRY(zk_rand_bytes((uint8_t *)&seed, sizeof seed, err));
    atomic_store(&chance_state, seed);
    return CUZK_OK;
}

cuzk_status worker_faults_parse(worker_lane *self, const char *text, cuzk_err *err) {
    worker_faults *f = &self->w->faults;
    char plus = 0;
    if (!text || !*text) return CUZK_OK;
    if (strncmp(text, "random", 6) == 0) return parse_random(f, text + 6, err);
    int n = sscanf(text, "%15[a-z]@%23[a-z_]:%u%c", f->what, f->stage, &f->n, &plus);
    if (n < 3) return ZK_FAIL(err, CUZK_USAGE, "--fault: found \"%s\", expected WHAT@STAGE:N", text);
    f->always = plus == '+';
    return CUZK_OK;
}

/* ---- at a stage ---- */

static cuzk_status random_stage(const worker_faults *f) {
    if (happens(f->crash)) raise(SIGKILL);
    if (!happens(f->alloc)) return CUZK_OK;
    uint64_t within = 1; /* near ones as likely as far ones */
    for (uint64_t i = draw() % 5; i; i--) within *= 10;
    zk_alloc_fail_nth(1 + draw() % within);
    return CUZK_OK;
}

/* Makes progress until the daemon has seen it so often, however long that takes: no clock says how slow it is. */
static cuzk_status go_slowly(const worker_lane *self, const char *stage, cuzk_err *err) {
    enum { TIMES = 60 };
    for (unsigned n = 0; n < TIMES && self->progress;) {
        zk_progress_note();
        usleep(2000);
        if (zk_cancel_requested(NULL)) return zk_cancel_check(NULL, stage, err);
        n += !atomic_load(&self->progress->made);
    }
    return CUZK_OK;
}

static bool stands_still(const worker_faults *f) {
    const char *path = strcmp(f->what, "hold") == 0 ? getenv("CUZK_TEST_HOLD") : NULL;
    return path ? access(path, F_OK) == 0 : strcmp(f->what, "hang") == 0;
}

cuzk_status worker_faults_stage(worker_lane *self, const char *stage, cuzk_err *err) {
    worker_faults *f = &self->w->faults;
    self->fault_hit = false;
    if (f->random) return random_stage(f);
    if (!f->n || strcmp(f->stage, stage) != 0) return CUZK_OK;
    pthread_mutex_lock(&self->w->lock); /* lanes count together */
    f->seen++;
    self->fault_hit = f->seen == f->n || (f->seen > f->n && f->always);
    pthread_mutex_unlock(&self->w->lock);
    if (!self->fault_hit) return CUZK_OK;
    if (strcmp(f->what, "crash") == 0) raise(SIGKILL);
    if (strcmp(f->what, "device") == 0) return ZK_FAIL(err, CUZK_DEVICE, "device error of a test");
    /* not by the allocator: its next failure may be that of another thread, which does without */
    if (strcmp(f->what, "alloc") == 0) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory in a test");
    if (strcmp(f->what, "slow") == 0) ZK_TRY(go_slowly(self, stage, err));
    while (stands_still(f)) {
        usleep(10000);
        if (zk_cancel_requested(NULL)) return zk_cancel_check(NULL, stage, err);
    }
    return CUZK_OK;
}

/* In the stage that it is in. */
static bool is_now(const worker_lane *self, const char *what) {
    return self->fault_hit && strcmp(self->w->faults.what, what) == 0;
}

bool worker_faults_wrong(const worker_lane *self) { return is_now(self, "wrong"); }

bool worker_faults_lie(const worker_lane *self) { return is_now(self, "lie") || happens(self->w->faults.lie); }

/* ---- a backend with faults ---- */

/* A process has one device. */
static struct {
    const zk_buffer_ops *buffer;
    const zk_stage_ops *stage;
    double device, wrong;
} over;

static cuzk_status may_fail(const char *operation, cuzk_err *err) {
    return happens(over.device) ? ZK_FAIL(err, CUZK_DEVICE, "device error of a test in %s", operation) : CUZK_OK;
}

/* PARAMETERS and ARGUMENTS of the table's entry, in parentheses. */
#define MAY_FAIL(table, name, PARAMETERS, ARGUMENTS)                                                                   \
    static cuzk_status faulty_##name PARAMETERS {                                                                      \
        ZK_TRY(may_fail(#name, err));                                                                                  \
        return over.table->name ARGUMENTS;                                                                             \
    }

MAY_FAIL(buffer, create, (zk_buffer * *buffer, zk_backend *backend, const char *name, size_t bytes, cuzk_err *err),
         (buffer, backend, name, bytes, err))
MAY_FAIL(buffer, upload,
         (zk_stream * stream, zk_buffer *buffer, size_t offset, const void *src, size_t bytes, cuzk_err *err),
         (stream, buffer, offset, src, bytes, err))
MAY_FAIL(buffer, download,
         (zk_stream * stream, void *dst, const zk_buffer *buffer, size_t offset, size_t bytes, cuzk_err *err),
         (stream, dst, buffer, offset, bytes, err))
MAY_FAIL(stage, witness,
         (zk_stream * stream, const zk_resident_program *program, const uint8_t (*hints)[32], zk_buffer *bits,
          zk_buffer *full, cuzk_err *err),
         (stream, program, hints, bits, full, err))
MAY_FAIL(stage, evaluate,
         (zk_stream * stream, const zk_resident_program *program, const zk_buffer *bits, const zk_buffer *full,
          zk_buffer *a, zk_buffer *b, zk_buffer *c, cuzk_err *err),
         (stream, program, bits, full, a, b, c, err))
MAY_FAIL(stage, quotient,
         (zk_stream * stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b, zk_buffer *c,
          cuzk_err *err),
         (stream, program, a, b, c, err))
MAY_FAIL(stage, products,
         (zk_stream * stream, const zk_resident_program *program, zk_buffer *a, zk_buffer *b, cuzk_err *err),
         (stream, program, a, b, err))
MAY_FAIL(stage, masked_sum,
         (zk_stream * stream, const zk_resident_points *points, const zk_buffer *bits, zk_point_sum *sum,
          cuzk_err *err),
         (stream, points, bits, sum, err))

static cuzk_status faulty_msm(zk_stream *stream, const zk_resident_points *points, const zk_buffer *scalars,
                              size_t first, zk_point_sum *sum, cuzk_err *err) {
    ZK_TRY(may_fail("msm", err));
    ZK_TRY(over.stage->msm(stream, points, scalars, first, sum, err));
    if (!happens(over.wrong)) return CUZK_OK;
    ZK_TRY(zk_backend_wait(points->backend, stream, err)); /* the sum is there */
    if (points->group == ZK_G1)
        zk_g1_double(&sum->g1, &sum->g1);
    else
        zk_g2_double(&sum->g2, &sum->g2);
    return CUZK_OK;
}

void worker_faults_wrap(worker_lane *self) {
    static zk_buffer_ops buffer;
    static zk_stage_ops stage;
    zk_backend *b = self->w->backend;
    over.device = self->w->faults.device;
    over.wrong = self->w->faults.wrong;
    if (over.device <= 0 && over.wrong <= 0) return;
    over.buffer = b->buffer;
    over.stage = b->stage;
    buffer = *b->buffer;
    buffer.create = faulty_create;
    buffer.upload = faulty_upload;
    buffer.download = faulty_download;
    stage = *b->stage;
    stage.witness = faulty_witness;
    stage.evaluate = faulty_evaluate;
    stage.quotient = faulty_quotient;
    stage.products = faulty_products;
    stage.masked_sum = faulty_masked_sum;
    stage.msm = faulty_msm;
    b->buffer = &buffer;
    b->stage = &stage;
}
