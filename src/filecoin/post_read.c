#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "field/fr.h"
#include "filecoin/post.h"

/* Where the reader stands, for messages; numbers that do not apply are ZK_POST_NOWHERE. */
typedef struct reader {
    const uint8_t *bytes;
    size_t n, at;
    uint32_t opening, level, sibling;
    cuzk_err *err;
} reader;

static void place(char *text, size_t n_text, const reader *r) {
    const struct {
        const char *name;
        uint32_t value;
    } parts[] = {{"opening", r->opening}, {"level", r->level}, {"sibling", r->sibling}};
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && n < n_text; i++)
        if (parts[i].value != ZK_POST_NOWHERE)
            n += (size_t)snprintf(text + n, n_text - n, "%s %" PRIu32 ", ", parts[i].name, parts[i].value);
}

static cuzk_status take(reader *r, const uint8_t **bytes, size_t n, const char *what) {
    if (n <= r->n - r->at) {
        *bytes = r->bytes + r->at;
        r->at += n;
        return CUZK_OK;
    }
    char where[96];
    place(where, sizeof where, r);
    return ZK_FAIL(r->err, CUZK_BAD_INPUT, "byte %zu: %s%s: found %zu bytes up to the end, expected %zu", r->at, where,
                   what, r->n - r->at, n);
}

static cuzk_status read_node(reader *r, zk_post_node node, const char *what) {
    const uint8_t *bytes = NULL;
    ZK_TRY(take(r, &bytes, 32, what));
    for (int i = 3; i >= 0; i--) {
        uint64_t limb = zk_load_le64(bytes + 8 * i);
        if (limb < zk_fr_modulus[i]) break;
        if (limb == zk_fr_modulus[i] && i) continue;
        char where[96], hex[65];
        place(where, sizeof where, r);
        zk_hex_encode(hex, bytes, 32);
        return ZK_FAIL(r->err, CUZK_BAD_INPUT,
                       "byte %zu: %s%s: found %s (little-endian), expected a field element (below r)", r->at - 32,
                       where, what, hex);
    }
    memcpy(node, bytes, 32);
    return CUZK_OK;
}

/* A number from `least` to `most`. */
static cuzk_status read_number(reader *r, uint64_t *number, unsigned n_bytes, uint64_t least, uint64_t most,
                               const char *what) {
    const uint8_t *bytes = NULL;
    ZK_TRY(take(r, &bytes, n_bytes, what));
    uint64_t v = n_bytes == 4 ? zk_load_le32(bytes) : zk_load_le64(bytes);
    if (v < least || v > most) {
        char where[96];
        place(where, sizeof where, r);
        if (least == most)
            return ZK_FAIL(r->err, CUZK_BAD_INPUT, "byte %zu: %s%s: found %" PRIu64 ", expected %" PRIu64,
                           r->at - n_bytes, where, what, v, most);
        return ZK_FAIL(r->err, CUZK_BAD_INPUT, "byte %zu: %s%s: found %" PRIu64 ", expected %" PRIu64 " to %" PRIu64,
                       r->at - n_bytes, where, what, v, least, most);
    }
    *number = v;
    return CUZK_OK;
}

/* Levels first .. first + n - 1 of a path; their siblings follow each other in `siblings`. */
static cuzk_status read_path(reader *r, const zk_opening_shape *tree, uint32_t first, uint32_t n,
                             zk_post_node **siblings, uint32_t *index) {
    uint64_t number = 0;
    ZK_TRY(read_number(r, &number, 8, n, n, "number of nodes on the path"));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t arity = zk_opening_arity(tree, first + i);
        r->level = first + i;
        ZK_TRY(read_number(r, &number, 8, arity - 1, arity - 1, "number of siblings"));
        for (uint32_t k = 0; k + 1 < arity; k++) {
            r->sibling = k;
            ZK_TRY(read_node(r, *(*siblings)++, "hash"));
        }
        r->sibling = ZK_POST_NOWHERE;
        ZK_TRY(read_number(r, &number, 8, 0, arity - 1, "index"));
        index[first + i] = (uint32_t)number;
    }
    r->level = ZK_POST_NOWHERE;
    return CUZK_OK;
}

static cuzk_status read_opening(reader *r, const zk_opening_shape *tree, zk_post_node *nodes, uint32_t *index) {
    uint32_t n_sub = tree->sub_arity > 0, n_top = tree->top_arity > 0;
    zk_post_node *siblings = nodes + 2;
    uint64_t tag = n_sub + n_top;
    ZK_TRY(read_number(r, &tag, 4, tag, tag, "tag of the tree's shape"));
    if (tag > 0) {
        ZK_TRY(read_path(r, tree, 0, tree->n_base, &siblings, index));
        ZK_TRY(read_path(r, tree, tree->n_base, n_sub, &siblings, index));
        if (n_top) ZK_TRY(read_path(r, tree, tree->n_base + n_sub, n_top, &siblings, index));
    }
    ZK_TRY(read_node(r, nodes[1], "root"));
    ZK_TRY(read_node(r, nodes[0], "leaf"));
    return tag > 0 ? CUZK_OK : read_path(r, tree, 0, tree->n_base, &siblings, index);
}

cuzk_status zk_post_vanilla_read(zk_post_vanilla *v, const zk_registered_post *type, const zk_opening_shape *tree,
                                 const uint8_t *bytes, size_t n_bytes, cuzk_err *err) {
    memset(v, 0, sizeof *v);
    reader r = {.bytes = bytes,
                .n = n_bytes,
                .opening = ZK_POST_NOWHERE,
                .level = ZK_POST_NOWHERE,
                .sibling = ZK_POST_NOWHERE,
                .err = err};
    uint32_t n = type->n_challenges, n_nodes = 2 + tree->n_siblings;
    uint64_t number = 0;
    ZK_TRY(read_number(&r, &v->sector, 8, 0, UINT64_MAX, "sector number"));
    ZK_TRY(read_node(&r, v->comm_r, "comm_r"));
    ZK_TRY(read_number(&r, &number, 8, 1, 1, "number of sector proofs"));
    ZK_TRY(read_number(&r, &number, 8, n, n, "number of openings"));
    v->nodes = zk_malloc((size_t)n * n_nodes * sizeof *v->nodes);
    v->index = zk_malloc((size_t)n * tree->n_nodes * sizeof *v->index);
    if (!v->nodes || !v->index) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu32 " openings", n);
    for (uint32_t i = 0; i < n; i++) {
        r.opening = i;
        ZK_TRY(read_opening(&r, tree, v->nodes + (size_t)i * n_nodes, v->index + (size_t)i * tree->n_nodes));
    }
    r.opening = ZK_POST_NOWHERE;
    ZK_TRY(read_node(&r, v->comm_c, "comm_c"));
    ZK_TRY(read_node(&r, v->comm_r_last, "comm_r_last"));
    if (r.at != n_bytes)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "byte %zu: found %zu bytes more, expected the end", r.at, n_bytes - r.at);
    return CUZK_OK;
}

void zk_post_vanilla_clear(zk_post_vanilla *v) {
    free(v->nodes);
    free(v->index);
    memset(v, 0, sizeof *v);
}

zk_post_view zk_post_vanilla_opening(const zk_post_vanilla *v, const zk_opening_shape *tree, uint32_t opening) {
    const zk_post_node *nodes = v->nodes + (size_t)opening * (2 + tree->n_siblings);
    return (zk_post_view){.leaf = nodes[0],
                          .root = nodes[1],
                          .siblings = (const uint8_t(*)[32])(nodes + 2),
                          .index = v->index + (size_t)opening * tree->n_nodes};
}

/* ---- the request ---- */

static cuzk_status read_randomness(zk_post_node out, const zk_blob *randomness, cuzk_err *err) {
    zk_fr value;
    if (randomness->n != 32)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "randomness: found %zu bytes, expected 32", randomness->n);
    if (!zk_fr_from_bytes_le(&value, randomness->data)) {
        char hex[65];
        zk_hex_encode(hex, randomness->data, 32);
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "randomness: found %s, expected a field element (below r, little-endian); callers clear the top "
                       "two bits of the last byte",
                       hex);
    }
    memcpy(out, randomness->data, 32);
    return CUZK_OK;
}

static cuzk_status check_counts(const zk_registered_post *type, uint32_t partition_index, size_t n, cuzk_err *err) {
    if (type->kind == ZK_POST_WINNING && n != 1)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "vanilla_proofs: found %zu entries, WinningPoSt has one", n);
    if (n == 0) return ZK_FAIL(err, CUZK_BAD_INPUT, "vanilla_proofs: found no entry, expected one for each sector");
    if (type->kind == ZK_POST_WINNING && partition_index)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "partition_index: found %" PRIu32 ", WinningPoSt has one partition",
                       partition_index);
    if (n > UINT32_MAX / 64) return ZK_FAIL(err, CUZK_BAD_INPUT, "vanilla_proofs: found %zu entries", n);
    if (partition_index && n > type->n_sectors)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "vanilla_proofs: found %zu entries for partition %" PRIu32 ", expected at most %" PRIu32
                       " (all partitions at once: partition_index 0)",
                       n, partition_index, type->n_sectors);
    return CUZK_OK;
}

cuzk_status zk_post_create(zk_post **out, const zk_registered_post *type, const zk_blob *randomness,
                           uint32_t partition_index, const zk_blob *vanilla, size_t n_vanilla, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_post *post = NULL;
    *out = NULL;
    ZK_GOTO(check_counts(type, partition_index, n_vanilla, err));
    post = zk_calloc(1, sizeof *post);
    if (!post) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a PoSt");
    post->type = type;
    post->first_position = (uint64_t)partition_index * type->n_sectors;
    ZK_GOTO(read_randomness(post->randomness, randomness, err));
    ZK_GOTO(zk_opening_shape_get(&post->tree, type->sector_bytes, err));
    post->sectors = zk_calloc(n_vanilla, sizeof *post->sectors);
    post->numbers = zk_calloc(n_vanilla, sizeof *post->numbers);
    if (!post->sectors || !post->numbers)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %zu vanilla proofs", n_vanilla));
    for (size_t i = 0; i < n_vanilla; i++) {
        post->n_sectors++;
        status = zk_post_vanilla_read(&post->sectors[i], type, &post->tree, vanilla[i].data, vanilla[i].n, err);
        if (status != CUZK_OK) {
            zk_err_prefix(err, "vanilla_proofs[%zu]", i);
            goto out;
        }
        post->numbers[i] = post->sectors[i].sector;
    }
    *out = post;
    post = NULL;
out:
    zk_post_destroy(post);
    return status;
}

void zk_post_destroy(zk_post *post) {
    if (!post) return;
    for (uint32_t i = 0; i < post->n_sectors; i++) zk_post_vanilla_clear(&post->sectors[i]);
    free(post->sectors);
    free(post->numbers);
    free(post);
}
