/* Verification of sector updates without a circuit. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "filecoin/first_failure.h"
#include "filecoin/found_expected.h"
#include "filecoin/labels.h"
#include "filecoin/merkle.h"
#include "filecoin/update.h"

static const struct {
    const char *name, *text;
} checks[] = {{"none", "all checks hold"},
#define X(name, text) {#name, text},
              ZK_UPDATE_CHECKS(X)
#undef X
};

const char *zk_update_check_name(zk_update_check check) {
    return (size_t)check < sizeof checks / sizeof *checks ? checks[check].name : "unknown";
}

/* ---- reporting ---- */

/* Where a check stands; only what applies is set. */
typedef struct place {
    zk_update_failure at;
    uint64_t node; /* the challenged one */
    cuzk_err *err;
} place;

static place place_of(uint32_t partition, cuzk_err *err) {
    return (place){.at = {ZK_UPDATE_NONE, partition, ZK_UPDATE_NOWHERE, ZK_UPDATE_NOWHERE}, .err = err};
}

static cuzk_status fail(place *p, zk_update_check check, const char *found, const char *expected) {
    char where[128] = "";
    const zk_update_failure *at = &p->at;
    size_t n = 0, size = sizeof where;
    p->at.check = check;
#define PUT(...) n += n < size ? (size_t)snprintf(where + n, size - n, __VA_ARGS__) : 0
    if (at->partition != ZK_UPDATE_NOWHERE) PUT("partition %" PRIu32, at->partition);
    if (at->challenge != ZK_UPDATE_NOWHERE) PUT(", challenge %" PRIu32 ", node %" PRIu64, at->challenge, p->node);
    if (at->level != ZK_UPDATE_NOWHERE) PUT(", path level %" PRIu32, at->level);
#undef PUT
    return ZK_FAIL(p->err, CUZK_CHECK_FAILED, "vanilla: %s%scheck %s failed (%s): found %s, expected %s", where,
                   n ? ": " : "", checks[check].name, checks[check].text, found, expected);
}

static cuzk_status check_number(place *p, zk_update_check check, uint64_t found, uint64_t expected) {
    zk_found_expected text;
    return zk_numbers_differ(&text, found, expected) ? fail(p, check, text.found, text.expected) : CUZK_OK;
}

static cuzk_status check_node(place *p, zk_update_check check, const uint8_t found[32], const uint8_t expected[32]) {
    zk_found_expected text;
    return zk_nodes_differ(&text, found, expected) ? fail(p, check, text.found, text.expected) : CUZK_OK;
}

/* ---- one challenge ---- */

/* What the challenges of a partition share. */
typedef struct partition {
    uint64_t challenges[ZK_UPDATE_MAX_CHALLENGES];
    uint8_t (*apex)[32]; /* the apex tree as a heap: [1] the root, the children of i at 2i and 2i + 1; [0] unused */
} partition;

typedef struct context {
    const zk_update_statement *statement;
    const zk_update_shape *shape;
    const zk_update_proof *proofs;
    uint32_t first_partition;
    partition *partitions;
    zk_fr phi;
    zk_first_failure first;    /* units: challenges, counted over all partitions */
    zk_update_failure failure; /* noted with it */
} context;

/* comm_r is the hash of comm_c and comm_r_last. */
static cuzk_status check_comm_r(place *p, zk_update_check check, const uint8_t comm_r[32], const uint8_t comm_c[32],
                                const uint8_t comm_r_last[32]) {
    uint8_t expected[32];
    ZK_TRY(zk_comm_r(expected, comm_c, comm_r_last, p->err));
    return check_node(p, check, comm_r, expected);
}

/* Index, path and root of an opening in a replica's tree; `check` is the first of the three in a row. */
static cuzk_status check_replica(place *p, const context *c, const zk_opening_view *path, const zk_tree_path *hashed,
                                 zk_update_check check, const uint8_t comm_r_last[32]) {
    uint8_t root[32];
    for (uint32_t level = 0; level < c->shape->tree.n_nodes; level++) {
        p->at.level = level;
        ZK_TRY(check_number(p, check, path->index[level], zk_tree_index(&c->shape->tree, p->node, level)));
    }
    p->at.level = ZK_UPDATE_NOWHERE;
    ZK_TRY(zk_tree_path_root(root, hashed, &c->shape->tree, p->err));
    ZK_TRY(check_node(p, check + 1, root, path->root));
    return check_node(p, check + 2, path->root, comm_r_last);
}

static cuzk_status check_data(place *p, const context *c, const zk_opening_view *path) {
    uint8_t root[32];
    for (uint32_t level = 0; level < c->shape->node_bits; level++) {
        p->at.level = level;
        ZK_TRY(check_number(p, ZK_UPDATE_CHECK_data_index, path->index[level], p->node >> level & 1));
    }
    p->at.level = ZK_UPDATE_NOWHERE;
    zk_data_tree_root(root, c->shape->node_bits, path->leaf, path->index, (const uint8_t(*)[32])path->siblings);
    ZK_TRY(check_node(p, ZK_UPDATE_CHECK_data_path, root, path->root));
    return check_node(p, ZK_UPDATE_CHECK_data_root, path->root, c->statement->comm_d_new);
}

/* The path in the data, known to lead to comm_d_new, and the apex tree have the same nodes where they meet. With that
 * the apex tree's root lies under comm_d_new in the partition's place, and all paths agree above it. */
static cuzk_status check_apex(place *p, const context *c, const partition *own, const zk_opening_view *path) {
    const zk_update_shape *shape = c->shape;
    uint8_t node[32];
    size_t at =
        ((size_t)1 << shape->apex_bits) | (p->node >> shape->apex_height & (((size_t)1 << shape->apex_bits) - 1));
    zk_data_tree_root(node, shape->apex_height, path->leaf, path->index, (const uint8_t(*)[32])path->siblings);
    ZK_TRY(check_node(p, ZK_UPDATE_CHECK_apex_leaf, node, own->apex[at]));
    for (uint32_t level = shape->apex_height; at > 1; level++, at /= 2) {
        p->at.level = level;
        ZK_TRY(check_node(p, ZK_UPDATE_CHECK_apex_path, path->siblings[level], own->apex[at ^ 1]));
    }
    p->at.level = ZK_UPDATE_NOWHERE;
    return CUZK_OK;
}

static cuzk_status check_encoding(place *p, const context *c, const uint8_t old[32], const uint8_t data[32],
                                  const uint8_t new[32]) {
    zk_fr a, b, rho;
    uint8_t expected[32];
    ZK_TRY(zk_update_rho(&rho, &c->phi, p->node >> (c->shape->node_bits - c->statement->h), p->err));
    if (!zk_fr_from_bytes_le(&a, old) || !zk_fr_from_bytes_le(&b, data))
        return ZK_FAIL(p->err, CUZK_BAD_INPUT, "vanilla: a leaf is not a field element");
    zk_fr_mul(&b, &b, &rho);
    zk_fr_add(&a, &a, &b);
    zk_fr_to_bytes_le(expected, &a);
    return check_node(p, ZK_UPDATE_CHECK_encoding, new, expected);
}

/* hashed: the paths in the old replica and in the new one. */
static cuzk_status check_challenge(place *p, const context *c, size_t k, uint32_t i, const zk_tree_path hashed[2]) {
    const zk_update_proof *proof = &c->proofs[k];
    const partition *own = &c->partitions[k];
    zk_opening_view path[ZK_UPDATE_N_TREES], first_old, first_new;
    first_old = zk_update_proof_path(proof, c->shape, 0, ZK_UPDATE_OLD);
    first_new = zk_update_proof_path(proof, c->shape, 0, ZK_UPDATE_NEW);
    for (unsigned t = 0; t < ZK_UPDATE_N_TREES; t++)
        path[t] = zk_update_proof_path(proof, c->shape, i, (zk_update_tree)t);
    if (i == 0) { /* statements about the partition; reported before those about its challenges */
        const zk_update_statement *s = c->statement;
        ZK_TRY(check_comm_r(p, ZK_UPDATE_CHECK_comm_r_old, s->comm_r_old, proof->comm_c, first_old.root));
        ZK_TRY(check_comm_r(p, ZK_UPDATE_CHECK_comm_r_new, s->comm_r_new, proof->comm_c, first_new.root));
    }
    p->at.challenge = i;
    p->node = own->challenges[i];
    ZK_TRY(check_replica(p, c, &path[ZK_UPDATE_OLD], &hashed[0], ZK_UPDATE_CHECK_old_index, first_old.root));
    ZK_TRY(check_data(p, c, &path[ZK_UPDATE_DATA]));
    ZK_TRY(check_replica(p, c, &path[ZK_UPDATE_NEW], &hashed[1], ZK_UPDATE_CHECK_new_index, first_new.root));
    ZK_TRY(check_apex(p, c, own, &path[ZK_UPDATE_DATA]));
    return check_encoding(p, c, path[ZK_UPDATE_OLD].leaf, path[ZK_UPDATE_DATA].leaf, path[ZK_UPDATE_NEW].leaf);
}

static zk_tree_path path_of(const context *c, size_t k, zk_update_tree tree) {
    zk_opening_view v = zk_update_proof_path(&c->proofs[k / c->shape->n_challenges], c->shape,
                                             (uint32_t)(k % c->shape->n_challenges), tree);
    return (zk_tree_path){.leaf = v.leaf, .index = v.index, .siblings = (const uint8_t(*)[32])v.siblings};
}

#define UNITS 4 /* at a time: two paths each make eight, which are hashed side by side */

static void verify_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    context *c = ctx;
    zk_tree_path hashed[2 * UNITS];
    (void)thread;
    if (zk_first_failure_precedes(&c->first, begin)) return;
    for (size_t k = begin; k < end; k++) {
        hashed[2 * (k - begin)] = path_of(c, k, ZK_UPDATE_OLD);
        hashed[2 * (k - begin) + 1] = path_of(c, k, ZK_UPDATE_NEW);
    }
    zk_tree_roots(hashed, 2 * (end - begin), &c->shape->tree);
    for (size_t k = begin; k < end; k++) {
        cuzk_err err = {0};
        size_t of_partition = k / c->shape->n_challenges;
        place p = place_of(c->first_partition + (uint32_t)of_partition, &err);
        if (zk_first_failure_precedes(&c->first, k)) return;
        cuzk_status status =
            check_challenge(&p, c, of_partition, (uint32_t)(k % c->shape->n_challenges), &hashed[2 * (k - begin)]);
        if (status == CUZK_OK) continue;
        zk_first_failure_note(&c->first, k, status, &err, &c->failure, &p.at, sizeof c->failure);
    }
}

/* ---- all ---- */

/* The commitment that is zero: its check, and its name; ZK_UPDATE_NONE: there is none. */
static zk_update_check zero_commitment(const char **name, const zk_update_statement *s) {
    static const uint8_t zero[32];
    const struct {
        const uint8_t *value;
        const char *name;
        zk_update_check check;
    } not_zero[] = {{s->comm_r_old, "comm_r_old", ZK_UPDATE_CHECK_comm_r_old_not_zero},
                    {s->comm_d_new, "comm_d_new", ZK_UPDATE_CHECK_comm_d_new_not_zero},
                    {s->comm_r_new, "comm_r_new", ZK_UPDATE_CHECK_comm_r_new_not_zero}};
    for (unsigned i = 0; i < sizeof not_zero / sizeof *not_zero; i++) {
        *name = not_zero[i].name;
        if (memcmp(not_zero[i].value, zero, 32) == 0) return not_zero[i].check;
    }
    return ZK_UPDATE_NONE;
}

cuzk_status zk_update_require_statement(const zk_update_statement *s, cuzk_err *err) {
    const char *name = NULL;
    zk_update_check check = zero_commitment(&name, s);
    if (check == ZK_UPDATE_NONE) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found zero, expected another value (check %s)", name,
                   zk_update_check_name(check));
}

static cuzk_status check_statement(place *p, const zk_update_statement *s, uint32_t first, uint32_t n) {
    uint32_t n_partitions = zk_update_n_partitions(&s->shape);
    const char *name = NULL;
    if (first > n_partitions || n > n_partitions - first)
        return ZK_FAIL(p->err, CUZK_BAD_INPUT, "partitions %" PRIu32 " to %" PRIu64 ": there are %" PRIu32, first,
                       (uint64_t)first + n - 1, n_partitions);
    if (!zk_update_h_select(&s->shape, s->h))
        return ZK_FAIL(p->err, CUZK_BAD_INPUT, "h: found %" PRIu32 ", allowed are %" PRIu32 " to %" PRIu32, s->h,
                       s->shape.hs[0], s->shape.hs[ZK_UPDATE_N_HS - 1]);
    zk_update_check check = zero_commitment(&name, s);
    return check == ZK_UPDATE_NONE ? CUZK_OK : fail(p, check, "zero", "another value");
}

static void build_apex_tree(uint8_t (*apex)[32], const uint8_t (*leaves)[32], size_t n) {
    memcpy(apex + n, leaves, 32 * n);
    for (size_t i = n - 1; i > 0; i--) zk_data_node(apex[i], apex[2 * i], apex[2 * i + 1]);
}

cuzk_status zk_update_verify(zk_update_failure *failure, const zk_update_statement *statement,
                             const zk_update_proof *proofs, uint32_t first, uint32_t n, zk_pool *pool, cuzk_err *err) {
    const zk_update_shape *shape = &statement->shape;
    size_t n_apex = (size_t)1 << shape->apex_bits;
    uint8_t(*apex)[32] = NULL;
    context c = {.statement = statement,
                 .shape = shape,
                 .proofs = proofs,
                 .first_partition = first,
                 .first = ZK_FIRST_FAILURE_INIT};
    place p = place_of(ZK_UPDATE_NOWHERE, &c.first.err);
    cuzk_status status = CUZK_OK;
    c.failure = p.at;
    status = check_statement(&p, statement, first, n);
    c.failure = p.at;
    if (status != CUZK_OK) goto out;
    apex = zk_malloc((n + (size_t)1) * 2 * n_apex * sizeof *apex);
    c.partitions = zk_malloc((n + (size_t)1) * sizeof *c.partitions);
    if (!apex || !c.partitions)
        ZK_GOTO(ZK_FAIL(&c.first.err, CUZK_OUT_OF_MEMORY, "no memory to verify %" PRIu32 " partitions", n));
    for (uint32_t k = 0; k < n; k++) {
        c.partitions[k].apex = apex + k * 2 * n_apex;
        build_apex_tree(c.partitions[k].apex, (const uint8_t(*)[32])proofs[k].nodes, n_apex);
        ZK_GOTO(
            zk_update_challenges(c.partitions[k].challenges, shape, statement->comm_r_new, first + k, &c.first.err));
    }
    ZK_GOTO(zk_update_phi(&c.phi, statement->comm_d_new, statement->comm_r_old, &c.first.err));
    zk_pool_for(pool, (size_t)n * shape->n_challenges, UNITS, verify_range, &c);
    status = c.first.status;
out:
    free(apex);
    free(c.partitions);
    if (failure) *failure = c.failure;
    if (status != CUZK_OK && err && err->status == CUZK_OK) *err = c.first.err;
    return status;
}
