/* Circuits on the device: the tables that synthesis.cu makes of a program, and what the kernels of synthesis_*.cu have
 * in common.
 *
 * Bits of an instance are numbered: 0 the constant one, 1 .. n_ports its ports (those that are bits), then at `own`, a
 * multiple of 32, its aux variables in order of allocation. Everything else is a field element in `full` (inputs, then
 * wide values), named by an operand.
 */
#ifndef ZK_CUDA_SYNTHESIS_CUH
#define ZK_CUDA_SYNTHESIS_CUH

#include "device.cuh"
#include "field.cuh"

#include <vector>

extern "C" {
#include "program/program.h"
}

namespace zk {

constexpr u32 TEAM = 256; /* threads of a block: one large instance, or up to eight small ones, a warp each */
constexpr u32 WARPS = TEAM / 32;
constexpr u32 HASH_THREADS = 64; /* of a block, where a thread makes one Poseidon permutation */

/* A local variable: kind and number. */
constexpr u32 OPERAND_KIND = 0xc0000000u, OPERAND_INDEX = 0x3fffffffu;
constexpr u32 OPERAND_BIT = 0x00000000u;   /* bit of the instance */
constexpr u32 OPERAND_WIDE = 0x40000000u;  /* wide value that the instance adds */
constexpr u32 OPERAND_INPUT = 0x80000000u; /* input that it adds */
constexpr u32 OPERAND_PORT = 0xc0000000u;  /* port that is a wide value or an input */

struct alignas(16) circuit_instance {
    u32 template_id, first_aux, first_row, first_input, first_wide, first_hint, first_port, unused;
};
struct alignas(8) circuit_term {
    u32 operand, coef;
};

/* dst (bit) <- bit a | b << 1 | c << 2 of a truth table. Four bits of the table above the numbers of dst and of a. */
typedef uint4 circuit_bit_op; /* dst | table << 28, a | table >> 4 << 28, b, c */

/* ZK_OP_SUM32 with its operands, so that one round of loads brings all: rows of 32 words, a lane each. Row 0: bit dst,
 * n, constant. Row k: literals (bit << 1 | negated) of word k; the sums of one step have equally many rows, those that
 * a sum does not need are false throughout. */
enum { SUM32_DST, SUM32_N, SUM32_CONSTANT };

/* All other operations of program.h. */
struct alignas(16) circuit_op {
    u32 code; /* zk_op_code | n << 16 */
    u32 dst;  /* operand; ZK_OP_POSEIDON: first wide value */
    u32 a, n_a, b, n_b, c, n_c;
    /* HINT: a hint. HINT_BIT: a hint, b bit. BITS: a operand, b first bit. LC, MULADD: terms a .. a + n_a - 1, likewise
     * b and c. POSEIDON: a first of lits (operands), b coefficient, c index into poseidons. */
};

/* Operations that do not depend on each other: one a thread or one a warp; `ops` has those for threads, then those for
 * warps. sum_words: of one sum, its rows together. */
struct alignas(16) circuit_step {
    u32 bit_ops, n_bit_ops, sums, n_sums, sum_words, ops, n_lane_ops, n_warp_ops;
};

/* A row of one matrix. x: kind, and for ROW_SMALL the constant + ROW_SMALL_BIAS << 2, three coefficients (as
 * row_coef gives them) << 7, 10, 13, three bits << 16, 32, 48 (the last two in y). ROW_COPY: y is an operand. ROW_SUM:
 * in the list of sums. */
typedef uint2 circuit_row;
enum circuit_row_kind { ROW_SMALL, ROW_COPY, ROW_SUM };
constexpr int ROW_SMALL_BIAS = ZK_ROW_SMALL_MAX + 3; /* bits that are not needed name the constant one, and cancel it */
inline u32 row_coef(int coef) { return (u32)(coef < 0 ? coef + 4 : coef + 3); } /* -4 .. -1, 1 .. 4 to 0 .. 7 */
constexpr u32 ROW_MAX_BIT = 0xffff; /* greatest bit that ROW_SMALL can name */
constexpr u32 N_SMALL = 2 * ZK_ROW_SMALL_MAX + 1;

/* matrix << 30 | row, first term, number of terms, 0 */
typedef uint4 circuit_sum;
constexpr u32 SUM_ROW = 0x3fffffffu;
constexpr u32 SUM_LONG = 24; /* terms from which a warp adds a row up */

struct circuit_template {
    u32 n_ports, n_rows;
    u32 own, n_own; /* first own bit, number of own bits (0 if all own variables are wide) */
    u32 steps, n_steps;
    u32 rows[3];              /* into rows, by matrix */
    u32 sums, n_sums, n_long; /* into sums; the first n_long have SUM_LONG or more terms */
};

struct alignas(16) circuit_poseidon { /* offsets into constants, as in zk_poseidon_params */
    u32 width, partial_rounds, compressed, mds, pre_sparse, w_hat, v_rest, unused;
};

/* Work of one block: one instance, or (count > 0) a warp each for instances list[first .. first + count - 1]. */
struct alignas(16) circuit_item {
    u32 first, count;
    u32 stride;     /* shared memory of an instance, bytes */
    u32 begin, end; /* rows or sums, of the one instance */
    u32 unused[3];
};

struct circuit_tables {
    const circuit_template *templates;
    const circuit_instance *instances;
    const u32 *ports;
    const fr *coefs;
    const circuit_step *steps;
    const circuit_bit_op *bit_ops;
    const circuit_op *ops;
    const u32 *lits;
    const circuit_term *terms;
    const circuit_row *rows;
    const circuit_sum *sums;
    const circuit_poseidon *poseidons;
    const fr *constants;
    const fr *small; /* [N_SMALL] -ZK_ROW_SMALL_MAX .. */
    const u32 *list; /* instances, as items name them */
    const circuit_item *items;
    const u32 *hint_mask; /* hints that must be field elements */
    u32 n_inputs;
};

/* One launch over items (INSTANCES_OF_BITS: with no operations but those on bits and sums of 32 bits; INSTANCES_GLOBAL:
 * whose bits do not fit shared memory) first .. first + n - 1. */
struct circuit_launch {
    enum kind_of { INSTANCES, INSTANCES_OF_BITS, INSTANCES_GLOBAL, HASHES } kind;
    u32 first, n;      /* items; HASHES: entries of the list */
    u32 shared_bytes;  /* of a block */
    u32 scratch_bytes; /* of a warp, for its Poseidon permutations */
    u32 global_bytes;  /* INSTANCES_GLOBAL: bits of an instance */
};

} // namespace zk

struct zk_cuda_program {
    zk_cuda *device;
    const char *name;
    zk_dptr memory;
    size_t bytes;
    zk::circuit_tables t;
    zk::u32 n_aux, n_rows, n_wide, n_hints;
    unsigned log2_n;
    std::vector<zk::circuit_launch> witness, rows, sums;
};

namespace zk {

/* Dynamic shared memory beyond what every kernel may have. */
template <class Kernel> cuzk_status allow_shared(Kernel kernel, const circuit_launch &launch, cuzk_err *err) {
    if (launch.shared_bytes <= 48 << 10) return CUZK_OK;
    ZK_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.shared_bytes));
    return CUZK_OK;
}

/* ---- the values of one instance ---- */

struct instance_view {
    const circuit_tables &t;
    const circuit_instance &x;
    fr *full;
    __device__ u32 index(u32 operand) const { /* into full */
        const u32 i = operand & OPERAND_INDEX;
        switch (operand & OPERAND_KIND) {
        case OPERAND_WIDE:
            return t.n_inputs + x.first_wide + i;
        case OPERAND_INPUT:
            return x.first_input + i;
        default: {
            const u32 port = t.ports[x.first_port + i], at = port & ZK_PORT_INDEX_MASK;
            return (port & ZK_PORT_KIND_MASK) == ZK_PORT_WIDE ? t.n_inputs + at : at;
        }
        }
    }
    __device__ fr value(u32 operand) const { return load(&full[index(operand)]); }
};

__device__ inline fr product(const fr &a, const fr &b) { return canonical(mul_lazy(a, b)); } /* inlined */

/* ---- sums in Fr without intermediate reductions: values < 2^32 2^256 ---- */

struct fr_sum {
    u32 l[9];
    __device__ fr_sum() {
#pragma unroll
        for (int i = 0; i < 9; i++) l[i] = 0;
    }
    __device__ void add(const fr &a) {
#if defined(ZK_CARRY_CHAINS)
        ZK_ADD_CC(l[0], l[0], a.l[0]);
#pragma unroll
        for (int i = 1; i < 8; i++) ZK_ADDC_CC(l[i], l[i], a.l[i]);
        ZK_ADDC(l[8], l[8], 0u);
#else
        u64 c = 0;
        for (int i = 0; i < 8; i++) {
            c += (u64)l[i] + a.l[i];
            l[i] = (u32)c;
            c >>= 32;
        }
        l[8] += (u32)c;
#endif
    }
    __device__ fr value() const {
        fr low, high = fr::zero();
#pragma unroll
        for (int i = 0; i < 8; i++) low.l[i] = l[i];
        low = reduce_once<1>(reduce_once<1>(low)); /* 2^256 < 3 r */
        if (l[8] == 0) return low;
        high.l[0] = l[8]; /* l[8] 2^256 as a residue is the Montgomery form of l[8] */
        return zk::add(low, to_mont(high));
    }
};

/* Terms `at`, at + step, ... of the n that begin at `first`. bit: the bits of the instance. */
template <class Bits>
__device__ inline fr sum_terms(const instance_view &view, const Bits &bit, u32 first, u32 n, u32 at, u32 step) {
    fr_sum sum;
    for (u32 i = at; i < n; i += step) {
        const circuit_term term = view.t.terms[first + i];
        if ((term.operand & OPERAND_KIND) == OPERAND_BIT) {
            if (bit(term.operand)) sum.add(load(&view.t.coefs[term.coef]));
        } else {
            const fr v = view.value(term.operand);
            sum.add(term.coef == 0 ? v : mul(v, load(&view.t.coefs[term.coef])));
        }
    }
    return sum.value();
}

/* ---- warps ---- */

__device__ inline fr shuffle_xor(const fr &v, int with) {
    fr r;
#if defined(__CUDA_ARCH__)
#pragma unroll
    for (int i = 0; i < 8; i++) r.l[i] = __shfl_xor_sync(0xffffffffu, v.l[i], with);
#elif defined(ZK_CUDA_EMULATE)
    r = __shfl_xor_sync(0xffffffffu, v, with);
#else
    (void)with;
    r = v;
#endif
    return r;
}
__device__ inline fr broadcast(const fr &v) { /* of lane 0 */
    fr r;
#if defined(__CUDA_ARCH__)
#pragma unroll
    for (int i = 0; i < 8; i++) r.l[i] = __shfl_sync(0xffffffffu, v.l[i], 0);
#elif defined(ZK_CUDA_EMULATE)
    r = __shfl_sync(0xffffffffu, v, 0);
#else
    r = v;
#endif
    return r;
}
__device__ inline fr warp_sum(fr v) { /* to all lanes */
#pragma unroll
    for (int step = 16; step; step /= 2) v = add(v, shuffle_xor(v, step));
    return v;
}

/* The threads that work on one instance: a block or a warp of it. */
struct team {
    u32 thread, n;
    __device__ void sync() const {
        if (n == TEAM)
            __syncthreads();
        else
            __syncwarp();
    }
    __device__ u32 lane() const { return thread % 32; }
    __device__ u32 warp() const { return thread / 32; }
    __device__ u32 n_warps() const { return n / 32; }
};

} // namespace zk
#endif
