/* Circuits on the device: the tables, made of a program once. */
#include "synthesis.cuh"

#include <algorithm>

extern "C" {
#include "hash/poseidon.h"
#include "program/defined.h"
}

namespace zk {
namespace {

/* Threads need not be many for templates so small. */
constexpr u32 SMALL_BITS = 4096, SMALL_STEP = 256;
constexpr u32 SHARED_BYTES = 160 << 10; /* of a block, at most: what is larger lies in global memory */
constexpr u32 SMALL_BYTES = 4 << 10;    /* of shared memory for a warp */
constexpr u32 ROWS_AT_ONCE = 8192;      /* rows of one instance for a block, */
constexpr u32 SMALL_ROWS = 1024;        /* for a warp, */
constexpr u32 SUMS_AT_ONCE = 4096;      /* sums for a block, */
constexpr u32 SMALL_SUM_TERMS = 4096;   /* terms for a warp */
/* Permutations of one level from which a thread each is faster than a warp each: a thread takes some 2000 products one
 * after the other, a warp some 280. */
constexpr u32 HASHES_BY_THREAD = 6144;

u32 round_up(u32 v, u32 to) { return (v + to - 1) / to * to; }

/* What the kernels do not need to know of a template. */
struct template_plan {
    bool large_witness, large_sums, hash_only, bits_only, global_bits;
    u32 scratch_bytes, hash_bytes; /* Poseidon: shared memory of a warp, of a thread */
    u32 n_bits;                    /* bytes of the witness's bits: 0 .. own + n_own - 1 */
    u32 sum_terms;
};

/* The operands of a template's local variables. */
struct template_names {
    const zk_template *t;
    const circuit_template *r;
    std::vector<u32> wide_rank; /* of aux variables */

    template_names(const zk_template *from, const circuit_template *to) : t(from), r(to), wide_rank(from->n_aux) {
        for (u32 i = 0; i < t->n_wide; i++) wide_rank[t->wide[i]] = i;
    }
    u32 operand(u32 local) const {
        const u32 first_input = 1 + t->n_ports, first_aux = first_input + t->n_inputs;
        if (t->kind[local] < ZK_LOCAL_WIDE)
            return OPERAND_BIT | (local < first_aux ? local : r->own + local - first_aux);
        if (local < first_input) return OPERAND_PORT | (local - 1);
        if (local < first_aux) return OPERAND_INPUT | (local - first_input);
        return OPERAND_WIDE | wide_rank[local - first_aux];
    }
};

/* All tables on the host. */
struct circuit_image {
    std::vector<circuit_template> templates;
    std::vector<circuit_instance> instances;
    std::vector<u32> ports;
    std::vector<fr> coefs;
    std::vector<circuit_step> steps;
    std::vector<circuit_bit_op> bit_ops;
    std::vector<circuit_op> ops;
    std::vector<u32> lits;
    std::vector<circuit_term> terms;
    std::vector<circuit_row> rows;
    std::vector<circuit_sum> sums;
    std::vector<circuit_poseidon> poseidons;
    std::vector<fr> constants, small;
    std::vector<u32> list;
    std::vector<circuit_item> items;
    std::vector<u32> hint_mask;

    std::vector<template_plan> plans;
    std::vector<u32> poseidon_of; /* by arity: index + 1 */
    std::vector<circuit_launch> witness, row_launches, sum_launches;

    const zk_program *p;
    u32 blocks; /* that the device runs at a time, two on a multiprocessor */
    u32 hashes_by_thread;
    u32 shared_bytes = SHARED_BYTES;

    circuit_image(const zk_program *program, const zk_cuda *device) : p(program) {
        blocks = device ? 2 * (u32)device->multiprocessors : UINT32_MAX;
        hashes_by_thread = device && device->tune_hashes ? device->tune_hashes : HASHES_BY_THREAD;
        if (device && device->tune_blocks) blocks = device->tune_blocks;
#if !defined(ZK_CUDA_EMULATE)
        int most = 0;
        if (device &&
            cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device->ordinal) == cudaSuccess)
            shared_bytes = std::min(shared_bytes, (u32)most - 1024); /* what the driver takes for itself */
#endif
    }
    cuzk_status make(cuzk_err *err);
    void make_poseidon(u32 arity, const zk_poseidon_params *params);
    cuzk_status make_template(u32 id, cuzk_err *err);
    void make_steps(const template_names &names, circuit_template *r, template_plan *plan);
    void make_rows(const template_names &names, circuit_template *r, template_plan *plan, const u32 *defined);
    bool is_by_thread(u32 id, const std::vector<u32> &count) const {
        return plans[id].hash_only && count[id] && count[id] >= hashes_by_thread;
    }
    void add_hash_launches(u32 k, const std::vector<u32> &count);
    void make_level(u32 k);
    void make_evaluation();
    void make_hint_mask();

    void put_bit_op(const zk_op *op, const template_names &names);
    void put_sum32(const zk_op *op, const template_names &names, u32 n_words);
    void put_op(const zk_op *op, const template_names &names);
    u32 put_terms(const template_names &names, const zk_term *from, u32 n);
    void add_items(std::vector<circuit_launch> *launches, const std::vector<circuit_item> &large,
                   const std::vector<u32> &small, const std::vector<u32> &small_bytes, circuit_launch launch,
                   u32 fixed_bytes);
};

fr fr_of(const zk_fr *v) {
    fr r;
    memcpy(&r, v, sizeof r);
    return r;
}

/* ---- Poseidon ---- */

void circuit_image::make_poseidon(u32 arity, const zk_poseidon_params *params) {
    if (poseidon_of[arity]) return;
    const u32 t = params->width, rp = params->partial_rounds;
    circuit_poseidon d = {};
    d.width = t;
    d.partial_rounds = rp;
    const auto put = [&](const zk_fr *from, size_t n) {
        const u32 at = (u32)constants.size();
        for (size_t i = 0; i < n; i++) constants.push_back(fr_of(&from[i]));
        return at;
    };
    d.compressed = put(params->compressed, (size_t)params->full_rounds * t + rp);
    d.mds = put(params->mds, (size_t)t * t);
    d.pre_sparse = put(params->pre_sparse, (size_t)t * t);
    d.w_hat = put(params->w_hat, (size_t)rp * t);
    d.v_rest = put(params->v_rest, (size_t)rp * (t - 1));
    poseidons.push_back(d);
    poseidon_of[arity] = (u32)poseidons.size();
}

/* ---- linear combinations ---- */

u32 circuit_image::put_terms(const template_names &names, const zk_term *from, u32 n) {
    const u32 at = (u32)terms.size();
    for (u32 i = 0; i < n; i++) terms.push_back({names.operand(from[i].var), from[i].coef});
    return at;
}

/* ---- the witness of a template ---- */

/* The local variables that an operation reads and writes. */
template <class Read, class Write>
void visit_op(const zk_template *t, const zk_op *op, const Read &read, const Write &write) {
    const auto combination = [&](u32 lc) {
        for (u32 i = t->lc_start[lc]; i < t->lc_start[lc + 1]; i++) read(t->lc_terms[i].var);
    };
    u32 n = 1;
    switch ((zk_op_code)op->code) {
    case ZK_OP_CH:
    case ZK_OP_MAJ:
        read(op->c >> 1);
        [[fallthrough]];
    case ZK_OP_AND:
    case ZK_OP_XOR:
        read(op->a >> 1);
        read(op->b >> 1);
        break;
    case ZK_OP_BITS:
        read(op->a);
        n = op->n;
        break;
    case ZK_OP_SUM32:
        for (u32 i = 0; i < 32 * op->b; i++) read(t->lits[op->a + i] >> 1);
        n = op->n;
        break;
    case ZK_OP_MULADD:
        combination(op->b);
        if (op->c != ZK_NO_LC) combination(op->c);
        [[fallthrough]];
    case ZK_OP_LC:
        combination(op->a);
        break;
    case ZK_OP_POSEIDON: {
        const zk_poseidon_params *params = zk_poseidon_get(op->n);
        for (u32 i = 0; i < op->n; i++) read(t->lits[op->a + i]);
        n = 3 * (params->width - 1) + 4 * (zk_poseidon_n_sboxes(params) - params->width) + 1;
        break;
    }
    default:
        break;
    }
    for (u32 i = 0; i < n; i++) write(op->dst + i);
}

/* Truth table of an operation over bits whose operands may be negated. */
u32 truth_table(const zk_op *op) {
    u32 table = 0;
    for (u32 v = 0; v < 8; v++) {
        const u32 a = (v ^ op->a) & 1, b = (v >> 1 ^ op->b) & 1, c = (v >> 2 ^ op->c) & 1;
        const u32 r = op->code == ZK_OP_AND   ? a & b
                      : op->code == ZK_OP_XOR ? a ^ b
                      : op->code == ZK_OP_CH  ? (a ? b : c)
                                              : (a & b) | (c & (a | b));
        table |= r << v;
    }
    return table;
}

bool is_bit_op(const zk_op *op) {
    return op->code == ZK_OP_AND || op->code == ZK_OP_XOR || op->code == ZK_OP_CH || op->code == ZK_OP_MAJ;
}

bool is_warp_op(const zk_template *t, const zk_op *op) {
    const auto is_long = [&](u32 lc) { return lc != ZK_NO_LC && t->lc_start[lc + 1] - t->lc_start[lc] >= SUM_LONG; };
    switch ((zk_op_code)op->code) {
    case ZK_OP_BITS:
    case ZK_OP_POSEIDON:
        return true;
    case ZK_OP_LC:
        return is_long(op->a);
    case ZK_OP_MULADD:
        return is_long(op->a) || is_long(op->b) || is_long(op->c);
    default:
        return false;
    }
}

/* Operations in steps: each as early as what it reads and overwrites allows. Those of step s are
 * op[start[s]] .. op[start[s+1]-1], in their order. */
struct step_order {
    std::vector<u32> start, op;

    explicit step_order(const zk_template *t) : op(t->n_ops) {
        const u32 n_locals = zk_template_n_locals(t);
        std::vector<u32> written(n_locals), used(n_locals), step_of(t->n_ops);
        u32 n_steps = 0;
        for (u32 i = 0; i < t->n_ops; i++) {
            u32 step = 0;
            const auto after = [&](u32 s) { step = std::max(step, s); };
            visit_op(
                t, &t->ops[i], [&](u32 v) { after(written[v]); }, [&](u32 v) { after(std::max(written[v], used[v])); });
            visit_op(
                t, &t->ops[i], [&](u32 v) { used[v] = std::max(used[v], step + 1); },
                [&](u32 v) { written[v] = step + 1; });
            step_of[i] = step;
            n_steps = std::max(n_steps, step + 1);
        }
        start.resize(n_steps + 1);
        for (u32 s : step_of) start[s + 1]++;
        for (u32 s = 0; s < n_steps; s++) start[s + 1] += start[s];
        std::vector<u32> at(start.begin(), start.end());
        for (u32 i = 0; i < t->n_ops; i++) op[at[step_of[i]]++] = i;
    }
    u32 n_steps() const { return (u32)start.size() - 1; }
    /* Calls visit with each operation of a step. */
    template <class Visit> void each(const zk_template *t, u32 s, const Visit &visit) const {
        for (u32 k = start[s]; k < start[s + 1]; k++) visit(&t->ops[op[k]]);
    }
};

void circuit_image::put_bit_op(const zk_op *op, const template_names &names) {
    const bool three = op->code == ZK_OP_CH || op->code == ZK_OP_MAJ;
    const u32 table = truth_table(op), a = names.operand(op->a >> 1), b = names.operand(op->b >> 1);
    bit_ops.push_back(make_uint4(names.operand(op->dst) | table << 28, a | table >> 4 << 28, b,
                                 three ? names.operand(op->c >> 1) : 0));
}

void circuit_image::put_sum32(const zk_op *op, const template_names &names, u32 n_words) {
    const size_t at = lits.size();
    lits.resize(at + n_words, ZK_LIT_FALSE);
    lits[at + SUM32_DST] = names.operand(op->dst);
    lits[at + SUM32_N] = op->n;
    lits[at + SUM32_CONSTANT] = op->c;
    for (u32 i = 0; i < 32 * op->b; i++) {
        const u32 lit = names.t->lits[op->a + i];
        lits[at + 32 + i] = names.operand(lit >> 1) << 1 | (lit & 1);
    }
}

void circuit_image::put_op(const zk_op *op, const template_names &names) {
    const zk_template *t = names.t;
    const auto combination = [&](u32 lc, u32 *first, u32 *n) {
        *n = t->lc_start[lc + 1] - t->lc_start[lc];
        *first = put_terms(names, t->lc_terms + t->lc_start[lc], *n);
    };
    circuit_op d = {};
    d.code = op->code | (u32)op->n << 16;
    d.dst = names.operand(op->dst);
    d.a = op->a;
    d.b = op->b;
    d.c = op->c;
    switch ((zk_op_code)op->code) {
    case ZK_OP_BITS:
        d.a = names.operand(op->a);
        break;
    case ZK_OP_POSEIDON:
        d.a = (u32)lits.size();
        for (u32 i = 0; i < op->n; i++) lits.push_back(names.operand(t->lits[op->a + i]));
        d.c = poseidon_of[op->n] - 1;
        break;
    case ZK_OP_MULADD:
        combination(op->b, &d.b, &d.n_b);
        if (op->c != ZK_NO_LC) combination(op->c, &d.c, &d.n_c);
        [[fallthrough]];
    case ZK_OP_LC:
        combination(op->a, &d.a, &d.n_a);
        break;
    default:
        break;
    }
    ops.push_back(d);
}

void circuit_image::make_steps(const template_names &names, circuit_template *r, template_plan *plan) {
    const zk_template *t = names.t;
    const step_order order(t);
    const size_t first_op = ops.size();
    r->steps = (u32)steps.size();
    r->n_steps = order.n_steps();
    for (u32 s = 0; s < r->n_steps; s++) {
        circuit_step step = {};
        step.bit_ops = (u32)bit_ops.size();
        step.sums = (u32)lits.size();
        order.each(t, s, [&](const zk_op *op) {
            if (is_bit_op(op)) put_bit_op(op, names);
            if (op->code == ZK_OP_SUM32) step.sum_words = std::max(step.sum_words, 32 * (op->b + 1));
        });
        step.n_bit_ops = (u32)bit_ops.size() - step.bit_ops;
        order.each(t, s, [&](const zk_op *op) {
            if (op->code != ZK_OP_SUM32) return;
            put_sum32(op, names, step.sum_words);
            step.n_sums++;
        });
        step.ops = (u32)ops.size();
        for (const bool by_warp : {false, true})
            order.each(t, s, [&](const zk_op *op) {
                if (is_bit_op(op) || op->code == ZK_OP_SUM32 || is_warp_op(t, op) != by_warp) return;
                put_op(op, names);
                ++(by_warp ? step.n_warp_ops : step.n_lane_ops);
            });
        if (step.n_bit_ops + 4 * (u64)step.n_lane_ops > SMALL_STEP || step.n_warp_ops + step.n_sums > 2)
            plan->large_witness = true;
        steps.push_back(step);
    }
    plan->bits_only = r->n_steps && ops.size() == first_op;
    steps.resize(steps.size() + 2); /* kernels read two steps ahead */
    if (plan->n_bits > SMALL_BITS) plan->large_witness = true;
    plan->hash_only = t->n_ops == 1 && t->ops[0].code == ZK_OP_POSEIDON && t->n_wide == t->n_aux && !t->n_inputs &&
                      HASH_THREADS * plan->hash_bytes <= shared_bytes;
}

/* ---- the rows of a template ---- */

/* A row of ZK_ROW_SMALL as ROW_SMALL; false if it has more than three bits or one too far. */
bool pack_small_row(circuit_row *packed, const template_names &names, const zk_term *from, u32 n) {
    int constant = 0;
    u32 n_bits = 0, bit[3] = {0};
    int coef[3] = {1, 1, 1};
    for (u32 i = 0; i < n; i++) {
        if (from[i].var == 0) {
            constant += zk_small_coef(from[i].coef);
            continue;
        }
        const u32 b = names.operand(from[i].var);
        if (n_bits == 3 || b > ROW_MAX_BIT) return false;
        bit[n_bits] = b;
        coef[n_bits++] = zk_small_coef(from[i].coef);
    }
    for (u32 i = n_bits; i < 3; i++) constant -= coef[i];
    *packed = make_uint2(ROW_SMALL | (u32)(constant + ROW_SMALL_BIAS) << 2 | row_coef(coef[0]) << 7 |
                             row_coef(coef[1]) << 10 | row_coef(coef[2]) << 13 | bit[0] << 16,
                         bit[1] | bit[2] << 16);
    return true;
}

/* defined: of zk_template_defined_rows. */
void circuit_image::make_rows(const template_names &names, circuit_template *r, template_plan *plan,
                              const u32 *defined) {
    const zk_template *t = names.t;
    std::vector<circuit_sum> by_length[2];
    for (u32 m = 0; m < 3; m++) {
        const zk_matrix *x = &t->abc[m];
        r->rows[m] = (u32)rows.size();
        for (u32 row = 0; row < t->n_rows; row++) {
            const zk_term *from = x->terms + x->row[row];
            const u32 n = x->row[row + 1] - x->row[row];
            circuit_row d = make_uint2(ROW_SUM, 0);
            const zk_row_class row_class = (zk_row_class)x->row_class[row];
            if (m == 0 && defined && defined[row] != ZK_NOT_DEFINED) {
                d = make_uint2(ROW_COPY, names.operand(defined[row]));
            } else if (row_class == ZK_ROW_WIDE && n == 1 && from->coef == 0) {
                d = make_uint2(ROW_COPY, names.operand(from->var));
            } else if (row_class == ZK_ROW_ZERO || row_class == ZK_ROW_SMALL) {
                (void)pack_small_row(&d, names, from, n);
            }
            if (d.x == ROW_SUM) {
                const u32 at = put_terms(names, from, n);
                by_length[n < SUM_LONG].push_back(make_uint4(m << 30 | row, at, n, 0));
                plan->sum_terms += n;
            }
            rows.push_back(d);
        }
    }
    r->sums = (u32)sums.size();
    r->n_long = (u32)by_length[0].size();
    r->n_sums = r->n_long + (u32)by_length[1].size();
    for (const auto &part : by_length) sums.insert(sums.end(), part.begin(), part.end());
    plan->large_sums = plan->sum_terms > SMALL_SUM_TERMS;
}

cuzk_status circuit_image::make_template(u32 id, cuzk_err *err) {
    const zk_template *t = &p->templates[id];
    circuit_template r = {};
    template_plan plan = {};
    u32 *defined = nullptr;
    for (u32 i = 0; i < t->n_ops; i++) {
        const zk_op *op = &t->ops[i];
        if (op->code != ZK_OP_POSEIDON) continue;
        const zk_poseidon_params *params = zk_poseidon_get(op->n);
        if (!params) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "Poseidon of arity %u: no constants", (unsigned)op->n);
        make_poseidon(op->n, params);
        const u32 t_width = params->width;
        plan.scratch_bytes = std::max(plan.scratch_bytes, (t_width + std::max(32u, t_width)) * (u32)sizeof(fr));
        plan.hash_bytes = 2 * t_width * (u32)sizeof(fr);
    }
    r.n_ports = t->n_ports;
    r.n_rows = t->n_rows;
    r.own = round_up(1 + t->n_ports, 32);
    r.n_own = t->n_wide == t->n_aux ? 0 : t->n_aux;
    plan.n_bits = r.own + r.n_own;
    ZK_TRY(zk_template_defined_rows(&defined, t, err));
    try {
        const template_names names(t, &r);
        make_steps(names, &r, &plan);
        make_rows(names, &r, &plan, defined);
    } catch (...) {
        free(defined);
        throw;
    }
    free(defined);
    plan.global_bits = round_up(plan.n_bits, 16) + WARPS * plan.scratch_bytes > shared_bytes;
    if (plan.global_bits) plan.large_witness = true;
    templates.push_back(r);
    plans.push_back(plan);
    return CUZK_OK;
}

/* ---- work lists ---- */

/* Items for the large instances, then for the small ones: spread over the device, up to a warp each. Items of a launch
 * share its size of shared memory. */
void circuit_image::add_items(std::vector<circuit_launch> *launches, const std::vector<circuit_item> &large,
                              const std::vector<u32> &small, const std::vector<u32> &small_bytes, circuit_launch launch,
                              u32 fixed_bytes) {
    launch.first = (u32)items.size();
    for (const circuit_item &x : large) {
        items.push_back(x);
        launch.shared_bytes = std::max(launch.shared_bytes, x.stride);
    }
    const u32 room = blocks > large.size() ? blocks - (u32)large.size() : 1;
    const u32 each = std::min<u32>(WARPS, ceil_div(small.size(), room));
    for (size_t i = 0; i < small.size(); i += each) {
        circuit_item x = {};
        x.first = (u32)list.size();
        x.count = (u32)std::min<size_t>(each, small.size() - i);
        for (u32 k = 0; k < x.count; k++) {
            list.push_back(small[i + k]);
            x.stride = std::max(x.stride, small_bytes[i + k]);
        }
        launch.shared_bytes = std::max(launch.shared_bytes, x.count * x.stride);
        items.push_back(x);
    }
    launch.shared_bytes += fixed_bytes;
    launch.n = (u32)items.size() - launch.first;
    if (launch.n) launches->push_back(launch);
}

/* Launches of a thread a permutation, for the templates of level k that have enough of them. count: instances of each
 * template in the level. */
void circuit_image::add_hash_launches(u32 k, const std::vector<u32> &count) {
    for (u32 id = 0; id < p->n_templates; id++) {
        if (!is_by_thread(id, count)) continue;
        circuit_launch launch = {};
        launch.kind = circuit_launch::HASHES;
        launch.first = (u32)list.size();
        launch.n = count[id];
        launch.shared_bytes = HASH_THREADS * plans[id].hash_bytes;
        for (u32 i = p->level_start[k]; i < p->level_start[k + 1]; i++)
            if (p->instances[p->order[i]].template_id == id) list.push_back(p->order[i]);
        witness.push_back(launch);
    }
}

/* What level k of the witness launches: hashes by threads, then the other instances by size. */
void circuit_image::make_level(u32 k) {
    std::vector<circuit_item> large, global;
    std::vector<u32> small, small_bytes;
    std::vector<u32> count(p->n_templates);
    u32 scratch = 0, global_bytes = 0;
    bool bits_only = true;
    const u32 *begin = p->order + p->level_start[k], *end = p->order + p->level_start[k + 1];
    for (const u32 *i = begin; i < end; i++) count[p->instances[*i].template_id]++;
    for (const u32 *i = begin; i < end; i++) {
        const u32 id = p->instances[*i].template_id;
        const template_plan &plan = plans[id];
        if (!templates[id].n_steps) continue;
        if (is_by_thread(id, count)) continue;
        scratch = std::max(scratch, plan.scratch_bytes);
        bits_only = bits_only && plan.bits_only;
        circuit_item x = {};
        x.first = *i;
        x.stride = round_up(plan.n_bits, 16);
        if (plan.global_bits) {
            x.begin = (u32)global.size(); /* its place in global memory */
            global_bytes = std::max(global_bytes, x.stride);
            x.stride = 0;
            global.push_back(x);
        } else if (plan.large_witness) {
            large.push_back(x);
        } else {
            small.push_back(*i);
            small_bytes.push_back(x.stride);
        }
    }
    add_hash_launches(k, count);
    circuit_launch launch = {};
    launch.scratch_bytes = scratch;
    launch.kind = bits_only ? circuit_launch::INSTANCES_OF_BITS : circuit_launch::INSTANCES;
    add_items(&witness, large, small, small_bytes, launch, WARPS * scratch);
    launch.kind = circuit_launch::INSTANCES_GLOBAL;
    launch.global_bytes = global_bytes;
    add_items(&witness, global, {}, {}, launch, WARPS * scratch);
}

void circuit_image::make_evaluation() {
    std::vector<circuit_item> large[2], large_sums[2];
    std::vector<u32> small, small_bytes, small_sums, small_sum_bytes;
    for (u32 i = 0; i < p->n_instances; i++) {
        const circuit_template &t = templates[p->instances[i].template_id];
        const template_plan &plan = plans[p->instances[i].template_id];
        /* a word more for what ports leave over, one for the shift of the own bits */
        const u32 bytes = round_up((t.own + t.n_own + 64) / 8, 16);
        const bool global = bytes > shared_bytes - 1024;
        circuit_item x = {};
        x.first = i;
        x.stride = global ? round_up((t.own + 64) / 8, 16) : bytes;
        if (t.n_rows > SMALL_ROWS || bytes > SMALL_BYTES) {
            for (x.begin = 0; x.begin < t.n_rows; x.begin = x.end) {
                x.end = std::min(t.n_rows, x.begin + ROWS_AT_ONCE);
                large[global].push_back(x);
            }
        } else if (t.n_rows) {
            small.push_back(i);
            small_bytes.push_back(bytes);
        }
        if (plan.large_sums || bytes > SMALL_BYTES) {
            for (x.begin = 0; x.begin < t.n_sums; x.begin = x.end) {
                x.end = std::min(t.n_sums, x.begin + SUMS_AT_ONCE);
                large_sums[global].push_back(x);
            }
        } else if (t.n_sums) {
            small_sums.push_back(i);
            small_sum_bytes.push_back(bytes);
        }
    }
    const u32 table = round_up(N_SMALL * (u32)sizeof(fr), 16);
    circuit_launch launch = {};
    launch.kind = circuit_launch::INSTANCES;
    add_items(&row_launches, large[0], small, small_bytes, launch, table);
    add_items(&sum_launches, large_sums[0], small_sums, small_sum_bytes, launch, 0);
    launch.kind = circuit_launch::INSTANCES_GLOBAL;
    add_items(&row_launches, large[1], {}, {}, launch, table);
    add_items(&sum_launches, large_sums[1], {}, {}, launch, 0);
}

void circuit_image::make_hint_mask() {
    hint_mask.assign(ceil_div(p->n_hints, 32), 0);
    std::vector<std::vector<u32>> elements(p->n_templates);
    for (u32 id = 0; id < p->n_templates; id++) {
        const zk_template *t = &p->templates[id];
        for (u32 i = 0; i < t->n_ops; i++)
            if (t->ops[i].code == ZK_OP_HINT) elements[id].push_back(t->ops[i].a);
    }
    for (u32 i = 0; i < p->n_instances; i++)
        for (u32 a : elements[p->instances[i].template_id]) {
            const u32 hint = p->instances[i].first_hint + a;
            hint_mask[hint / 32] |= 1u << hint % 32;
        }
}

cuzk_status circuit_image::make(cuzk_err *err) {
    poseidon_of.assign(ZK_POSEIDON_MAX_ARITY + 1, 0);
    for (int i = -ZK_ROW_SMALL_MAX; i <= ZK_ROW_SMALL_MAX; i++) {
        zk_fr v;
        zk_fr_from_i64(&v, i);
        small.push_back(fr_of(&v));
    }
    coefs.resize(p->n_coefs);
    for (u32 i = 0; i < p->n_coefs; i++) coefs[i] = fr_of(&p->coefs[i]);
    ports.assign(p->ports, p->ports + p->n_ports);
    instances.resize(p->n_instances);
    for (u32 i = 0; i < p->n_instances; i++) {
        const zk_instance *x = &p->instances[i];
        instances[i] = {x->template_id, x->first_aux,  x->first_row,  x->first_input,
                        x->first_wide,  x->first_hint, x->first_port, 0};
    }
    for (u32 id = 0; id < p->n_templates; id++) ZK_TRY(make_template(id, err));
    for (u32 k = 0; k < p->n_levels; k++) make_level(k);
    make_evaluation();
    make_hint_mask();
    return CUZK_OK;
}

/* Every table with its place in the one block of memory. */
template <class Visit> void visit_tables(const circuit_image &image, circuit_tables *t, const Visit &visit) {
    visit(&t->templates, image.templates);
    visit(&t->instances, image.instances);
    visit(&t->ports, image.ports);
    visit(&t->coefs, image.coefs);
    visit(&t->steps, image.steps);
    visit(&t->bit_ops, image.bit_ops);
    visit(&t->ops, image.ops);
    visit(&t->lits, image.lits);
    visit(&t->terms, image.terms);
    visit(&t->rows, image.rows);
    visit(&t->sums, image.sums);
    visit(&t->poseidons, image.poseidons);
    visit(&t->constants, image.constants);
    visit(&t->small, image.small);
    visit(&t->list, image.list);
    visit(&t->items, image.items);
    visit(&t->hint_mask, image.hint_mask);
}

size_t table_bytes(const circuit_image &image) {
    circuit_tables t;
    size_t bytes = 0;
    visit_tables(image, &t,
                 [&](auto *, const auto &from) { bytes += (from.size() * sizeof from[0] + 511) & ~(size_t)511; });
    return bytes;
}

cuzk_status upload_tables(zk_cuda_program *r, const circuit_image &image, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_dptr at = r->memory;
    visit_tables(image, &r->t, [&](auto *to, const auto &from) {
        const size_t bytes = from.size() * sizeof from[0];
        *to = (std::remove_reference_t<decltype(*to)>)(uintptr_t)at;
        if (status == CUZK_OK && bytes) status = zk_cuda_upload(r->device, at, from.data(), bytes, err);
        at += (bytes + 511) & ~(size_t)511;
    });
    return status;
}

cuzk_status load_program(zk_cuda_program *r, const zk_program *p, cuzk_err *err) {
    circuit_image image(p, r->device);
    ZK_TRY(image.make(err));
    r->bytes = table_bytes(image);
    ZK_TRY(zk_cuda_alloc(&r->memory, r->device, r->bytes, "tables of the circuit", err));
    ZK_TRY(upload_tables(r, image, err));
    r->witness.swap(image.witness);
    r->rows.swap(image.row_launches);
    r->sums.swap(image.sum_launches);
    return CUZK_OK;
}

} // namespace
} // namespace zk

extern "C" {

cuzk_status zk_cuda_program_load(zk_cuda_program **resident, zk_cuda *device, const zk_program *p, unsigned log2_n,
                                 cuzk_err *err) {
    *resident = nullptr;
    if (log2_n > 31 || (uint64_t)p->n_rows + p->n_inputs > (uint64_t)1 << log2_n)
        return ZK_FAIL(err, CUZK_INTERNAL, "circuit %s: %u rows and %u inputs on a domain of 2^%u", p->name, p->n_rows,
                       p->n_inputs, log2_n);
    zk_cuda_program *r = nullptr;
    const cuzk_status status = zk::guarded(err, p->name, [&] {
        r = new zk_cuda_program{};
        r->device = device;
        r->name = p->name;
        r->n_aux = p->n_aux;
        r->n_rows = p->n_rows;
        r->n_wide = p->n_wide;
        r->n_hints = p->n_hints;
        r->log2_n = log2_n;
        r->t.n_inputs = p->n_inputs;
        return zk::load_program(r, p, err);
    });
    if (status != CUZK_OK) {
        zk_cuda_program_unload(r);
        return status;
    }
    *resident = r;
    return CUZK_OK;
}

void zk_cuda_program_unload(zk_cuda_program *r) {
    if (!r) return;
    zk_cuda_free(r->device, r->memory);
    delete r;
}

size_t zk_cuda_program_bytes(const zk_program *p, unsigned log2_n) {
    (void)log2_n;
    size_t bytes = SIZE_MAX;
    const cuzk_status status = zk::guarded(nullptr, p->name, [&] {
        zk::circuit_image image(p, nullptr);
        ZK_TRY(image.make(nullptr));
        bytes = zk::table_bytes(image);
        return CUZK_OK;
    });
    return status == CUZK_OK ? bytes : SIZE_MAX;
}

void zk_cuda_synthesis_tune(zk_cuda *device, unsigned hashes, unsigned blocks) {
    device->tune_hashes = hashes;
    device->tune_blocks = blocks;
}

} /* extern "C" */
