#include <stdint.h>

#include "base/bytes.h"
#include "msm/msm.h"
#include "msm/plan.h"

/* Memory of a slice is about 100 bytes a point in G1; 2^22 points keep it near 400 MB, and cost each bucket one more
 * addition per slice, a few percent. */
#define SLICE_MAX ((size_t)1 << 22)
/* Entries that windows worked on together may have. */
#define ENTRIES_AT_ONCE ((size_t)1 << 24)
/* A bin of about so many entries is a task: long enough for full batches, short enough to sort in cache. */
#define LOG2_BIN_ENTRIES 14
#define LOG2_BINS_MAX 9
#define LOW_BITS_MAX 15
#define SEGMENT_MIN ((size_t)1 << 14)

/* A table of 17-bit windows has 94 MB in G1, 189 MB in G2; wider ones are past what caches and TLBs bear. */
#define FIXED_WINDOW_BITS_MOST 17

/* Summing up a bucket costs two additions in smaller batches and the share of the groups' ends, in units of the
 * addition of an entry (measured). */
#define BUCKET_COST 2.3

/* exp(-x) for x >= 0, to a percent: (1 - x/64)^64. */
static double exp_minus(double x) {
    if (x > 32) return 0;
    double y = 1 - x / 64;
    for (int i = 0; i < 6; i++) y *= y;
    return y;
}

/* Additions: every entry but the first of each bucket, in every slice but the first the bucket itself, and the sums. */
static double cost_of(const zk_windows *w, size_t n_entries, size_t n_slices) {
    double buckets = (double)((size_t)1 << (w->c - 1)), entries = (double)n_entries;
    double filled = buckets * (1 - exp_minus(entries / buckets));
    return w->n * ((entries - filled) * (double)n_slices + filled * (double)(n_slices - 1) + BUCKET_COST * buckets);
}

static void set_windows(zk_windows *w, const zk_msm_group *group, unsigned c) {
    if (group->entries_per_point == 2) {
        zk_windows_half(w, c);
    } else {
        zk_windows_whole(w, c);
    }
}

static void choose_windows(zk_msm_plan *p, const zk_msm_group *group, const zk_msm_tuning *tuning) {
    if (tuning && tuning->window_bits) {
        set_windows(&p->windows, group, tuning->window_bits);
        return;
    }
    double best = 0;
    for (unsigned c = ZK_WINDOW_BITS_MIN; c <= group->max_window_bits; c++) {
        zk_windows w;
        set_windows(&w, group, c);
        double cost = cost_of(&w, p->n_entries, p->n_slices);
        if (c == ZK_WINDOW_BITS_MIN || cost < best) {
            best = cost;
            p->windows = w;
        }
    }
}

/* Appends count * bytes to the workspace, aligned to a cache line. */
static bool place(zk_msm_plan *p, size_t *offset, size_t count, size_t bytes) {
    size_t size;
    *offset = p->n_bytes;
    if (__builtin_mul_overflow(count, bytes, &size) || size > SIZE_MAX / 2 - p->n_bytes - 63) return false;
    p->n_bytes += (size + 63) / 64 * 64;
    return true;
}

cuzk_status zk_msm_plan_make(zk_msm_plan *p, const zk_msm_group *group, size_t n, size_t n_threads,
                             const zk_msm_tuning *tuning, cuzk_err *err) {
    *p = (zk_msm_plan){.n_threads = n_threads};
    size_t slice_max = tuning && tuning->slice_points ? tuning->slice_points : SLICE_MAX;
    p->n_slices = (n - 1) / slice_max + 1;
    p->slice = (n - 1) / p->n_slices + 1;
    p->n_entries = p->slice * group->entries_per_point;
    choose_windows(p, group, tuning);

    const zk_windows *w = &p->windows;
    p->n_buckets = (size_t)1 << (w->c - 1);
    unsigned log2_entries = zk_log2_ceil(p->n_entries), log2_bins = 0;
    if (log2_entries > LOG2_BIN_ENTRIES) log2_bins = log2_entries - LOG2_BIN_ENTRIES;
    if (log2_bins > LOG2_BINS_MAX) log2_bins = LOG2_BINS_MAX;
    if (log2_bins > w->c - 1) log2_bins = w->c - 1;
    if (w->c - 1 - log2_bins > LOW_BITS_MAX) log2_bins = w->c - 1 - LOW_BITS_MAX;
    p->n_bins = (size_t)1 << log2_bins;
    p->low_bits = w->c - 1 - log2_bins;
    p->bin_buckets = (size_t)1 << p->low_bits;

    size_t at_once = (tuning && tuning->entries_at_once ? tuning->entries_at_once : ENTRIES_AT_ONCE) / p->n_entries;
    p->n_at_once = at_once < 1 ? 1 : at_once < w->n ? (unsigned)at_once : w->n;
    p->n_bucket_windows = p->n_slices > 1 ? w->n : p->n_at_once;
    p->segment = tuning && tuning->segment_entries ? tuning->segment_entries
                                                   : zk_max_size(SEGMENT_MIN, 4 * (p->n_entries / p->n_bins));
    p->max_extra = p->n_at_once * (p->n_entries / p->segment + 1);
    p->max_segments = p->n_at_once * p->n_bins + p->max_extra;

    p->chain = p->n_buckets >= (size_t)1 << 14 ? 64 : p->n_buckets >= 256 ? p->n_buckets / 256 : 1;
    p->n_chains = p->n_buckets / p->chain;
    p->group = zk_min_size(p->n_chains, 512);
    while (p->group > 64 && p->n_chains / p->group * p->n_at_once < 2 * n_threads) p->group /= 2;
    p->n_groups = p->n_chains / p->group;

    p->n_parts = zk_min_size(n_threads > 1 ? 4 * n_threads : 1, p->n_entries / 4096 + 1);

    bool fits = place(p, &p->digits, p->n_entries, 8 * w->n_limbs);
    fits = fits && place(p, &p->endo, group->entries_per_point == 2 ? p->slice : 0, group->element_bytes);
    fits = fits && place(p, &p->histogram, p->n_parts * p->n_at_once, p->n_bins * sizeof(uint32_t));
    fits = fits && place(p, &p->entries, p->n_at_once, p->n_entries * sizeof(uint64_t));
    fits = fits && place(p, &p->segments, p->max_segments, sizeof(zk_msm_segment));
    fits = fits && place(p, &p->buckets, p->n_bucket_windows, p->n_buckets * group->affine_bytes);
    fits = fits && place(p, &p->extra, p->max_extra, p->bin_buckets * group->affine_bytes);
    fits = fits && place(p, &p->group_sums, w->n, p->n_groups * group->point_bytes);
    fits = fits && place(p, &p->scratch, n_threads, group->scratch_bytes);
    fits = fits && place(p, &p->order, n_threads, p->segment * sizeof(uint32_t));
    fits = fits && place(p, &p->starts, n_threads, (p->bin_buckets + 1) * sizeof(uint32_t));
    if (!fits) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "multi-scalar multiplication of %zu points: too large", n);
    return CUZK_OK;
}

unsigned zk_fixed_base_window_bits(size_t n) {
    unsigned best = ZK_WINDOW_BITS_MIN;
    double best_cost = 0;
    for (unsigned c = ZK_WINDOW_BITS_MIN; c <= FIXED_WINDOW_BITS_MOST; c++) {
        zk_windows w;
        zk_windows_whole(&w, c);
        double cost = w.n * ((double)n + (double)((size_t)1 << (c - 1)));
        if (c == ZK_WINDOW_BITS_MIN || cost < best_cost) {
            best = c;
            best_cost = cost;
        }
    }
    return best;
}
