/* Vanilla proofs and requests of PoSt as bytes. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "filecoin/opening_bytes.h"
#include "filecoin/post.h"

/* One sector's bytes; to be cleared also after a failure. */
static cuzk_status vanilla_read(zk_post_vanilla *v, const zk_registered_post *type, const zk_opening_shape *tree,
                                const uint8_t *bytes, size_t n_bytes, cuzk_err *err) {
    memset(v, 0, sizeof *v);
    zk_bincode r;
    zk_opening_parts parts = zk_opening_parts_of(tree);
    uint32_t n = type->n_challenges, n_nodes = 2 + tree->n_siblings;
    uint64_t number = 0;
    zk_bincode_init(&r, bytes, n_bytes, err);
    ZK_TRY(zk_bincode_u64(&v->sector, &r, 0, UINT64_MAX, "sector number"));
    ZK_TRY(zk_bincode_node(v->comm_r, &r, "comm_r"));
    ZK_TRY(zk_bincode_u64(&number, &r, 1, 1, "number of sector proofs"));
    ZK_TRY(zk_bincode_u64(&number, &r, n, n, "number of openings"));
    v->nodes = zk_malloc((size_t)n * n_nodes * sizeof *v->nodes);
    v->index = zk_malloc((size_t)n * tree->n_nodes * sizeof *v->index);
    if (!v->nodes || !v->index) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %" PRIu32 " openings", n);
    for (uint32_t i = 0; i < n; i++) {
        zk_post_node *nodes = v->nodes + (size_t)i * n_nodes;
        zk_opening_view to = {
            .leaf = nodes[0], .root = nodes[1], .siblings = nodes + 2, .index = v->index + (size_t)i * tree->n_nodes};
        zk_bincode_enter(&r, "openings", i);
        ZK_TRY(zk_opening_read(&to, &r, &parts));
        zk_bincode_leave(&r);
    }
    ZK_TRY(zk_bincode_node(v->comm_c, &r, "comm_c"));
    ZK_TRY(zk_bincode_node(v->comm_r_last, &r, "comm_r_last"));
    return zk_bincode_end(&r);
}

static void vanilla_clear(zk_post_vanilla *v) {
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

cuzk_status zk_post_vanilla_n_bytes(size_t *n, const zk_registered_post *type, cuzk_err *err) {
    zk_opening_shape tree;
    ZK_TRY(zk_opening_shape_get(&tree, type->sector_bytes, err));
    zk_opening_parts parts = zk_opening_parts_of(&tree);
    *n = 8 + 32 + 8 + 8 + type->n_challenges * zk_opening_n_bytes(&parts) + 32 + 32;
    return CUZK_OK;
}

/* ---- the request ---- */

static cuzk_status check_randomness(const zk_request_field *randomness, cuzk_err *err) {
    cuzk_err why = {0};
    cuzk_status status = zk_request_check_element(randomness, "randomness", &why);
    if (status == CUZK_OK) return CUZK_OK;
    return ZK_FAIL(err, status, "%s%s", why.message,
                   randomness->n == 32 ? "; callers clear the top two bits of the last byte" : "");
}

static cuzk_status check_counts(const zk_registered_post *type, uint32_t partition_index, uint64_t n, cuzk_err *err) {
    if (type->kind == ZK_POST_WINNING && n != 1)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "vanilla_proofs: found %" PRIu64 " entries, WinningPoSt has one", n);
    if (n == 0) return ZK_FAIL(err, CUZK_BAD_INPUT, "vanilla_proofs: found no entry, expected one for each sector");
    if (type->kind == ZK_POST_WINNING && partition_index)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "partition_index: found %" PRIu32 ", WinningPoSt has one partition",
                       partition_index);
    if (n > UINT32_MAX / 64) return ZK_FAIL(err, CUZK_BAD_INPUT, "vanilla_proofs: found %" PRIu64 " entries", n);
    if (partition_index && n > type->n_sectors)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "vanilla_proofs: found %" PRIu64 " entries for partition %" PRIu32 ", expected at most %" PRIu32
                       " (all partitions at once: partition_index 0)",
                       n, partition_index, type->n_sectors);
    return CUZK_OK;
}

cuzk_status zk_post_check_head(const zk_registered_post *type, const zk_request_head *head, cuzk_err *err) {
    ZK_TRY(check_counts(type, head->partition_index, head->n_vanilla_proofs, err));
    return check_randomness(&head->randomness, err);
}

cuzk_status zk_post_create(zk_post **out, const zk_registered_post *type, const zk_blob *randomness,
                           uint32_t partition_index, const zk_blob *vanilla, size_t n_vanilla, const zk_passed *passed,
                           cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_post *post = NULL;
    zk_request_head head = {.partition_index = partition_index, .n_vanilla_proofs = n_vanilla};
    *out = NULL;
    zk_request_field_set(&head.randomness, randomness);
    ZK_GOTO(zk_post_check_head(type, &head, err));
    post = zk_calloc(1, sizeof *post);
    if (!post) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a PoSt");
    post->type = type;
    post->first_position = (uint64_t)partition_index * type->n_sectors;
    memcpy(post->randomness, head.randomness.bytes, sizeof post->randomness);
    ZK_GOTO(zk_opening_shape_get(&post->tree, type->sector_bytes, err));
    post->sectors = zk_calloc(n_vanilla, sizeof *post->sectors);
    post->numbers = zk_calloc(n_vanilla, sizeof *post->numbers);
    if (!post->sectors || !post->numbers)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for %zu vanilla proofs", n_vanilla));
    for (size_t i = 0; i < n_vanilla; i++) {
        post->n_sectors++;
        status = vanilla_read(&post->sectors[i], type, &post->tree, vanilla[i].data, vanilla[i].n, err);
        if (status != CUZK_OK) {
            zk_err_prefix(err, "vanilla_proofs[%zu]", i);
            goto out;
        }
        post->numbers[i] = post->sectors[i].sector;
        zk_passed_tell(passed, vanilla[i].data, vanilla[i].n);
    }
    *out = post;
    post = NULL;
out:
    zk_post_destroy(post);
    return status;
}

void zk_post_destroy(zk_post *post) {
    if (!post) return;
    for (uint32_t i = 0; i < post->n_sectors; i++) vanilla_clear(&post->sectors[i]);
    free(post->sectors);
    free(post->numbers);
    free(post);
}
