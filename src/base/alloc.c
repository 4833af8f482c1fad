#include "base/alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_bool armed; /* keeps the counter out of the common path */
static atomic_bool failed;
static _Atomic uint64_t countdown;

void zk_alloc_fail_nth(uint64_t nth) {
    atomic_store(&armed, false);
    atomic_store(&failed, false);
    atomic_store(&countdown, nth);
    atomic_store(&armed, nth != 0);
}

bool zk_alloc_failed(void) { return atomic_load(&failed); }

bool zk_alloc_should_fail(void) {
    if (!atomic_load_explicit(&armed, memory_order_relaxed)) return false;
    if (atomic_fetch_sub(&countdown, 1) != 1) return false;
    atomic_store(&armed, false);
    atomic_store(&failed, true);
    errno = ENOMEM; /* as the allocator would */
    return true;
}

/* Refused here rather than by the allocator: sanitizers take an impossible size for a bug of the program. */
static bool impossible(size_t n_bytes) { return n_bytes > PTRDIFF_MAX; }

void *zk_malloc(size_t n_bytes) {
    if (impossible(n_bytes) || zk_alloc_should_fail()) return NULL;
    return malloc(n_bytes ? n_bytes : 1);
}

void *zk_calloc(size_t n, size_t elem_bytes) {
    size_t n_bytes;
    if (!zk_mul_size(&n_bytes, n, elem_bytes) || impossible(n_bytes) || zk_alloc_should_fail()) return NULL;
    return calloc(1, n_bytes ? n_bytes : 1);
}

void *zk_realloc(void *block, size_t n_bytes) {
    if (impossible(n_bytes) || zk_alloc_should_fail()) return NULL;
    return realloc(block, n_bytes ? n_bytes : 1);
}

char *zk_strdup(const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = zk_malloc(n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

char *zk_asprintf(const char *format, ...) {
    char *text = NULL;
    va_list args;
    if (zk_alloc_should_fail()) return NULL;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

bool zk_grow(void **array, size_t *capacity, size_t n, size_t elem_bytes) {
    if (n <= *capacity) return true;
    size_t wanted = *capacity + *capacity / 2, n_bytes;
    if (wanted < n) wanted = n;
    if (wanted < 16) wanted = 16;
    if (!zk_mul_size(&n_bytes, wanted, elem_bytes)) return false;
    void *grown = zk_realloc(*array, n_bytes);
    if (!grown) return false;
    *array = grown;
    *capacity = wanted;
    return true;
}
