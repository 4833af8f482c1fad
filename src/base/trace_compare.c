#include "base/trace_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_dom.h"

/* Bound of times in microseconds: beyond it a double has no room for one more, and sums of differences mean nothing. */
#define MAX_US 0x1p53
#define MAX_FILE_BYTES ((size_t)256 << 20)
/* Share of the tree below which no change counts, and the relative spread of a stage of which only one or two runs are
 * known. */
#define FLOOR_SHARE 0.005
#define UNKNOWN_SPREAD 0.05
enum { FEW_RUNS = 5, KNOWN_RUNS = 3, MAX_DEPTH = 64 };

/* One stage of one set. The root of a set is a node without name whose parts are the trees. */
typedef struct node {
    struct node *parent, *first, *last, *next;
    char *name;
    double *total, *unaccounted; /* [n] by run of the tree; shorter than its runs if later ones do not have it */
    size_t n, total_capacity, unaccounted_capacity;
    size_t n_runs;  /* of a tree */
    size_t n_spans; /* over all runs */
    bool has_parts;
} node;

struct zk_trace_set {
    node top;
};

/* ---- sets ---- */

zk_trace_set *zk_trace_set_create(void) { return zk_calloc(1, sizeof(zk_trace_set)); }

static void node_clear(node *n) {
    while (n->first) {
        node *child = n->first;
        n->first = child->next;
        node_clear(child);
        free(child);
    }
    free(n->name);
    free(n->total);
    free(n->unaccounted);
}

void zk_trace_set_destroy(zk_trace_set *set) {
    if (!set) return;
    node_clear(&set->top);
    free(set);
}

static node *node_find(const node *parent, const char *name) {
    for (node *n = parent ? parent->first : NULL; n; n = n->next)
        if (strcmp(n->name, name) == 0) return n;
    return NULL;
}

static node *node_get(node *parent, const char *name) {
    node *n = node_find(parent, name);
    if (n) return n;
    n = zk_calloc(1, sizeof *n);
    if (n) n->name = zk_strdup(name);
    if (!n || !n->name) {
        free(n);
        return NULL;
    }
    n->parent = parent;
    if (parent->last)
        parent->last->next = n;
    else
        parent->first = n;
    parent->last = n;
    return n;
}

static const node *tree_of(const node *n) {
    while (n->parent && n->parent->name) n = n->parent;
    return n;
}

/* A span of the tree's latest run. */
static bool node_add(node *n, double total_ns, double unaccounted_ns) {
    size_t run = tree_of(n)->n_runs;
    if (!zk_grow((void **)&n->total, &n->total_capacity, run, sizeof *n->total) ||
        !zk_grow((void **)&n->unaccounted, &n->unaccounted_capacity, run, sizeof *n->unaccounted))
        return false;
    for (; n->n < run; n->n++) n->total[n->n] = n->unaccounted[n->n] = 0;
    n->total[run - 1] += total_ns;
    n->unaccounted[run - 1] += unaccounted_ns;
    n->n_spans++;
    return true;
}

static cuzk_status no_memory(cuzk_err *err) { return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for timing trees"); }

/* ---- the writer's own form: {name, duration_ns, children} ---- */

static cuzk_status span_read(const char **name, uint64_t *ns, const zk_json_value **children, const zk_json_value *span,
                             cuzk_err *err) {
    const zk_json_value *v;
    ZK_TRY(zk_json_get_member(&v, span, "name", ZK_JSON_STRING, err));
    ZK_TRY(zk_json_get_string(name, v, "name", err));
    ZK_TRY(zk_json_get_u64(ns, zk_json_member_of(span, "duration_ns"), UINT64_MAX, "duration_ns", err));
    *children = zk_json_member_of(span, "children");
    if (*children && !zk_json_is(*children, ZK_JSON_ARRAY_BEGIN))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "children: expected an array");
    return CUZK_OK;
}

static cuzk_status add_span(node *parent, const zk_json_value *span, cuzk_err *err) {
    const char *name;
    const zk_json_value *children;
    uint64_t ns, covered = 0;
    ZK_TRY(span_read(&name, &ns, &children, span, err));
    node *n = node_get(parent, name);
    if (!n) return no_memory(err);
    if (!parent->name) n->n_runs++;
    size_t n_children = zk_json_count(children);
    for (size_t i = 0; i < n_children; i++) {
        const zk_json_value *child = zk_json_element_of(children, i), *unused;
        const char *child_name;
        uint64_t child_ns;
        ZK_TRY(span_read(&child_name, &child_ns, &unused, child, err));
        covered = child_ns < UINT64_MAX - covered ? covered + child_ns : UINT64_MAX;
        ZK_TRY(add_span(n, child, err));
    }
    n->has_parts |= n_children > 0;
    return node_add(n, (double)ns, n_children && ns > covered ? (double)(ns - covered) : 0) ? CUZK_OK : no_memory(err);
}

/* ---- Chrome trace events: nested by their times ---- */

typedef struct event {
    const char *name;
    double pid, tid, start_us, us, covered_us;
    size_t index;
    node *node;
    bool has_parts;
} event;

/* Within a thread what begins first, and of what begins at once the longer, is outside; then the order of writing. */
static int outer_first(const void *a, const void *b) {
    const event *x = a, *y = b;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid) return x->tid < y->tid ? -1 : 1;
    if (x->start_us != y->start_us) return x->start_us < y->start_us ? -1 : 1;
    if (x->us != y->us) return x->us > y->us ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static cuzk_status time_read(double *us, const zk_json_value *item, const char *name, cuzk_err *err) {
    const zk_json_value *value = zk_json_member_of(item, name);
    ZK_TRY(zk_json_get_double(us, value, name, err));
    if (*us >= 0 && *us <= MAX_US) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s (byte %llu): found %.17g, expected 0 to 2^53 microseconds", name,
                   (unsigned long long)value->offset, *us);
}

static cuzk_status read_events(event **out, size_t *n_out, const zk_json_value *list, cuzk_err *err) {
    size_t n = 0, n_all = zk_json_count(list);
    event *events = zk_calloc(n_all ? n_all : 1, sizeof *events);
    if (!events) return no_memory(err);
    cuzk_status status = CUZK_OK;
    for (size_t i = 0; i < n_all; i++) {
        const zk_json_value *item = zk_json_element_of(list, i), *phase = zk_json_member_of(item, "ph");
        if (!zk_json_is(phase, ZK_JSON_STRING) || strcmp(phase->text, "X") != 0) continue;
        event *e = &events[n++];
        e->index = i;
        ZK_GOTO(zk_json_get_string(&e->name, zk_json_member_of(item, "name"), "name", err));
        ZK_GOTO(time_read(&e->start_us, item, "ts", err));
        ZK_GOTO(time_read(&e->us, item, "dur", err));
        if (zk_json_member_of(item, "pid"))
            ZK_GOTO(zk_json_get_double(&e->pid, zk_json_member_of(item, "pid"), "pid", err));
        if (zk_json_member_of(item, "tid"))
            ZK_GOTO(zk_json_get_double(&e->tid, zk_json_member_of(item, "tid"), "tid", err));
    }
    qsort(events, n, sizeof *events, outer_first);
    *out = events;
    *n_out = n;
    events = NULL;
out:
    free(events);
    return status;
}

/* Times are written in thousandths of a microsecond; the end, a sum, may be off by that. */
static bool lies_in(const event *inner, const event *outer) {
    return inner->pid == outer->pid && inner->tid == outer->tid && inner->start_us >= outer->start_us - 0.002 &&
           inner->start_us + inner->us <= outer->start_us + outer->us + 0.002;
}

static cuzk_status add_events(zk_trace_set *set, const zk_json_value *list, cuzk_err *err) {
    event *events = NULL, *open[MAX_DEPTH];
    size_t n = 0, depth = 0;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(read_events(&events, &n, list, err));
    for (size_t i = 0; i <= n; i++) {
        event *e = i < n ? &events[i] : NULL;
        while (depth && (!e || !lies_in(e, open[depth - 1]))) { /* its parts are known now */
            event *done = open[--depth];
            double left = done->us - done->covered_us;
            if (!node_add(done->node, done->us * 1e3, done->has_parts && left > 0 ? left * 1e3 : 0))
                ZK_GOTO(no_memory(err));
        }
        if (!e) break;
        if (depth == MAX_DEPTH)
            ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT, "event %zu: nested deeper than %d", e->index, MAX_DEPTH));
        event *outer = depth ? open[depth - 1] : NULL;
        e->node = node_get(outer ? outer->node : &set->top, e->name);
        if (!e->node) ZK_GOTO(no_memory(err));
        if (outer) {
            outer->covered_us += e->us;
            outer->has_parts = outer->node->has_parts = true;
        } else {
            e->node->n_runs++;
        }
        open[depth++] = e;
    }
    if (n == 0) status = ZK_FAIL(err, CUZK_BAD_INPUT, "no events with a duration");
out:
    free(events);
    return status;
}

static cuzk_status add_document(zk_trace_set *set, const zk_json_doc *doc, const char *name, cuzk_err *err) {
    const zk_json_value *root = zk_json_root(doc), *events = zk_json_member_of(root, "traceEvents");
    cuzk_status status;
    if (zk_json_is(events, ZK_JSON_ARRAY_BEGIN))
        status = add_events(set, events, err);
    else if (zk_json_member_of(root, "duration_ns"))
        status = add_span(&set->top, root, err);
    else
        status = ZK_FAIL(err, CUZK_BAD_INPUT,
                         "found neither a timing tree (duration_ns, as `cuzk prove --trace` writes it) nor Chrome "
                         "trace events (traceEvents, as a daemon's /trace has them)");
    if (status != CUZK_OK) zk_err_prefix(err, "%s", name);
    return status;
}

cuzk_status zk_trace_set_add(zk_trace_set *set, const char *text, size_t n_text, const char *name, cuzk_err *err) {
    zk_json_doc *doc = NULL;
    cuzk_status status = zk_json_parse(&doc, text, n_text, 0, err);
    if (status == CUZK_OK)
        status = add_document(set, doc, name, err);
    else
        zk_err_prefix(err, "%s", name);
    zk_json_doc_destroy(doc);
    return status;
}

cuzk_status zk_trace_set_add_file(zk_trace_set *set, const char *path, cuzk_err *err) {
    zk_json_doc *doc = NULL;
    ZK_TRY(zk_json_parse_file(&doc, path, MAX_FILE_BYTES, err));
    cuzk_status status = add_document(set, doc, path, err);
    zk_json_doc_destroy(doc);
    return status;
}

size_t zk_trace_set_n_runs(const zk_trace_set *set) {
    size_t n = 0;
    for (const node *tree = set->top.first; tree; tree = tree->next) n += tree->n_runs;
    return n;
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *sorted, size_t n) {
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Sorts the values. */
static zk_trace_times times_of(double *values, size_t n) {
    /* Expected range of 2, 3 and 4 values of a normal distribution, in standard deviations (d2 of control charts). */
    static const double expected_range[FEW_RUNS] = {1, 1, 1.128, 1.693, 2.059};
    zk_trace_times t = {0};
    if (n == 0) return t;
    qsort(values, n, sizeof *values, by_size);
    t.min_ns = values[0];
    t.max_ns = values[n - 1];
    t.median_ns = median_of(values, n);
    if (n < FEW_RUNS) {
        t.spread_ns = (t.max_ns - t.min_ns) / expected_range[n];
        if (n < KNOWN_RUNS && t.spread_ns < UNKNOWN_SPREAD * t.median_ns) t.spread_ns = UNKNOWN_SPREAD * t.median_ns;
        return t;
    }
    for (size_t i = 0; i < n; i++) values[i] = fabs(values[i] - t.median_ns);
    qsort(values, n, sizeof *values, by_size);
    t.spread_ns = 1.4826 * median_of(values, n);
    return t;
}

static double at(const double *values, const node *n, size_t run) { return run < n->n ? values[run] : 0; }

static void side_of(zk_trace_side *side, const node *n, const node *other, double *scratch) {
    *side = (zk_trace_side){0};
    if (!n) return;
    size_t n_runs = tree_of(n)->n_runs;
    side->n_runs = n_runs;
    side->n_spans = (double)n->n_spans / (double)n_runs;
    for (size_t i = 0; i < n_runs; i++) scratch[i] = at(n->total, n, i);
    side->total = times_of(scratch, n_runs);
    for (size_t i = 0; i < n_runs; i++) scratch[i] = at(n->unaccounted, n, i);
    side->unaccounted = times_of(scratch, n_runs);
    for (size_t i = 0; i < n_runs; i++) {
        scratch[i] = at(n->total, n, i);
        for (const node *part = n->first; part; part = part->next)
            if (node_find(other, part->name)) scratch[i] -= at(part->total, part, i);
        if (scratch[i] < 0) scratch[i] = 0;
    }
    side->own = times_of(scratch, n_runs);
}

/* ---- verdicts ---- */

typedef struct comparer {
    zk_trace_comparison *result;
    size_t capacity;
    double *scratch;
    double n_spreads, floor_ns;
    char path[4096];
} comparer;

static bool stands_out(const comparer *c, double change_ns, double spread_ns) {
    return change_ns > c->floor_ns && change_ns > c->n_spreads * spread_ns;
}

static zk_trace_verdict judge(const comparer *c, const zk_trace_stage *s, bool regression_within) {
    if (!s->a.n_runs) return ZK_TRACE_NEW;
    if (!s->b.n_runs) return ZK_TRACE_GONE;
    if (stands_out(c, s->own_change_ns, s->own_spread_ns)) return ZK_TRACE_SLOWER;
    if (stands_out(c, s->change_ns, s->spread_ns))
        return regression_within ? ZK_TRACE_SLOWER_BY_PARTS : ZK_TRACE_SLOWER_TOGETHER;
    if (stands_out(c, -s->own_change_ns, s->own_spread_ns)) return ZK_TRACE_FASTER;
    return stands_out(c, -s->change_ns, s->spread_ns) ? ZK_TRACE_FASTER_BY_PARTS : ZK_TRACE_SAME;
}

/* One stage, after its parts; *regression: it or a part of it has become slower. */
static cuzk_status compare_nodes(bool *regression, comparer *c, const node *a, const node *b, cuzk_err *err) {
    size_t length = strlen(c->path);
    const char *name = a ? a->name : b->name;
    size_t n_name = strlen(name);
    bool within = false;
    if (length + n_name + 2 > sizeof c->path)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%.60s...: a path of more than %zu bytes", c->path, sizeof c->path);
    if (length) c->path[length] = '/';
    memcpy(c->path + length + (length > 0), name, n_name + 1);
    for (const node *part = a ? a->first : NULL; part; part = part->next)
        ZK_TRY(compare_nodes(&within, c, part, node_find(b, part->name), err));
    for (const node *part = b ? b->first : NULL; part; part = part->next)
        if (!node_find(a, part->name)) ZK_TRY(compare_nodes(&within, c, NULL, part, err));
    zk_trace_comparison *r = c->result;
    if (!zk_grow((void **)&r->stages, &c->capacity, r->n_stages + 1, sizeof *r->stages)) return no_memory(err);
    zk_trace_stage s = {.path = zk_strdup(c->path)};
    if (!s.path) return no_memory(err);
    s.name = s.path + length + (length > 0);
    s.has_parts = (a && a->has_parts) || (b && b->has_parts);
    side_of(&s.a, a, b, c->scratch);
    side_of(&s.b, b, a, c->scratch);
    s.change_ns = s.b.total.median_ns - s.a.total.median_ns;
    s.own_change_ns = s.b.own.median_ns - s.a.own.median_ns;
    s.spread_ns = hypot(s.a.total.spread_ns, s.b.total.spread_ns);
    s.own_spread_ns = hypot(s.a.own.spread_ns, s.b.own.spread_ns);
    s.verdict = judge(c, &s, within);
    r->n_regressions += zk_trace_verdict_is_regression(s.verdict);
    *regression |= within || zk_trace_verdict_is_regression(s.verdict);
    r->stages[r->n_stages++] = s;
    c->path[length] = 0;
    return CUZK_OK;
}

/* What a stage adds to a difference: a diffuse one the whole, every other its own. */
static double weight(const zk_trace_stage *s) {
    return s->verdict == ZK_TRACE_SLOWER_TOGETHER ? s->change_ns : s->own_change_ns;
}

static int worst_first(const void *a, const void *b) {
    const zk_trace_stage *x = a, *y = b;
    bool bad_x = zk_trace_verdict_is_regression(x->verdict), bad_y = zk_trace_verdict_is_regression(y->verdict);
    if (bad_x != bad_y) return bad_x ? -1 : 1;
    double wx = fabs(weight(x)), wy = fabs(weight(y));
    if (wx != wy) return wx > wy ? -1 : 1;
    return strcmp(x->path, y->path);
}

static cuzk_status compare_trees(comparer *c, const zk_trace_set *a, const zk_trace_set *b, cuzk_err *err) {
    for (const node *tree = a->top.first; tree; tree = tree->next) {
        const node *other = node_find(&b->top, tree->name);
        zk_trace_side sides[2];
        bool unused = false;
        side_of(&sides[0], tree, NULL, c->scratch);
        side_of(&sides[1], other, NULL, c->scratch);
        double longest = fmax(sides[0].total.median_ns, sides[1].total.median_ns);
        c->floor_ns = FLOOR_SHARE * longest;
        c->result->root_ns = fmax(c->result->root_ns, longest);
        ZK_TRY(compare_nodes(&unused, c, tree, other, err));
    }
    for (const node *tree = b->top.first; tree; tree = tree->next) {
        bool unused = false;
        if (!node_find(&a->top, tree->name)) ZK_TRY(compare_nodes(&unused, c, NULL, tree, err));
    }
    return CUZK_OK;
}

static bool have_common_tree(const zk_trace_set *a, const zk_trace_set *b) {
    for (const node *tree = a->top.first; tree; tree = tree->next)
        if (node_find(&b->top, tree->name)) return true;
    return false;
}

cuzk_status zk_trace_compare(zk_trace_comparison **comparison, const zk_trace_set *a, const zk_trace_set *b,
                             double n_spreads, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    comparer c = {.n_spreads = n_spreads};
    if (!a->top.first || !b->top.first)
        ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT, "%s has no runs", a->top.first ? "B" : "A"));
    if (!have_common_tree(a, b))
        ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT, "nothing to compare: A has runs of \"%.80s\", B of \"%.80s\"",
                        a->top.first->name, b->top.first->name));
    c.result = zk_calloc(1, sizeof *c.result);
    c.scratch = zk_calloc(zk_trace_set_n_runs(a) + zk_trace_set_n_runs(b), sizeof *c.scratch);
    if (!c.result || !c.scratch) ZK_GOTO(no_memory(err));
    ZK_GOTO(compare_trees(&c, a, b, err));
    qsort(c.result->stages, c.result->n_stages, sizeof *c.result->stages, worst_first);
    *comparison = c.result;
    c.result = NULL;
out:
    zk_trace_comparison_destroy(c.result);
    free(c.scratch);
    return status;
}

void zk_trace_comparison_destroy(zk_trace_comparison *comparison) {
    if (!comparison) return;
    for (size_t i = 0; i < comparison->n_stages; i++) free(comparison->stages[i].path);
    free(comparison->stages);
    free(comparison);
}

const char *zk_trace_verdict_name(zk_trace_verdict verdict) {
    static const char *const names[] = {
        "same", "slower", "slower together", "slower by parts", "faster", "faster by parts", "new", "gone"};
    return (unsigned)verdict < sizeof names / sizeof *names ? names[verdict] : "unknown";
}

bool zk_trace_verdict_is_regression(zk_trace_verdict verdict) {
    return verdict == ZK_TRACE_SLOWER || verdict == ZK_TRACE_SLOWER_TOGETHER;
}
