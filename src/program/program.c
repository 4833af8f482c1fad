#include "program/program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "program/recorder.h"

void zk_program_destroy(zk_program *p) {
    if (!p) return;
    for (uint32_t i = 0; p->templates && i < p->n_templates; i++) zk_template_free(&p->templates[i]);
    free(p->templates);
    free(p->instances);
    free(p->ports);
    free(p->coefs);
    free(p->level_start);
    free(p->order);
    free(p);
}

uint32_t zk_program_wide_aux(const zk_program *p, uint32_t slot) {
    uint32_t lo = 0, hi = p->n_instances;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (p->instances[mid].first_wide <= slot)
            lo = mid;
        else
            hi = mid;
    }
    const zk_instance *x = &p->instances[lo];
    return x->first_aux + p->templates[x->template_id].wide[slot - x->first_wide];
}

zk_var zk_program_port_var(const zk_program *p, uint32_t port) {
    uint32_t index = port & ZK_PORT_INDEX_MASK;
    switch (port & ZK_PORT_KIND_MASK) {
    case ZK_PORT_BIT:
        return index;
    case ZK_PORT_WIDE:
        return zk_program_wide_aux(p, index);
    default:
        return ZK_VAR_INPUT | index;
    }
}

/* ---- walking ---- */

/* Where a variable stands in a sorted row: inputs before aux. */
static uint32_t rank(zk_var var) { return var ^ ZK_VAR_INPUT; }

static void sort_terms(zk_row_term *terms, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        zk_row_term t = terms[i];
        uint32_t j = i;
        for (; j && rank(terms[j - 1].var) > rank(t.var); j--) terms[j] = terms[j - 1];
        terms[j] = t;
    }
}

/* The circuit's variable for each local one; false if ports do not ascend, so that rows must be sorted. */
static bool bind_locals(const zk_program *p, const zk_instance *x, const zk_template *t, zk_var *vars) {
    uint32_t last_input = 0, last_aux = 0;
    bool ascend = true;
    vars[0] = ZK_VAR_ONE;
    for (uint32_t i = 0; i < t->n_ports; i++) {
        zk_var v = zk_program_port_var(p, p->ports[x->first_port + i]);
        vars[1 + i] = v;
        uint32_t *last = v & ZK_VAR_INPUT ? &last_input : &last_aux;
        ascend = ascend && v >= *last;
        *last = v;
    }
    zk_var *own = vars + 1 + t->n_ports;
    for (uint32_t i = 0; i < t->n_inputs; i++) *own++ = ZK_VAR_INPUT | (x->first_input + i);
    for (uint32_t i = 0; i < t->n_aux; i++) *own++ = x->first_aux + i;
    return ascend;
}

static void max_sizes(const zk_program *p, unsigned matrix, uint32_t *locals, uint32_t *terms) {
    for (uint32_t i = 0; i < p->n_templates; i++) {
        const zk_template *t = &p->templates[i];
        const uint32_t *row = t->abc[matrix].row;
        if (zk_template_n_locals(t) > *locals) *locals = zk_template_n_locals(t);
        for (uint32_t r = 0; r < t->n_rows; r++)
            if (row[r + 1] - row[r] > *terms) *terms = row[r + 1] - row[r];
    }
}

cuzk_status zk_program_walk(const zk_program *p, unsigned matrix, uint32_t first, uint32_t count, zk_row_visitor visit,
                            void *ctx, cuzk_err *err) {
    uint32_t max_locals = 1, max_terms = 1;
    if (matrix > 2 || first > p->n_instances || count > p->n_instances - first)
        return ZK_FAIL(err, CUZK_INTERNAL, "walk over matrix %u, instances %u + %u of %u", matrix, first, count,
                       p->n_instances);
    max_sizes(p, matrix, &max_locals, &max_terms);
    zk_var *vars = zk_malloc(max_locals * sizeof *vars);
    zk_row_term *terms = zk_malloc(max_terms * sizeof *terms);
    if (!vars || !terms) {
        free(vars);
        free(terms);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "walk over circuit %s: no memory", p->name);
    }
    for (uint32_t i = first; i < first + count; i++) {
        const zk_instance *x = &p->instances[i];
        const zk_template *t = &p->templates[x->template_id];
        const zk_matrix *m = &t->abc[matrix];
        bool ascend = bind_locals(p, x, t, vars);
        for (uint32_t r = 0; r < t->n_rows; r++) {
            uint32_t n = m->row[r + 1] - m->row[r];
            for (uint32_t k = 0; k < n; k++) {
                zk_term term = m->terms[m->row[r] + k];
                terms[k] = (zk_row_term){vars[term.var], term.coef};
            }
            if (!ascend) sort_terms(terms, n);
            visit(ctx, x->first_row + r, terms, n);
        }
    }
    free(vars);
    free(terms);
    return CUZK_OK;
}

/* ---- density ---- */

static void set_bit(uint64_t *map, uint32_t i) { map[i / 64] |= (uint64_t)1 << (i % 64); }

/* One instance's variables into the map: `used` tells which local ones occur. Either map may be NULL. */
static void mark(const zk_program *p, const zk_instance *x, const zk_template *t, const uint8_t *used, uint64_t *aux,
                 uint64_t *input) {
    if (used[0] && input) set_bit(input, 0);
    for (uint32_t i = 0; i < t->n_ports; i++) {
        if (!used[1 + i]) continue;
        zk_var v = zk_program_port_var(p, p->ports[x->first_port + i]);
        if (!(v & ZK_VAR_INPUT))
            set_bit(aux, v);
        else if (input)
            set_bit(input, v & ~ZK_VAR_INPUT);
    }
    const uint8_t *own = used + 1 + t->n_ports;
    for (uint32_t i = 0; i < t->n_inputs; i++, own++)
        if (*own && input) set_bit(input, x->first_input + i);
    for (uint32_t i = 0; i < t->n_aux; i++, own++)
        if (*own) set_bit(aux, x->first_aux + i);
}

typedef struct density_job {
    const zk_program *p;
    uint8_t **used[2]; /* per template, matrix A and B */
    uint64_t *aux[2], *input[2];
} density_job;

static void density_matrix(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    density_job *job = ctx;
    for (size_t m = begin; m < end; m++)
        for (uint32_t i = 0; i < job->p->n_instances; i++) {
            const zk_instance *x = &job->p->instances[i];
            mark(job->p, x, &job->p->templates[x->template_id], job->used[m][x->template_id], job->aux[m],
                 job->input[m]);
        }
}

static uint32_t popcount(const uint64_t *map, size_t n_bits) {
    uint32_t n = 0;
    for (size_t i = 0; i < (n_bits + 63) / 64; i++) n += (uint32_t)__builtin_popcountll(map[i]);
    return n;
}

cuzk_status zk_program_density(const zk_program *p, uint64_t *a_aux, uint64_t *b_aux, uint64_t *b_input,
                               zk_program_stats *stats, zk_pool *pool, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    size_t aux_words = ((size_t)p->n_aux + 63) / 64, input_words = ((size_t)p->n_inputs + 63) / 64;
    density_job job = {.p = p};
    uint64_t *own[3] = {NULL};
    bool ok = true;
    if (!a_aux) ok &= (a_aux = own[0] = zk_malloc((aux_words + 1) * 8)) != NULL;
    if (!b_aux) ok &= (b_aux = own[1] = zk_malloc((aux_words + 1) * 8)) != NULL;
    if (!b_input) ok &= (b_input = own[2] = zk_malloc(input_words * 8)) != NULL;
    for (int m = 0; m < 2; m++) {
        ok &= (job.used[m] = zk_calloc(p->n_templates + (size_t)1, sizeof *job.used[m])) != NULL;
        for (uint32_t i = 0; ok && i < p->n_templates; i++) {
            const zk_template *t = &p->templates[i];
            uint8_t *used = job.used[m][i] = zk_calloc(zk_template_n_locals(t), 1);
            if (!used)
                ok = false;
            else
                for (uint32_t k = 0; k < t->abc[m].row[t->n_rows]; k++) used[t->abc[m].terms[k].var] = 1;
        }
    }
    if (!ok) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "density of circuit %s: no memory", p->name));
    memset(a_aux, 0, aux_words * 8);
    memset(b_aux, 0, aux_words * 8);
    memset(b_input, 0, input_words * 8);
    job.aux[0] = a_aux;
    job.aux[1] = b_aux;
    job.input[1] = b_input;
    zk_pool_for(pool, 2, 1, density_matrix, &job);
    if (stats) {
        *stats = (zk_program_stats){.a_aux = popcount(a_aux, p->n_aux),
                                    .b_aux = popcount(b_aux, p->n_aux),
                                    .b_input = popcount(b_input, p->n_inputs)};
        for (uint32_t i = 0; i < p->n_instances; i++) {
            const zk_template *t = &p->templates[p->instances[i].template_id];
            for (int m = 0; m < 3; m++) stats->nnz[m] += t->abc[m].row[t->n_rows];
            stats->n_zero_terms += t->n_zero_terms;
        }
    }
out:
    for (int m = 0; m < 2; m++) {
        for (uint32_t i = 0; job.used[m] && i < p->n_templates; i++) free(job.used[m][i]);
        free(job.used[m]);
    }
    for (int i = 0; i < 3; i++) free(own[i]);
    return status;
}
