#include "base/progress.h"

#include <stddef.h>

#include "base/span.h"

#define REPORT_INTERVAL_NS 50000000u

static bool is_on(const zk_progress_stage *stage) { return stage->progress && stage->progress->report; }

static void report(zk_progress_stage *stage, uint64_t done) {
    if (stage->total && done > stage->total) done = stage->total;
    stage->reported = done;
    stage->progress->report(stage->progress->ctx, stage->stage, done, stage->total);
}

void zk_progress_begin(zk_progress_stage *stage, const zk_progress *progress, const char *name, uint64_t total) {
    stage->progress = progress;
    stage->stage = name;
    stage->total = total;
    stage->reported = 0;
    atomic_init(&stage->done, 0);
    atomic_init(&stage->next_ns, 0);
    atomic_flag_clear(&stage->reporting);
    if (!is_on(stage)) return;
    atomic_store(&stage->next_ns, zk_now_ns() + REPORT_INTERVAL_NS);
    report(stage, 0);
}

void zk_progress_add(zk_progress_stage *stage, uint64_t n) {
    if (!is_on(stage)) return;
    atomic_fetch_add_explicit(&stage->done, n, memory_order_relaxed);
    uint64_t now = zk_now_ns();
    if (now < atomic_load_explicit(&stage->next_ns, memory_order_relaxed)) return;
    if (atomic_flag_test_and_set_explicit(&stage->reporting, memory_order_acquire)) return;
    atomic_store_explicit(&stage->next_ns, now + REPORT_INTERVAL_NS, memory_order_relaxed);
    uint64_t done = atomic_load_explicit(&stage->done, memory_order_relaxed);
    if (done > stage->reported) report(stage, done);
    atomic_flag_clear_explicit(&stage->reporting, memory_order_release);
}

void zk_progress_end(zk_progress_stage *stage) {
    if (is_on(stage)) report(stage, atomic_load(&stage->done));
}
