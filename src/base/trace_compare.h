/* Two sets of runs compared by their timing trees: which stage changed, by how much against the run-to-run spread, and
 * how much of each span its parts leave uncovered.
 *
 * A run is one tree: a file of zk_trace_print_json holds one; of a document of Chrome trace events each outermost event
 * of a thread is one. A stage is a path of names ("prove/partition/msm"); spans of one path in one run are summed, so
 * that the times of the parts of a span add up to its own.
 *
 * Times of a stage over the runs of a set: median, and spread: 1.4826 times the median of the absolute deviations from
 * it (the standard deviation, for a normal distribution); of fewer than five runs the range divided by the range that
 * is to be expected of so many; of fewer than three at least a twentieth of the median, as it cannot be known.
 *
 * What is judged is a stage's `own` time: what those of its parts that both sets have do not cover. So a growth counts
 * in one place, where it happened, and a span that was added or removed in the program changes nothing by itself. */
#ifndef ZK_BASE_TRACE_COMPARE_H
#define ZK_BASE_TRACE_COMPARE_H

#include "base/status.h"

typedef struct zk_trace_set zk_trace_set;
zk_trace_set *zk_trace_set_create(void); /* NULL: no memory */
void zk_trace_set_destroy(zk_trace_set *set);
/* Adds the runs of one document. BAD_INPUT: no timing tree. `name` is for messages. */
cuzk_status zk_trace_set_add(zk_trace_set *set, const char *text, size_t n_text, const char *name,
                             cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_trace_set_add_file(zk_trace_set *set, const char *path, cuzk_err *err) ZK_MUST_USE;
size_t zk_trace_set_n_runs(const zk_trace_set *set);

typedef enum zk_trace_verdict {
    ZK_TRACE_SAME,
    ZK_TRACE_SLOWER,          /* its own time grew beyond the spread */
    ZK_TRACE_SLOWER_TOGETHER, /* the whole grew beyond the spread, though none of its parts did for itself */
    ZK_TRACE_SLOWER_BY_PARTS, /* the whole grew; a part of it says where */
    ZK_TRACE_FASTER,
    ZK_TRACE_FASTER_BY_PARTS,
    ZK_TRACE_NEW, /* only in B: part of the own time of what it lies in */
    ZK_TRACE_GONE /* only in A */
} zk_trace_verdict;
const char *zk_trace_verdict_name(zk_trace_verdict verdict); /* "same", "slower" ... */
bool zk_trace_verdict_is_regression(zk_trace_verdict verdict);

typedef struct zk_trace_times {
    double median_ns, spread_ns, min_ns, max_ns;
} zk_trace_times;

typedef struct zk_trace_side {
    size_t n_runs;                          /* of the tree it belongs to; 0: the stage is not there */
    double n_spans;                         /* a run, on average */
    zk_trace_times total, own, unaccounted; /* unaccounted: by all its parts; 0 for a stage without parts */
} zk_trace_side;

typedef struct zk_trace_stage {
    char *path;
    const char *name; /* the last part of it */
    bool has_parts;
    zk_trace_side a, b;
    double change_ns, own_change_ns; /* of the medians */
    double spread_ns, own_spread_ns; /* of the difference of two runs */
    zk_trace_verdict verdict;
} zk_trace_stage;

typedef struct zk_trace_comparison {
    zk_trace_stage *stages; /* [n_stages] regressions first, the worst of them first; then by the change of `own` */
    size_t n_stages, n_regressions;
    double root_ns; /* the longest tree */
} zk_trace_comparison;

/* A change counts when it exceeds n_spreads times the spread and half a percent of the tree. BAD_INPUT: the sets have
 * no tree in common. */
cuzk_status zk_trace_compare(zk_trace_comparison **comparison, const zk_trace_set *a, const zk_trace_set *b,
                             double n_spreads, cuzk_err *err) ZK_MUST_USE;
void zk_trace_comparison_destroy(zk_trace_comparison *comparison); /* NULL is fine */

#endif
