#include "base/arena.h"

#include <string.h>

#include "base/alloc.h"

struct zk_arena_chunk {
    zk_arena_chunk *below;
    size_t n_used, n_bytes; /* of data */
    _Alignas(16) uint8_t data[];
};

#define FIRST_CHUNK_BYTES 4096
#define MAX_CHUNK_BYTES ((size_t)4 << 20)

static void *take(zk_arena_chunk *chunk, size_t n_bytes, size_t alignment) {
    uintptr_t base = (uintptr_t)chunk->data, at = base + chunk->n_used;
    size_t start = chunk->n_used + (size_t)(-at & (alignment - 1));
    if (start > chunk->n_bytes || chunk->n_bytes - start < n_bytes) return NULL;
    chunk->n_used = start + n_bytes;
    return chunk->data + start;
}

void *zk_arena_alloc_aligned(zk_arena *arena, size_t n_bytes, size_t alignment) {
    zk_arena_chunk *top = arena->top;
    size_t wanted, total;
#ifdef ZK_ARENA_DEBUG
    if (!zk_add_size(&wanted, n_bytes, alignment > 16 ? alignment : 0)) return NULL;
#else
    void *block = top ? take(top, n_bytes, alignment) : NULL;
    if (block) return block;
    if (!zk_add_size(&wanted, n_bytes, alignment)) return NULL;
    /* Chunks double, so that n blocks cost O(log n) trips to the system. */
    size_t grown = top ? 2 * top->n_bytes : FIRST_CHUNK_BYTES;
    if (grown > MAX_CHUNK_BYTES) grown = MAX_CHUNK_BYTES;
    if (arena->max_bytes && arena->held_bytes < arena->max_bytes) {
        size_t left = arena->max_bytes - arena->held_bytes;
        if (grown > left) grown = left;
    }
    if (wanted < grown) wanted = grown;
#endif
    if (!zk_add_size(&total, arena->held_bytes, wanted) || (arena->max_bytes && total > arena->max_bytes)) return NULL;
    if (wanted > SIZE_MAX - sizeof(zk_arena_chunk)) return NULL;
    zk_arena_chunk *chunk = zk_malloc(sizeof *chunk + wanted);
    if (!chunk) return NULL;
    chunk->below = top;
    chunk->n_used = 0;
    chunk->n_bytes = wanted;
    arena->top = chunk;
    arena->held_bytes = total;
    return take(chunk, n_bytes, alignment);
}

void *zk_arena_alloc(zk_arena *arena, size_t n_bytes) { return zk_arena_alloc_aligned(arena, n_bytes, 16); }

void *zk_arena_calloc(zk_arena *arena, size_t n, size_t elem_bytes) {
    size_t n_bytes;
    if (!zk_mul_size(&n_bytes, n, elem_bytes)) return NULL;
    void *block = zk_arena_alloc(arena, n_bytes);
    if (block) memset(block, 0, n_bytes);
    return block;
}

char *zk_arena_text(zk_arena *arena, const char *text, size_t n) {
    if (n == SIZE_MAX) return NULL;
    char *copy = zk_arena_alloc_aligned(arena, n + 1, 1);
    if (!copy) return NULL;
    if (n) memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

zk_arena_mark zk_arena_get_mark(const zk_arena *arena) {
    return (zk_arena_mark){arena->top, arena->top ? arena->top->n_used : 0};
}

void zk_arena_rollback(zk_arena *arena, zk_arena_mark mark) {
    while (arena->top != mark.top) {
        zk_arena_chunk *chunk = arena->top;
        arena->top = chunk->below;
        arena->held_bytes -= chunk->n_bytes;
        free(chunk);
    }
    if (arena->top) {
#ifdef ZK_VERIFY
        memset(arena->top->data + mark.n_used, 0xa5, arena->top->n_used - mark.n_used);
#endif
        arena->top->n_used = mark.n_used;
    }
}

void zk_arena_free(zk_arena *arena) { zk_arena_rollback(arena, (zk_arena_mark){NULL, 0}); }
