#include "base/span.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"

struct zk_span {
    const char *name;
    const char *unit; /* NULL: nothing counted */
    uint64_t count;
    uint64_t start_ns, end_ns; /* end_ns 0: open */
    bool kernel;
    zk_span *parent, *first, *last, *next;
};

#define BLOCK_SPANS 64

typedef struct span_block {
    struct span_block *next;
    size_t n;
    zk_span spans[BLOCK_SPANS];
} span_block;

struct zk_trace {
    span_block *blocks;
    zk_span *root, *open; /* open: innermost open span, NULL once the root is closed */
};

static zk_span *span_new(zk_trace *trace, const char *name, bool kernel) {
    if (!trace->blocks || trace->blocks->n == BLOCK_SPANS) {
        span_block *block = malloc(sizeof *block);
        if (!block) return NULL;
        block->next = trace->blocks;
        block->n = 0;
        trace->blocks = block;
    }
    zk_span *span = &trace->blocks->spans[trace->blocks->n++];
    *span = (zk_span){.name = name, .kernel = kernel, .start_ns = zk_now_ns()};
    return span;
}

zk_trace *zk_trace_create(const char *root_name, uint64_t start_ns) {
    zk_trace *trace = calloc(1, sizeof *trace);
    if (!trace) return NULL;
    trace->root = trace->open = span_new(trace, root_name, false);
    if (!trace->root) {
        free(trace);
        return NULL;
    }
    if (start_ns) trace->root->start_ns = start_ns;
    return trace;
}

void zk_trace_destroy(zk_trace *trace) {
    if (!trace) return;
    while (trace->blocks) {
        span_block *block = trace->blocks;
        trace->blocks = block->next;
        free(block);
    }
    free(trace);
}

zk_span *zk_trace_root(zk_trace *trace) { return trace ? trace->root : NULL; }

static zk_span *open_child(zk_trace *trace, const char *name, bool kernel) {
    zk_progress_note();
    if (!trace || !trace->open) return NULL;
    zk_span *span = span_new(trace, name, kernel), *parent = trace->open;
    if (!span) return NULL;
    span->parent = parent;
    if (parent->last)
        parent->last->next = span;
    else
        parent->first = span;
    parent->last = span;
    trace->open = span;
    return span;
}

zk_span *zk_span_open(zk_trace *trace, const char *name) { return open_child(trace, name, false); }
zk_span *zk_span_open_kernel(zk_trace *trace, const char *name) { return open_child(trace, name, true); }

zk_span *zk_span_open_from_start(zk_trace *trace, const char *name) {
    zk_span *span = open_child(trace, name, false);
    if (span && span->parent->first == span) span->start_ns = span->parent->start_ns;
    return span;
}

void zk_span_close(zk_trace *trace, zk_span *span) {
    zk_progress_note();
    if (!trace || !span || span->end_ns) return;
    uint64_t now = zk_now_ns();
    /* Every open span lies on the path from the innermost one to the root. */
    for (zk_span *s = trace->open;; s = s->parent) {
        s->end_ns = now;
        trace->open = s->parent;
        if (s == span) return;
    }
}

void zk_span_count(zk_span *span, const char *unit, uint64_t n) {
    if (!span) return;
    span->unit = unit;
    span->count += n;
}

static uint64_t end_of(const zk_span *span) { return span->end_ns ? span->end_ns : zk_now_ns(); }

uint64_t zk_span_duration_ns(const zk_span *span) {
    if (!span) return 0;
    uint64_t end = end_of(span);
    return end > span->start_ns ? end - span->start_ns : 0;
}

uint64_t zk_span_children_ns(const zk_span *span) {
    uint64_t sum = 0;
    if (span)
        for (const zk_span *child = span->first; child; child = child->next) sum += zk_span_duration_ns(child);
    return sum;
}

uint64_t zk_span_unaccounted_ns(const zk_span *span) {
    if (!span || !span->first) return 0;
    /* Children first: with an open child the parent's end, read later, is never the smaller one. */
    uint64_t children = zk_span_children_ns(span), own = zk_span_duration_ns(span);
    return own > children ? own - children : 0;
}

/* Depth-first order without recursion: the next span, its depth adjusted; NULL after the last. */
static const zk_span *next_span(const zk_span *span, unsigned *depth) {
    if (span->first) {
        ++*depth;
        return span->first;
    }
    for (; span; span = span->parent, --*depth)
        if (span->next) return span->next;
    return NULL;
}

static void format_duration(char *text, size_t n_text, uint64_t ns) {
    double t = (double)ns;
    if (ns >= 10000000000u)
        snprintf(text, n_text, "%.2f s ", t / 1e9);
    else if (ns >= 1000000000u)
        snprintf(text, n_text, "%.3f s ", t / 1e9);
    else if (ns >= 1000000u)
        snprintf(text, n_text, "%.2f ms", t / 1e6);
    else
        snprintf(text, n_text, "%.1f us", t / 1e3);
}

static void format_rate(char *text, size_t n_text, const zk_span *span, uint64_t ns) {
    *text = 0;
    if (!span->unit || !ns) return;
    double rate = (double)span->count * 1e9 / (double)ns;
    const char *scale = rate >= 1e9 ? "G" : rate >= 1e6 ? "M" : rate >= 1e3 ? "k" : "";
    rate /= rate >= 1e9 ? 1e9 : rate >= 1e6 ? 1e6 : rate >= 1e3 ? 1e3 : 1;
    snprintf(text, n_text, "  %.3g %s%s%s/s", rate, scale, *scale ? " " : "", span->unit);
}

static void print_line(FILE *out, unsigned depth, const char *name, uint64_t ns, double root_ns, const char *rate) {
    char duration[32];
    format_duration(duration, sizeof duration, ns);
    int indent = (int)(2 * depth), width = 44 - indent;
    fprintf(out, "%*s%-*s %12s %6.2f %%%s\n", indent, "", width > 1 ? width : 1, name, duration,
            root_ns > 0 ? 100.0 * (double)ns / root_ns : 0.0, rate);
}

void zk_trace_print(zk_trace *trace, FILE *out) {
    if (!trace) return;
    zk_span_close(trace, trace->root);
    double root_ns = (double)zk_span_duration_ns(trace->root);
    unsigned depth = 0;
    for (const zk_span *span = trace->root; span;) {
        char rate[96];
        uint64_t ns = zk_span_duration_ns(span);
        format_rate(rate, sizeof rate, span, ns);
        print_line(out, depth, span->name, ns, root_ns, rate);
        unsigned own_depth = depth, next_depth = depth;
        const zk_span *next = next_span(span, &next_depth);
        /* A subtree ends here: report each closed ancestor, innermost first, until the next span's parent. */
        if (!span->first)
            for (const zk_span *s = span; s->parent && !s->next; s = s->parent, own_depth--) {
                uint64_t left = zk_span_unaccounted_ns(s->parent);
                if (s->parent == trace->root || (double)left > root_ns / 1000)
                    print_line(out, own_depth, "unaccounted", left, root_ns, "");
            }
        depth = next_depth;
        span = next;
    }
    if (!trace->root->first) print_line(out, 1, "unaccounted", (uint64_t)root_ns, root_ns, "");
}

static void print_quoted(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20)
            fprintf(out, "\\u%04x", *p);
        else
            fputc(*p, out);
    }
    fputc('"', out);
}

void zk_trace_print_json(zk_trace *trace, FILE *out) {
    if (!trace) return;
    zk_span_close(trace, trace->root);
    unsigned depth = 0;
    for (const zk_span *span = trace->root; span;) {
        fputs("{\"name\":", out);
        print_quoted(out, span->name);
        fprintf(
            out, ",\"start_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64 ",\"unaccounted_ns\":%" PRIu64 ",\"kernel\":%s",
            span->start_ns, zk_span_duration_ns(span), zk_span_unaccounted_ns(span), span->kernel ? "true" : "false");
        if (span->unit) {
            fputs(",\"unit\":", out);
            print_quoted(out, span->unit);
            fprintf(out, ",\"count\":%" PRIu64, span->count);
        }
        fputs(",\"children\":[", out);
        unsigned own_depth = depth;
        const zk_span *next = next_span(span, &depth);
        if (!span->first) {
            fputs("]}", out);
            for (; own_depth > (next ? depth : 0); own_depth--) fputs("]}", out);
            if (next) fputc(',', out);
        }
        span = next;
    }
}

void zk_trace_print_chrome(zk_trace *trace, FILE *out) {
    if (!trace) return;
    zk_span_close(trace, trace->root);
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
    unsigned depth = 0;
    for (const zk_span *span = trace->root; span; span = next_span(span, &depth)) {
        fprintf(out, "%s\n{\"name\":", span == trace->root ? "" : ",");
        print_quoted(out, span->name);
        fprintf(out, ",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":1,\"tid\":1}",
                span->kernel ? "kernel" : "span", (double)span->start_ns / 1e3,
                (double)zk_span_duration_ns(span) / 1e3);
    }
    fputs("\n]}\n", out);
}
