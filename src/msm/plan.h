/* How a multi-scalar multiplication is cut up: window width, slices of points, bins of buckets, and what memory it
 * takes. The same for both groups but for sizes. */
#ifndef ZK_MSM_PLAN_H
#define ZK_MSM_PLAN_H

#include "base/status.h"
#include "curve/curve.h"
#include "msm/recode.h"

/* Zero members are chosen by the plan. For tests and measurements. */
typedef struct zk_msm_tuning {
    unsigned window_bits;
    size_t slice_points;    /* most points whose digits are held at once */
    size_t segment_entries; /* most entries that one task sorts and adds up */
    size_t entries_at_once; /* of windows worked on together */
} zk_msm_tuning;

typedef struct zk_msm_group {
    size_t affine_bytes, element_bytes, point_bytes, scratch_bytes; /* scratch: of a thread, without its order list */
    unsigned entries_per_point;                                     /* 2: scalars are split in halves */
    unsigned max_window_bits; /* that the plan chooses; bounds the buckets' memory */
} zk_msm_group;

typedef struct zk_msm_plan {
    zk_windows windows;
    size_t slice, n_slices;         /* points */
    size_t n_entries;               /* of a slice: (point, digit string) pairs */
    size_t n_buckets;               /* of a window */
    size_t bin_buckets, n_bins;     /* a bin is a range of buckets that one task fills; n_bins bins make a window */
    unsigned low_bits;              /* log2 bin_buckets */
    unsigned n_at_once;             /* windows worked on together */
    unsigned n_bucket_windows;      /* windows whose buckets are held: all if there are several slices */
    size_t segment;                 /* most entries of a task; a bin with more is cut */
    size_t max_segments, max_extra; /* of the windows worked on together */
    size_t chain, n_chains, group, n_groups; /* bucket sums: chains of buckets, groups of chains */
    size_t n_parts;                          /* of a slice, for sorting */
    size_t n_threads;
    /* Byte offsets in the workspace, and its size. */
    size_t digits, endo, histogram, entries, segments, buckets, extra, group_sums, scratch, order, starts, n_bytes;
} zk_msm_plan;

/* A run of entries of one bin. */
typedef struct zk_msm_segment {
    size_t first, count;  /* in the list of entries */
    uint32_t window, bin; /* window within those worked on together */
    uint32_t extra;       /* 0: adds into the bin's buckets; k > 0: into extra buckets k - 1, merged afterwards */
} zk_msm_segment;

/* n > 0. Fails only when sizes overflow. */
cuzk_status zk_msm_plan_make(zk_msm_plan *plan, const zk_msm_group *group, size_t n, size_t n_threads,
                             const zk_msm_tuning *tuning, cuzk_err *err) ZK_MUST_USE;

/* The functions of msm.h with the plan's choices overridden. */
struct zk_pool;
cuzk_status zk_msm_g1_tuned(zk_g1 *r, const zk_g1_affine *bases, const zk_fr *scalars, size_t n,
                            const zk_msm_tuning *tuning, struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_msm_g2_tuned(zk_g2 *r, const zk_g2_affine *bases, const zk_fr *scalars, size_t n,
                            const zk_msm_tuning *tuning, struct zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

#endif
