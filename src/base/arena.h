/* Arena: many small blocks with one lifetime, freed together or back to a mark. Not thread-safe. */
#ifndef ZK_BASE_ARENA_H
#define ZK_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zk_arena_chunk zk_arena_chunk;

/* Under the address sanitizer, or with ZK_ARENA_DEBUG defined for all files, each block is a chunk of its own, so that
 * memory checkers see its true bounds. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZK_ARENA_DEBUG 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ZK_ARENA_DEBUG 1
#endif

/* Zero-initialise; max_bytes 0 means no limit. The limit is on chunks taken from the system. */
typedef struct zk_arena {
    zk_arena_chunk *top;
    size_t max_bytes, held_bytes;
} zk_arena;

typedef struct zk_arena_mark {
    zk_arena_chunk *top;
    size_t n_used;
} zk_arena_mark;

/* Uninitialised block, aligned for every basic type (`_aligned`: a power of two up to 4096). NULL when memory or the
 * limit is exhausted; the arena stays usable. A block of 0 bytes is a valid pointer. */
void *zk_arena_alloc(zk_arena *arena, size_t n_bytes);
void *zk_arena_alloc_aligned(zk_arena *arena, size_t n_bytes, size_t alignment);
void *zk_arena_calloc(zk_arena *arena, size_t n, size_t elem_bytes); /* zeroed; NULL on overflow too */
/* Copy of n bytes with a zero byte behind them. */
char *zk_arena_text(zk_arena *arena, const char *text, size_t n);

zk_arena_mark zk_arena_get_mark(const zk_arena *arena);
/* Frees all blocks taken since the mark. */
void zk_arena_rollback(zk_arena *arena, zk_arena_mark mark);
/* Frees everything; the arena is empty and usable again. */
void zk_arena_free(zk_arena *arena);

#endif
