/* The C allocator behind one door, so that tests can make the Nth allocation fail. Library code of all layers takes its
 * small memory here and its large buffers from mem.h; both count for the failure hook. Blocks are freed with free(). */
#ifndef ZK_BASE_ALLOC_H
#define ZK_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* NULL when there is no memory, the size overflows, or the hook says so. A size of 0 gives a block of one byte. */
void *zk_malloc(size_t n_bytes) __attribute__((malloc, alloc_size(1)));
void *zk_calloc(size_t n, size_t elem_bytes) __attribute__((malloc, alloc_size(1, 2))); /* zeroed */
void *zk_realloc(void *block, size_t n_bytes) __attribute__((alloc_size(2))); /* the old block stays on failure */
char *zk_strdup(const char *text) __attribute__((malloc));
char *zk_asprintf(const char *format, ...) __attribute__((malloc, format(printf, 1, 2)));

/* Makes room for n elements in a growing array: *capacity becomes at least n, growing by half. The array stays as it is
 * on failure. */
bool zk_grow(void **array, size_t *capacity, size_t n, size_t elem_bytes);

/* The nth allocation from now on (1: the next) in any thread fails, once; 0 disarms. For tests. */
void zk_alloc_fail_nth(uint64_t nth);
/* Whether the armed failure has happened since. */
bool zk_alloc_failed(void);
/* For other allocators: counts one allocation, true when it is to fail. */
bool zk_alloc_should_fail(void);

/* a * b or a + b without wrapping; false when it does not fit. */
static inline bool zk_mul_size(size_t *r, size_t a, size_t b) { return !__builtin_mul_overflow(a, b, r); }
static inline bool zk_add_size(size_t *r, size_t a, size_t b) { return !__builtin_add_overflow(a, b, r); }

#endif
