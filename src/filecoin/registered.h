/* The registered proof types: number, name, sector size and what follows from them. */
#ifndef ZK_FILECOIN_REGISTERED_H
#define ZK_FILECOIN_REGISTERED_H

#include "base/status.h"

typedef enum zk_api_version { ZK_API_1_0_0, ZK_API_1_1_0, ZK_API_1_2_0 } zk_api_version;
typedef enum zk_porep_feature { ZK_POREP_INTERACTIVE, ZK_POREP_SYNTHETIC, ZK_POREP_NON_INTERACTIVE } zk_porep_feature;

const char *zk_api_version_name(zk_api_version version); /* "1.0.0" ... */

/* Parameter files are called v28-<identifier>.params and .vk; several proof types share them. */
#define ZK_IDENTIFIER_MAX 160 /* with the final zero */

typedef struct zk_registered_seal {
    uint32_t number;
    const char *name;      /* as in C1 JSON and elsewhere, e.g. StackedDrg32GiBV1_1 */
    const char *size_name; /* member of vanilla_proofs: the name of the first version of this size */
    uint64_t sector_bytes;
    uint32_t n_partitions;
    uint32_t n_challenges; /* a partition */
    uint32_t n_layers;
    zk_api_version api_version;
    zk_porep_feature feature;
} zk_registered_seal;

#define ZK_N_REGISTERED_SEALS 20
extern const zk_registered_seal zk_registered_seals[ZK_N_REGISTERED_SEALS]; /* by number */

/* NULL if there is none. */
const zk_registered_seal *zk_registered_seal_by_number(uint64_t number);
const zk_registered_seal *zk_registered_seal_by_name(const char *name, size_t n);
/* The first registered type whose size has this member name in vanilla_proofs. */
const zk_registered_seal *zk_registered_seal_by_size_name(const char *name, size_t n);
/* number as u64 little-endian, nonce 0, zeros. */
void zk_registered_seal_porep_id(uint8_t porep_id[32], const zk_registered_seal *seal);

/* Name of the parameter files without "v28-" and suffix: a readable prefix, "-", hex SHA-256 of the parameters' text.
 */
void zk_porep_identifier(char out[ZK_IDENTIFIER_MAX], uint64_t sector_bytes);

typedef enum zk_post_kind { ZK_POST_WINNING, ZK_POST_WINDOW } zk_post_kind;

typedef struct zk_registered_post {
    uint32_t number;
    const char *name;
    zk_post_kind kind;
    uint64_t sector_bytes;
    zk_api_version api_version;
    uint32_t n_challenges;      /* a sector */
    uint32_t n_sectors;         /* a partition */
    uint32_t circuit_n_sectors; /* winning: 66 copies of the sector with one challenge each */
    uint32_t circuit_n_challenges;
} zk_registered_post;

#define ZK_N_REGISTERED_POSTS 15
extern const zk_registered_post zk_registered_posts[ZK_N_REGISTERED_POSTS]; /* by number */
const zk_registered_post *zk_registered_post_by_number(uint64_t number);
const zk_registered_post *zk_registered_post_by_name(const char *name, size_t n);
void zk_post_identifier(char out[ZK_IDENTIFIER_MAX], const zk_registered_post *post);

typedef struct zk_registered_update {
    uint32_t number;
    const char *name;
    uint64_t sector_bytes;
    uint32_t n_partitions;
    uint32_t n_challenges; /* a partition */
    uint32_t h;
} zk_registered_update;

#define ZK_N_REGISTERED_UPDATES 5
extern const zk_registered_update zk_registered_updates[ZK_N_REGISTERED_UPDATES]; /* by number */
const zk_registered_update *zk_registered_update_by_number(uint64_t number);
const zk_registered_update *zk_registered_update_by_name(const char *name, size_t n);
void zk_update_identifier(char out[ZK_IDENTIFIER_MAX], uint64_t sector_bytes);

/* "v28-" identifier suffix, for instance suffix ".params"; the same size bound holds with 16 bytes more. */
void zk_parameter_file_name(char out[ZK_IDENTIFIER_MAX + 16], const char *identifier, const char *suffix);

#endif
