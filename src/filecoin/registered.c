#include "filecoin/registered.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "circuit/opening.h"
#include "hash/sha256.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

/* One version of the PoRep: the five sizes in order of their numbers. */
#define SEAL_ROWS(first, suffix, small, large, api, feature)                                                           \
    {first, "StackedDrg2KiB" suffix, "StackedDrg2KiBV1", KIB(2), small, 2, 2, api, feature},                           \
        {first + 1, "StackedDrg8MiB" suffix, "StackedDrg8MiBV1", MIB(8), small, 2, 2, api, feature},                   \
        {first + 2, "StackedDrg512MiB" suffix, "StackedDrg512MiBV1", MIB(512), small, 2, 2, api, feature},             \
        {first + 3, "StackedDrg32GiB" suffix, "StackedDrg32GiBV1", GIB(32), large, 18, 11, api, feature}, {            \
        first + 4, "StackedDrg64GiB" suffix, "StackedDrg64GiBV1", GIB(64), large, 18, 11, api, feature                 \
    }

const zk_registered_seal zk_registered_seals[ZK_N_REGISTERED_SEALS] = {
    SEAL_ROWS(0, "V1", 1, 10, ZK_API_1_0_0, ZK_POREP_INTERACTIVE),
    SEAL_ROWS(5, "V1_1", 1, 10, ZK_API_1_1_0, ZK_POREP_INTERACTIVE),
    SEAL_ROWS(10, "V1_1_Feat_SyntheticPoRep", 1, 10, ZK_API_1_2_0, ZK_POREP_SYNTHETIC),
    SEAL_ROWS(15, "V1_2_Feat_NonInteractivePoRep", 13, 126, ZK_API_1_2_0, ZK_POREP_NON_INTERACTIVE),
};

/* The same for a PoSt. s: sectors of a partition; the rest is alike for all sizes. */
#define POST_ROW(number, size, bytes, s, kind_name, suffix, kind, api, c, circuit_s, circuit_c)                        \
    { number, "StackedDrg" kind_name size suffix, kind, bytes, api, c, s, circuit_s(s), circuit_c }
#define POST_ROWS(first, small, gib32, gib64, ...)                                                                     \
    POST_ROW(first, "2KiB", KIB(2), small, __VA_ARGS__), POST_ROW(first + 1, "8MiB", MIB(8), small, __VA_ARGS__),      \
        POST_ROW(first + 2, "512MiB", MIB(512), small, __VA_ARGS__),                                                   \
        POST_ROW(first + 3, "32GiB", GIB(32), gib32, __VA_ARGS__),                                                     \
        POST_ROW(first + 4, "64GiB", GIB(64), gib64, __VA_ARGS__)
#define SAME(n) n
#define COPIES(n) 66

const zk_registered_post zk_registered_posts[ZK_N_REGISTERED_POSTS] = {
    POST_ROWS(0, 1, 1, 1, "Winning", "V1", ZK_POST_WINNING, ZK_API_1_0_0, 66, COPIES, 1),
    POST_ROWS(5, 2, 2349, 2300, "Window", "V1", ZK_POST_WINDOW, ZK_API_1_0_0, 10, SAME, 10),
    POST_ROWS(10, 2, 2349, 2300, "Window", "V1_2", ZK_POST_WINDOW, ZK_API_1_2_0, 10, SAME, 10),
};

const zk_registered_update zk_registered_updates[ZK_N_REGISTERED_UPDATES] = {
    {0, "StackedDrg2KiBV1", KIB(2), 1, 10, 1},       {1, "StackedDrg8MiBV1", MIB(8), 4, 10, 10},
    {2, "StackedDrg512MiBV1", MIB(512), 16, 86, 10}, {3, "StackedDrg32GiBV1", GIB(32), 16, 86, 10},
    {4, "StackedDrg64GiBV1", GIB(64), 16, 86, 10},
};

const char *zk_api_version_name(zk_api_version version) {
    return version == ZK_API_1_0_0 ? "1.0.0" : version == ZK_API_1_1_0 ? "1.1.0" : "1.2.0";
}

static bool equal(const char *text, const char *name, size_t n) {
    return strlen(text) == n && memcmp(text, name, n) == 0;
}

/* One linear search for each table: they are short and looked up once a job. */
#define DEFINE_LOOKUP(type, table, count)                                                                              \
    const type *type##_by_number(uint64_t number) { return number < count ? &table[number] : NULL; }                   \
    const type *type##_by_name(const char *name, size_t n) {                                                           \
        for (size_t i = 0; i < count; i++)                                                                             \
            if (equal(table[i].name, name, n)) return &table[i];                                                       \
        return NULL;                                                                                                   \
    }
DEFINE_LOOKUP(zk_registered_seal, zk_registered_seals, ZK_N_REGISTERED_SEALS)
DEFINE_LOOKUP(zk_registered_post, zk_registered_posts, ZK_N_REGISTERED_POSTS)
DEFINE_LOOKUP(zk_registered_update, zk_registered_updates, ZK_N_REGISTERED_UPDATES)

const zk_registered_seal *zk_registered_seal_by_size_name(const char *name, size_t n) {
    for (size_t i = 0; i < ZK_N_REGISTERED_SEALS; i++)
        if (equal(zk_registered_seals[i].size_name, name, n)) return &zk_registered_seals[i];
    return NULL;
}

void zk_registered_seal_porep_id(uint8_t porep_id[32], const zk_registered_seal *seal) {
    memset(porep_id, 0, 32);
    for (unsigned i = 0; i < 4; i++) porep_id[i] = (uint8_t)(seal->number >> 8 * i);
}

/* Zeros for a size that has no circuit: callers have checked. */
static zk_opening_shape tree_of(uint64_t sector_bytes) {
    zk_opening_shape tree = {0};
    return zk_opening_shape_get(&tree, sector_bytes, NULL) == CUZK_OK ? tree : (zk_opening_shape){0};
}

static void identifier(char out[ZK_IDENTIFIER_MAX], const char *prefix, uint64_t sector_bytes, const char *hasher,
                       const char *text) {
    zk_opening_shape tree = tree_of(sector_bytes);
    uint8_t digest[32];
    zk_sha256(digest, text, strlen(text));
    char hex[65];
    zk_hex_encode(hex, digest, sizeof digest);
    snprintf(out, ZK_IDENTIFIER_MAX, "%s-merkletree-poseidon_hasher-8-%u-%u%s-%s", prefix, tree.sub_arity,
             tree.top_arity, hasher, hex);
}

void zk_porep_identifier(char out[ZK_IDENTIFIER_MAX], uint64_t sector_bytes) {
    char text[512];
    zk_opening_shape tree = tree_of(sector_bytes);
    bool large = sector_bytes >= GIB(32);
    snprintf(text, sizeof text,
             "layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{expansion_degree: 8 base_graph: "
             "drgraph::BucketGraph{size: %llu; degree: 6; hasher: poseidon_hasher} }, challenges: LayerChallenges { "
             "layers: %u, max_count: %u }, tree: merkletree-poseidon_hasher-8-%u-%u }",
             (unsigned long long)(sector_bytes / 32), large ? 11 : 2, large ? 18 : 2, tree.sub_arity, tree.top_arity);
    identifier(out, "stacked-proof-of-replication", sector_bytes, "-sha256_hasher", text);
}

void zk_post_identifier(char out[ZK_IDENTIFIER_MAX], const zk_registered_post *post) {
    char text[160];
    snprintf(text, sizeof text, "FallbackPoSt::PublicParams{sector_size: %llu, challenge_count: %u, sector_count: %u}",
             (unsigned long long)post->sector_bytes, post->circuit_n_challenges, post->circuit_n_sectors);
    identifier(out, "proof-of-spacetime-fallback", post->sector_bytes, "", text);
}

void zk_update_identifier(char out[ZK_IDENTIFIER_MAX], uint64_t sector_bytes) {
    char text[96];
    snprintf(text, sizeof text, "empty_sector_update::PublicParams{ sector_nodes: %llu }",
             (unsigned long long)(sector_bytes / 32));
    identifier(out, "empty-sector-update", sector_bytes, "", text);
}

void zk_parameter_file_name(char out[ZK_IDENTIFIER_MAX + 16], const char *id, const char *suffix) {
    snprintf(out, ZK_IDENTIFIER_MAX + 16, "v28-%s%s", id, suffix);
}
