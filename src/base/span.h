/* Spans: nested timers on the monotonic clock that must add up.
 *
 * A span is opened and closed by one thread; it belongs to a tree that one thread drives (work inside a kernel may use
 * many threads). A span knows the sum of its children; what they do not cover is `unaccounted`. A leaf marked as kernel
 * is a computation that has no smaller parts worth naming.
 */
#ifndef ZK_BASE_SPAN_H
#define ZK_BASE_SPAN_H

#include <stdio.h>

#include "base/clock.h"
#include "base/status.h"

typedef struct zk_trace zk_trace;
typedef struct zk_span zk_span;

/* The trace owns all its spans. Its root span is open from creation; start_ns (0: now) may lie before, so that work
 * before main's first line (exec, dynamic linking) is covered when the caller knows its start. */
zk_trace *zk_trace_create(const char *root_name, uint64_t start_ns);
void zk_trace_destroy(zk_trace *trace);
zk_span *zk_trace_root(zk_trace *trace);

/* All functions accept a NULL trace or span and then do nothing. `name` must be a static string or live as long as the
 * trace. Out of memory loses the span, never the work. */
zk_span *zk_span_open(zk_trace *trace, const char *name); /* child of the innermost open span */
zk_span *zk_span_open_kernel(zk_trace *trace, const char *name);
/* A child that began when its parent did, if it is the first: what the parent's start_ns covers gets a name. */
zk_span *zk_span_open_from_start(zk_trace *trace, const char *name);
void zk_span_close(zk_trace *trace, zk_span *span);              /* closes open descendants too */
void zk_span_count(zk_span *span, const char *unit, uint64_t n); /* items worked on, for rates in the report */

uint64_t zk_span_duration_ns(const zk_span *span);
uint64_t zk_span_children_ns(const zk_span *span);
uint64_t zk_span_unaccounted_ns(const zk_span *span); /* 0 for a span without children */

/* The timing tree as text: name, duration, share of the root, rate, and an `unaccounted` line under each span whose
 * children leave more than 0.1 % of the root uncovered, and always under the root. Closes the root if open. */
void zk_trace_print(zk_trace *trace, FILE *out);
/* The same as a JSON object {name, start_ns, duration_ns, unaccounted_ns, kernel, children: [...]}. */
void zk_trace_print_json(zk_trace *trace, FILE *out);
/* Chrome trace event format. */
void zk_trace_print_chrome(zk_trace *trace, FILE *out);

#endif
