/* cuzk trace compare */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/trace_compare.h"
#include "cli/commands.h"
#include "cli/folder.h"
#include "cli/output.h"

/* ---- the sets ---- */

static cuzk_status add_folder(zk_trace_set *set, const char *path, cuzk_err *err) {
    cli_files files;
    cuzk_status status = cli_json_files(&files, path, "runs", err);
    for (size_t i = 0; i < files.n && status == CUZK_OK; i++) status = zk_trace_set_add_file(set, files.paths[i], err);
    cli_files_clear(&files);
    return status;
}

static cuzk_status add_path(zk_trace_set *set, const char *path, cuzk_err *err) {
    struct stat s;
    bool folder = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
    return folder ? add_folder(set, path, err) : zk_trace_set_add_file(set, path, err);
}

/* A file, a folder, or several of them with commas between. */
static cuzk_status read_set(zk_trace_set **out, const char *what, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    struct stat s;
    char *list = zk_strdup(what), *save = NULL;
    zk_trace_set *set = zk_trace_set_create();
    if (!list || !set) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for timing trees"));
    if (stat(what, &s) == 0 || !strchr(what, ','))
        ZK_GOTO(add_path(set, what, err));
    else
        for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save)) ZK_GOTO(add_path(set, p, err));
    *out = set;
    set = NULL;
out:
    free(list);
    zk_trace_set_destroy(set);
    return status;
}

/* ---- what is said ---- */

/* "25.81 s", with a sign if wanted; the unit is that of `scale_ns`, so that numbers of a line can be compared. */
static const char *duration(char text[24], double ns, double scale_ns, bool sign) {
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < 3 && fabs(scale_ns) < units[i].ns) i++;
    double value = ns / units[i].ns;
    int digits = fabs(scale_ns) / units[i].ns < 100 ? 2 : 1;
    snprintf(text, 24, sign ? "%+.*f %s" : "%.*f %s", digits, value, units[i].unit);
    return text;
}

static const char *ratio(char text[16], double change_ns, double spread_ns) {
    if (spread_ns > 0 && fabs(change_ns) / spread_ns < 1e4)
        snprintf(text, 16, "%.1f", fabs(change_ns) / spread_ns);
    else
        snprintf(text, 16, "%s", change_ns != 0 ? "large" : "0.0");
    return text;
}

/* Which figures a line about the stage is to show: its own, or the whole where the whole is what changed. */
static bool says_own(const zk_trace_stage *s) {
    return s->has_parts && (s->verdict == ZK_TRACE_SLOWER || s->verdict == ZK_TRACE_FASTER);
}

static void print_row(const zk_trace_stage *s, int width) {
    char a[24], b[24], change[24], times[16], left_a[24] = "", left_b[24] = "";
    double scale = fmax(s->a.total.median_ns, s->b.total.median_ns);
    if (s->has_parts) {
        double left = fmax(s->a.unaccounted.median_ns, s->b.unaccounted.median_ns);
        duration(left_a, s->a.unaccounted.median_ns, left, false);
        duration(left_b, s->b.unaccounted.median_ns, left, false);
    }
    char spread_a[24], spread_b[24];
    printf("%-*s %11s +-%-9s %11s +-%-9s %11s %7s %11s %11s  %s\n", width, s->path,
           s->a.n_runs ? duration(a, s->a.total.median_ns, scale, false) : "-",
           s->a.n_runs ? duration(spread_a, s->a.total.spread_ns, s->a.total.spread_ns, false) : "-",
           s->b.n_runs ? duration(b, s->b.total.median_ns, scale, false) : "-",
           s->b.n_runs ? duration(spread_b, s->b.total.spread_ns, s->b.total.spread_ns, false) : "-",
           duration(change, s->change_ns, s->change_ns, true), ratio(times, s->change_ns, s->spread_ns), left_a, left_b,
           zk_trace_verdict_name(s->verdict));
}

/* The sentence about one regression. */
static void describe(char *text, size_t n_text, const zk_trace_stage *s) {
    char a[24], b[24], change[24], times[16];
    bool own = says_own(s);
    const zk_trace_times *from = own ? &s->a.own : &s->a.total, *to = own ? &s->b.own : &s->b.total;
    double ns = own ? s->own_change_ns : s->change_ns, scale = fmax(from->median_ns, to->median_ns);
    snprintf(text, n_text, "%s%s: %s (%s -> %s), %s times the run-to-run spread", s->path,
             own                                      ? ", outside its parts"
             : s->verdict == ZK_TRACE_SLOWER_TOGETHER ? ", all parts together"
                                                      : "",
             duration(change, ns, ns, true), duration(a, from->median_ns, scale, false),
             duration(b, to->median_ns, scale, false), ratio(times, ns, own ? s->own_spread_ns : s->spread_ns));
}

static void print_comparison(const zk_trace_comparison *c, size_t n_a, size_t n_b, bool all) {
    int width = 5;
    size_t n_left_out = 0;
    printf("A: %zu run%s, B: %zu run%s; medians, +- the run-to-run spread\n", n_a, n_a == 1 ? "" : "s", n_b,
           n_b == 1 ? "" : "s");
    if (n_a < 3 || n_b < 3) printf("with fewer than three runs the spread is not known: taken as 5 %%\n");
    for (size_t i = 0; i < c->n_stages; i++) {
        int n = (int)strlen(c->stages[i].path);
        if (n > width && n <= 60) width = n;
    }
    printf("\n%-*s %11s %11s %11s %11s %11s %7s %11s %11s\n", width, "stage", "A", "", "B", "", "change", "spreads",
           "unacc. A", "unacc. B");
    for (size_t i = 0; i < c->n_stages; i++) {
        const zk_trace_stage *s = &c->stages[i];
        bool small =
            s->verdict == ZK_TRACE_SAME && fmax(s->a.total.median_ns, s->b.total.median_ns) < 0.01 * c->root_ns;
        if (small && !all)
            n_left_out++;
        else
            print_row(s, width);
    }
    if (n_left_out) printf("and %zu stages of less than 1 %%, unchanged (--all shows them)\n", n_left_out);
    putchar('\n');
    for (size_t i = 0; i < c->n_regressions; i++) {
        char text[512];
        describe(text, sizeof text, &c->stages[i]);
        printf("slower: %s\n", text);
    }
    if (!c->n_regressions) puts("no stage is slower beyond the run-to-run spread");
}

/* ---- the same as JSON ---- */

static void put_times(zk_json_writer *j, const char *key, const zk_trace_times *t) {
    zk_json_begin_object(j, key);
    zk_json_put_double(j, "median_ns", t->median_ns);
    zk_json_put_double(j, "spread_ns", t->spread_ns);
    zk_json_put_double(j, "min_ns", t->min_ns);
    zk_json_put_double(j, "max_ns", t->max_ns);
    zk_json_end(j);
}

static void put_side(zk_json_writer *j, const char *key, const zk_trace_stage *s, const zk_trace_side *side) {
    if (!side->n_runs) {
        zk_json_put_null(j, key);
        return;
    }
    zk_json_begin_object(j, key);
    zk_json_put_u64(j, "runs", side->n_runs);
    zk_json_put_double(j, "spans_a_run", side->n_spans);
    put_times(j, "total", &side->total);
    put_times(j, "own", &side->own);
    if (s->has_parts)
        put_times(j, "unaccounted", &side->unaccounted);
    else
        zk_json_put_null(j, "unaccounted");
    zk_json_end(j);
}

static cuzk_status put_comparison(const zk_trace_comparison *c, size_t n_a, size_t n_b, cuzk_err *err) {
    zk_json_writer *j = cli_json_begin();
    zk_json_put_u64(j, "runs_a", n_a);
    zk_json_put_u64(j, "runs_b", n_b);
    zk_json_put_u64(j, "regressions", c->n_regressions);
    zk_json_begin_array(j, "stages");
    for (size_t i = 0; i < c->n_stages; i++) {
        const zk_trace_stage *s = &c->stages[i];
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "path", s->path);
        zk_json_put_string(j, "verdict", zk_trace_verdict_name(s->verdict));
        zk_json_put_bool(j, "regression", zk_trace_verdict_is_regression(s->verdict));
        zk_json_put_double(j, "change_ns", s->change_ns);
        zk_json_put_double(j, "spread_ns", s->spread_ns);
        zk_json_put_double(j, "own_change_ns", s->own_change_ns);
        zk_json_put_double(j, "own_spread_ns", s->own_spread_ns);
        put_side(j, "a", s, &s->a);
        put_side(j, "b", s, &s->b);
        zk_json_end(j);
    }
    zk_json_end(j);
    return cli_json_end(j, err);
}

static int run(const cli_command *self, int argc, char **argv) {
    const char *paths[2] = {NULL, NULL};
    uint64_t n_spreads = 3;
    bool json_wanted = false, all = false, help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    zk_trace_set *sets[2] = {NULL, NULL};
    zk_trace_comparison *c = NULL;
    cli_option options[] = {
        {"spreads", "N", CLI_COUNT, &n_spreads,
         "how many times the run-to-run spread a change must exceed (default 3)"},
        {"all", NULL, CLI_FLAG, &all, "also stages of less than 1 % that did not change"},
        {"json", NULL, CLI_FLAG, &json_wanted, "one JSON object on standard output"},
    };
    cli_positional positionals[] = {{"A", &paths[0], "runs before: a file, a folder, or several with commas", false},
                                    {"B", &paths[1], "runs after", false}};
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    if (n_spreads > 1000)
        ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--spreads: found %" PRIu64 ", expected 1 to 1000", n_spreads));
    for (int i = 0; i < 2; i++) ZK_GOTO(read_set(&sets[i], paths[i], &err));
    ZK_GOTO(zk_trace_compare(&c, sets[0], sets[1], (double)n_spreads, &err));
    size_t n_a = zk_trace_set_n_runs(sets[0]), n_b = zk_trace_set_n_runs(sets[1]);
    if (json_wanted)
        ZK_GOTO(put_comparison(c, n_a, n_b, &err));
    else
        print_comparison(c, n_a, n_b, all);
    if (c->n_regressions) {
        char text[400];
        describe(text, sizeof text, &c->stages[0]);
        status = ZK_FAIL(&err, CUZK_CHECK_FAILED, "%zu stage%s slower: %s", c->n_regressions,
                         c->n_regressions == 1 ? " is" : "s are", text);
    }
out:
    zk_trace_comparison_destroy(c);
    for (int i = 0; i < 2; i++) zk_trace_set_destroy(sets[i]);
    return cli_report(self, status, &err);
}

const cli_command cli_trace_compare = {
    "trace compare", "tells which stage of two sets of runs differs", run,
    "A run is a timing tree: a file that `cuzk prove --trace` wrote, or each task in a daemon's /trace document. A\n"
    "folder stands for its files *.json. Stages are told apart by their path; what changed is said where it happened,\n"
    "be it a stage or what a stage's parts leave unaccounted. Exit code 1 when a stage is slower beyond the spread."};
