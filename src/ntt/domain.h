/* What ntt.c and its vector variants share: the tables of a domain and the two kinds of pass. */
#ifndef ZK_NTT_DOMAIN_H
#define ZK_NTT_DOMAIN_H

#include "base/progress.h"
#include "ntt/ntt.h"

#define LEAF_LOG2 9
#define PASS_LOG2 8
#define MAX_PASSES 4 /* (32 - LEAF_LOG2) / PASS_LOG2, rounded up, one to spare */

/* Roots and shifts are kept in both directions: [0] w and g, [1] their inverses. */
typedef struct roots {
    zk_fr *zeta;       /* [n_zeta] twiddles, see kernels.h */
    zk_fr *shift;      /* [n_leaves] w^brv(s), brv over log2 n_leaves bits */
    zk_fr *coset_leaf; /* [2^log2_leaf] g^(n_leaves brv(i)), brv over log2_leaf bits */
    zk_fr *coset;      /* [n_leaves] g^brv(s) */
} roots;

typedef struct pass {
    unsigned first_level, n_levels;
} pass;

struct zk_ntt_domain {
    size_t n, n_leaves, n_zeta;
    unsigned log2_n, log2_leaf, n_passes;
    pass passes[MAX_PASSES];
    roots roots[2];
    zk_fr n_inverse;
    zk_fr quotient_scale;             /* 1 / (n (g^n - 1)) */
    zk_fr *block;                     /* the tables are one block */
    struct zk_fr52 *block52;          /* the same for the code in lanes, in its form */
    const struct zk_ntt_lanes *lanes; /* NULL: scalar code */
};

typedef enum direction { FORWARD, INVERSE, NONE } direction;

typedef struct tile_job {
    const zk_ntt_domain *domain;
    zk_fr *x[2];
    pass pass;
    direction split, merge; /* which of the two to run; the middle of a quotient runs both */
} tile_job;

/* Where a tile of `columns` neighbouring columns lies in the vector. */
typedef struct tile_place {
    size_t first, stride, n_rows;
    size_t block; /* which block of the pass's first level */
} tile_place;

static inline tile_place tile_place_of(const tile_job *job, size_t columns, size_t tile) {
    size_t block_size = job->domain->n >> job->pass.first_level;
    size_t stride = block_size >> job->pass.n_levels, per_block = stride / columns;
    tile_place p = {.stride = stride, .n_rows = (size_t)1 << job->pass.n_levels, .block = tile / per_block};
    p.first = p.block * block_size + (tile % per_block) * columns;
    return p;
}

/* Pieces of work, of n, that a thread takes at a time: neighbours, as they share pages, and so few that every thread
 * gets `turns` of them: they grow with n, so loops over them give signs of progress between (base/progress.h). */
static inline size_t grain_of(size_t n, size_t turns, const zk_pool *pool) {
    size_t grain = n / (turns * zk_pool_n_threads(pool));
    return grain ? grain : 1;
}

/* On each leaf of each vector: a split, a multiplication by `scale` and, where coset says so, the powers of g or 1/g,
 * a merge; each optional. With `minus` there is one vector and a scale, and what it gives has the same of minus,
 * without the powers of g, taken off. */
typedef struct leaf_job {
    const zk_ntt_domain *domain;
    zk_fr *x[2];
    unsigned n_x;
    direction split, coset, merge;
    const zk_fr *scale; /* NULL: one */
    const zk_fr *minus; /* [n] or NULL */
} leaf_job;

#endif
