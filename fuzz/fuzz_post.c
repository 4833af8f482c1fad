/* Requests for PoSt: the first byte picks registered type and partition index, then 32 bytes of randomness, then
 * vanilla proofs, each with its length (u32 LE) before it. Decoded, they must verify or not, and give a witness's
 * private input and public inputs, whatever they say. What decodes has exactly the expected length. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "filecoin/post.h"

enum { MAX_PROOFS = 8 };

static void use(const zk_post *post) {
    zk_post_failure failure;
    cuzk_err err = {0};
    cuzk_status status = zk_post_verify(&failure, post, NULL, &err);
    if ((status == CUZK_OK) != (failure.check == ZK_POST_NONE)) abort();
    if (status != CUZK_OK && (status != CUZK_CHECK_FAILED || !err.message[0])) abort();
    for (uint32_t i = 0; i < post->n_sectors; i++) {
        uint64_t challenges[66];
        zk_post_challenges(challenges, post, i);
        for (uint32_t k = 0; k < post->type->n_challenges; k++)
            if (challenges[k] >= post->type->sector_bytes / 32) abort();
    }
    uint32_t n = zk_post_n_publics(post->type);
    if (n > 200) return; /* the real sizes repeat sectors thousands of times */
    uint8_t(*publics)[32] = malloc((size_t)n * 32);
    size_t per_sector = 3 + (size_t)post->type->circuit_n_challenges * (1 + post->tree.n_nodes + post->tree.n_siblings);
    size_t n_hints = post->type->circuit_n_sectors * per_sector;
    uint8_t(*hints)[32] = malloc(n_hints * 32);
    if (!publics || !hints) abort();
    for (uint32_t k = 0; k < zk_post_n_partitions(post); k++) {
        zk_post_publics(publics, post, k);
        if (zk_post_partition_hints(hints, n_hints, post, k, &err) != CUZK_OK) abort();
    }
    free(publics);
    free(hints);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 33) return 0;
    const zk_registered_post *type = &zk_registered_posts[data[0] % ZK_N_REGISTERED_POSTS];
    uint32_t partition_index = data[0] / ZK_N_REGISTERED_POSTS;
    zk_blob randomness = {(uint8_t *)(uintptr_t)(data + 1), 32}, vanilla[MAX_PROOFS];
    size_t n = 0, at = 33;
    while (n < MAX_PROOFS && size - at >= 4) {
        size_t length = zk_load_le32(data + at);
        at += 4;
        if (length > size - at) length = size - at;
        vanilla[n++] = (zk_blob){(uint8_t *)(uintptr_t)(data + at), length};
        at += length;
    }
    zk_post *post = NULL;
    cuzk_err err = {0};
    cuzk_status status = zk_post_create(&post, type, &randomness, partition_index, vanilla, n, NULL, &err);
    if ((status == CUZK_OK) != (post != NULL)) abort();
    if (status != CUZK_OK && (status != CUZK_BAD_INPUT || !err.message[0])) abort();
    if (post) use(post);
    zk_post_destroy(post);
    return 0;
}
