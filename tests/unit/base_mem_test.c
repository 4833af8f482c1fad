/* Allocation failures, arena, named memory, layouts, deferred freeing. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/retire.h"
#include "base/span.h"
#include "zk_test.h"

static void test_alloc_nth(void) {
    zk_alloc_fail_nth(3);
    void *a = zk_malloc(1), *b = zk_calloc(2, 3), *c = zk_malloc(1), *d = zk_malloc(0);
    ZK_CHECK(a && b && !c && d && zk_alloc_failed());
    zk_alloc_fail_nth(1);
    ZK_CHECK(!zk_alloc_failed());
    void *same = zk_realloc(a, 100);
    ZK_CHECK(same == NULL && zk_alloc_failed());
    zk_alloc_fail_nth(0);
    a = zk_realloc(a, 100);
    ZK_CHECK(a && !zk_alloc_failed());
    volatile size_t huge = SIZE_MAX / 2;
    void *over = zk_calloc(huge, 3);
    ZK_CHECK(over == NULL);
    char *copy = zk_strdup("text");
    ZK_CHECK(copy && strcmp(copy, "text") == 0);
    free(a), free(b), free(d), free(copy);
}

static void test_grow(void) {
    uint32_t *array = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        ZK_CHECK(zk_grow((void **)&array, &capacity, i + 1, sizeof *array) && capacity > i);
        array[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++) ZK_CHECK(array[i] == i);
    size_t before = capacity;
    ZK_CHECK(!zk_grow((void **)&array, &capacity, SIZE_MAX / 2, sizeof *array) && capacity == before &&
             array[999] == 999);
    zk_alloc_fail_nth(1);
    ZK_CHECK(zk_grow((void **)&array, &capacity, 5, sizeof *array)); /* there is room: no allocation */
    ZK_CHECK(!zk_grow((void **)&array, &capacity, before + 1, sizeof *array) && array[999] == 999);
    zk_alloc_fail_nth(0);
    free(array);
}

static void test_arena(void) {
    zk_arena arena = {0};
    uint64_t seed = 1;
    uint8_t *blocks[500];
    size_t sizes[500];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 500; i++) {
            size_t alignment = (size_t)1 << zk_test_rand(&seed) % 13;
            sizes[i] = i % 50 == 7 ? 100000 : zk_test_rand(&seed) % 200;
            blocks[i] = zk_arena_alloc_aligned(&arena, sizes[i], alignment);
            ZK_CHECK(blocks[i] && (uintptr_t)blocks[i] % alignment == 0);
            memset(blocks[i], i, sizes[i]);
        }
        for (int i = 0; i < 500; i++)
            for (size_t k = 0; k < sizes[i]; k++) ZK_CHECK(blocks[i][k] == (uint8_t)i);
        zk_arena_free(&arena);
        ZK_CHECK(arena.held_bytes == 0);
    }
    char *text = zk_arena_text(&arena, "hello world", 5);
    ZK_CHECK(text && strcmp(text, "hello") == 0 && (uintptr_t)zk_arena_alloc(&arena, 1) % 16 == 0);
    uint32_t *zeros = zk_arena_calloc(&arena, 100, 4);
    for (int i = 0; i < 100; i++) ZK_CHECK(zeros[i] == 0);
    ZK_CHECK(zk_arena_calloc(&arena, SIZE_MAX / 2, 4) == NULL && zk_arena_alloc(&arena, SIZE_MAX) == NULL);
    ZK_CHECK(zk_arena_text(&arena, "", SIZE_MAX) == NULL && strcmp(text, "hello") == 0);
    zk_arena_free(&arena);
}

static void test_arena_marks(void) {
    zk_arena arena = {0};
    zk_arena_mark empty = zk_arena_get_mark(&arena);
    uint8_t *a = zk_arena_alloc(&arena, 100);
    memset(a, 1, 100);
    zk_arena_mark mark = zk_arena_get_mark(&arena);
    size_t held = arena.held_bytes;
    uint8_t *b = zk_arena_alloc(&arena, 64);
    for (int i = 0; i < 1000; i++) ZK_CHECK(zk_arena_alloc(&arena, 1000));
    ZK_CHECK(arena.held_bytes > 1000000);
    zk_arena_rollback(&arena, mark);
    ZK_CHECK(arena.held_bytes == held);
    uint8_t *again = zk_arena_alloc(&arena, 64);
    memset(again, 2, 64);
#ifndef ZK_ARENA_DEBUG
    ZK_CHECK(again == b);
#else
    (void)b;
#endif
    for (int i = 0; i < 100; i++) ZK_CHECK(a[i] == 1);
    zk_arena_rollback(&arena, empty);
    ZK_CHECK(arena.held_bytes == 0 && arena.top == NULL);
}

static void test_arena_limit(void) {
    zk_arena arena = {.max_bytes = 20000};
    size_t n = 0;
    while (zk_arena_alloc(&arena, 100)) n++;
    ZK_CHECK(n > 150 && n <= 200 && arena.held_bytes <= 20000);
    zk_arena_free(&arena);
    ZK_CHECK(zk_arena_alloc(&arena, 20001) == NULL && zk_arena_alloc(&arena, 19000) != NULL);
    zk_alloc_fail_nth(1);
    arena.max_bytes = 0;
    ZK_CHECK(zk_arena_alloc(&arena, 50000) == NULL && zk_arena_alloc(&arena, 50000) != NULL);
    zk_alloc_fail_nth(0);
    zk_arena_free(&arena);
}

static zk_mem_row row_named(const char *name) {
    zk_mem_row rows[64] = {{0}};
    size_t n = zk_mem_rows(rows, 64);
    for (size_t i = 0; i < n && i < 64; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i];
    return (zk_mem_row){0};
}

static void test_mem(void) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 1048575, 1048576, 1048577, 2097152, 2097153, 200000000};
    uint64_t before = zk_mem_current_bytes();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        cuzk_err err = {0};
        void *block;
        ZK_CHECK_OK(zk_mem_alloc(&block, "test block", n, &err), err);
        uint8_t *p = block;
        ZK_CHECK((uintptr_t)p % (n >= 1048576 ? 2097152 : 64) == 0);
        for (size_t k = 0; k < n; k += k < 100 ? 1 : 40961) ZK_CHECK(p[k] == 0);
        if (n) p[0] = p[n / 2] = p[n - 1] = 1;
        ZK_CHECK(zk_mem_current_bytes() == before + n && zk_mem_block_bytes(block) == n);
        ZK_CHECK(strcmp(zk_mem_block_name(block), "test block") == 0);
        zk_mem_row row = row_named("test block");
        ZK_CHECK(row.current_bytes == n && row.peak_bytes == n && row.n_blocks == 1 && row.n_allocations == i + 1);
        zk_mem_free(block);
        ZK_CHECK(zk_mem_current_bytes() == before && row_named("test block").n_blocks == 0);
    }
    zk_mem_free(NULL);
    int stranger;
    ZK_CHECK(zk_mem_block_bytes(&stranger) == 0 && zk_mem_block_name(&stranger) == NULL);
    cuzk_err err = {0};
    void *block;
    ZK_CHECK(zk_mem_alloc(&block, "far too much", SIZE_MAX - 100, &err) == CUZK_OUT_OF_MEMORY && block == NULL);
    ZK_CHECK(strstr(err.message, "far too much: no memory for 1844674407"));
    zk_err_reset(&err);
    ZK_CHECK(zk_mem_alloc(&block, "far too much", (size_t)1 << 62, &err) == CUZK_OUT_OF_MEMORY);
}

static void test_mem_peaks(void) {
    cuzk_err err = {0};
    void *a, *b, *c;
    uint64_t before = zk_mem_current_bytes();
    zk_mem_reset_peak();
    ZK_CHECK(zk_mem_peak_bytes() == before);
    ZK_CHECK_OK(zk_mem_alloc(&a, "peak x", 1000, &err), err);
    ZK_CHECK_OK(zk_mem_alloc(&b, "peak y", 500, &err), err);
    zk_mem_free(a);
    ZK_CHECK_OK(zk_mem_alloc(&c, "peak y", 300, &err), err);
    ZK_CHECK(zk_mem_peak_bytes() == before + 1500 && row_named("peak x").peak_bytes == 1000);
    ZK_CHECK(row_named("peak y").current_bytes == 800 && row_named("peak y").n_blocks == 2);
    zk_mem_free(b);
    zk_mem_free(c);
    zk_mem_reset_peak();
    ZK_CHECK(zk_mem_peak_bytes() == before && row_named("peak y").peak_bytes == 0);
    ZK_CHECK(zk_mem_current_bytes() == before);
}

static void test_mem_failures(void) {
    uint64_t before = zk_mem_current_bytes();
    for (int large = 0; large < 2; large++)
        for (uint64_t nth = 1;; nth++) {
            cuzk_err err = {0};
            void *block;
            char name[32]; /* a new name each time, so that its row is allocated too */
            snprintf(name, sizeof name, "nth %d %d", large, (int)nth);
            zk_alloc_fail_nth(nth);
            cuzk_status status = zk_mem_alloc(&block, name, large ? 3000000 : 100, &err);
            bool failed = zk_alloc_failed();
            zk_alloc_fail_nth(0);
            ZK_CHECK((status == CUZK_OUT_OF_MEMORY) == failed && (block == NULL) == failed);
            zk_mem_free(block);
            ZK_CHECK(zk_mem_current_bytes() == before);
            if (!failed) {
                ZK_CHECK(nth == 4);
                break;
            }
        }
}

static void *mem_thread(void *arg) {
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    void *blocks[20] = {0};
    for (int i = 0; i < 2000; i++) {
        size_t k = zk_test_rand(&seed) % 20;
        zk_mem_free(blocks[k]);
        size_t n = zk_test_rand(&seed) % 5000;
        if (zk_mem_alloc(&blocks[k], "threads", n, NULL) != CUZK_OK || zk_mem_block_bytes(blocks[k]) != n) return arg;
    }
    for (int i = 0; i < 20; i++) zk_mem_free(blocks[i]);
    return NULL;
}

static void test_mem_threads(void) {
    pthread_t threads[4];
    uint64_t before = zk_mem_current_bytes();
    for (uintptr_t i = 0; i < 4; i++) ZK_CHECK(pthread_create(&threads[i], NULL, mem_thread, (void *)(i + 1)) == 0);
    bool bad = false;
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        bad |= result != NULL;
    }
    ZK_CHECK(!bad && zk_mem_current_bytes() == before && row_named("threads").n_blocks == 0);
}

/* ---- layouts ---- */

typedef struct buffers {
    uint8_t *a;
    uint64_t *b, *none;
    char *c;
    void *page;
} buffers;

static void sample_layout(zk_layout *l, buffers *b, size_t n) {
    b->a = zk_layout_take(l, "a", n, 1, 1);
    b->b = zk_layout_take(l, "b", n + 3, sizeof *b->b, 64);
    b->none = zk_layout_take(l, "none", 0, sizeof *b->none, 64);
    b->c = zk_layout_take(l, "c", 5, 1, 1);
    b->page = zk_layout_take(l, "page", 2, 100, 4096);
}

static void test_layout_measure_is_deal(void) {
    for (size_t n = 0; n < 300; n += 1 + n / 7) {
        zk_layout_row measured[8], dealt[8];
        zk_layout l = {.rows = measured, .max_rows = 8};
        buffers b;
        cuzk_err err = {0};
        sample_layout(&l, &b, n);
        ZK_CHECK(!b.a && !b.b && !b.none && !b.c && !b.page && l.n_rows == 5 && l.alignment == 4096);
        size_t n_bytes = l.n_bytes;
        void *block;
        ZK_CHECK_OK(zk_layout_alloc(&block, &l, "layout", &err), err);
        ZK_CHECK(zk_layout_check(&l, NULL) == CUZK_INTERNAL); /* nothing dealt out yet */
        l.rows = dealt;
        sample_layout(&l, &b, n);
        ZK_CHECK_OK(zk_layout_check(&l, &err), err);
        ZK_CHECK(l.n_bytes == n_bytes && memcmp(measured, dealt, 5 * sizeof *dealt) == 0);
        ZK_CHECK((b.a != NULL) == (n > 0) && !b.none && (uintptr_t)b.b % 64 == 0 && (uintptr_t)b.page % 4096 == 0);
        ZK_CHECK((uint8_t *)b.page + 200 == (uint8_t *)block + n_bytes);
        if (n) memset(b.a, 1, n);
        memset(b.b, 2, (n + 3) * 8);
        memset(b.c, 3, 5);
        memset(b.page, 4, 200);
        for (size_t i = 0; i < n; i++) ZK_CHECK(b.a[i] == 1);
        for (size_t i = 0; i < n + 3; i++) ZK_CHECK(b.b[i] == 0x0202020202020202u);
        ZK_CHECK(b.c[4] == 3);
        sample_layout(&l, &b, n); /* beyond the block */
        ZK_CHECK(l.failed && !b.page && zk_layout_check(&l, NULL) == CUZK_INTERNAL);
        zk_mem_free(block);
    }
}

static void test_layout_failures(void) {
    cuzk_err err = {0};
    zk_layout l = {0};
    void *block;
    zk_layout_take(&l, "big", SIZE_MAX / 4, 8, 64);
    ZK_CHECK(l.failed && zk_layout_alloc(&block, &l, "overflow", &err) == CUZK_OUT_OF_MEMORY && !block);
    l = (zk_layout){0};
    zk_layout_take(&l, "x", SIZE_MAX - 10, 1, 1);
    zk_layout_take(&l, "y", 1, 1, 64);
    ZK_CHECK(l.failed);
    l = (zk_layout){0};
    zk_layout_take(&l, "x", 10, 1, 64);
    _Alignas(64) uint8_t memory[128];
    zk_layout m = l;
    zk_layout_deal(&m, memory + 1, 100);
    ZK_CHECK(m.failed && zk_layout_take(&m, "x", 1, 1, 1) == NULL);
    m = l;
    zk_layout_deal(&m, memory, 10);
    ZK_CHECK(zk_layout_take(&m, "x", 10, 1, 64) == memory && zk_layout_check(&m, NULL) == CUZK_OK);
    m = l;
    zk_layout_deal(&m, NULL, 10);
    ZK_CHECK(m.failed);
    l = (zk_layout){0};
    zk_layout_take(&l, "x", 10, 1, 64);
    zk_alloc_fail_nth(1);
    zk_err_reset(&err);
    ZK_CHECK(zk_layout_alloc(&block, &l, "nth", &err) == CUZK_OUT_OF_MEMORY && !block);
    zk_alloc_fail_nth(0);
}

/* ---- retire ---- */

static atomic_int n_released, fence_open;
static atomic_bool slow;

static void count_release(void *ctx) {
    (void)ctx;
    if (slow) usleep(1000);
    atomic_fetch_add(&n_released, 1);
}

static bool fence(void *ctx) {
    (void)ctx;
    return atomic_load(&fence_open);
}

static void give(zk_retire *r, size_t n_bytes, bool with_fence) {
    zk_retire_give(r, &(zk_retire_item){"item", n_bytes, count_release, NULL, with_fence ? fence : NULL, NULL});
}

static zk_retire *new_retire(size_t max_items, uint64_t max_bytes) {
    cuzk_err err = {0};
    zk_retire *r;
    n_released = fence_open = 0;
    slow = false;
    ZK_CHECK_OK(zk_retire_create(&r, max_items, max_bytes, &err), err);
    return r;
}

static void test_retire_drains(void) {
    zk_retire *r = new_retire(0, 0);
    slow = true;
    for (int i = 0; i < 50; i++) give(r, 10, false);
    zk_retire_drain(r);
    ZK_CHECK(n_released == 50);
    zk_retire_stats s = zk_retire_get_stats(r);
    ZK_CHECK(s.n_pending == 0 && s.pending_bytes == 0 && s.n_released == 50 && s.released_bytes == 500 &&
             s.n_inline == 0);
    ZK_CHECK(s.release_ns >= 50 * 1000000u && s.peak_pending_bytes >= 10 && s.peak_pending_bytes <= 500);
    zk_retire_drain(r);
    for (int i = 0; i < 20; i++) give(r, 10, false);
    zk_retire_destroy(r); /* drains too */
    ZK_CHECK(n_released == 70);
    zk_retire_destroy(NULL);
    zk_retire_drain(NULL);
}

static void test_retire_fences(void) {
    zk_retire *r = new_retire(0, 0);
    give(r, 1, true);
    give(r, 2, false); /* overtakes the one that waits */
    give(r, 4, true);
    for (int i = 0; i < 300000 && n_released < 1; i++) usleep(1000);
    usleep(5000);
    ZK_CHECK(n_released == 1 && zk_retire_get_stats(r).pending_bytes == 5);
    fence_open = 1;
    zk_retire_drain(r);
    ZK_CHECK(n_released == 3 && zk_retire_get_stats(r).released_bytes == 7);
    zk_retire_destroy(r);
}

static void test_retire_bounds(void) {
    zk_retire *r = new_retire(3, 100);
    give(r, 1000, true); /* larger than the bound, but alone */
    give(r, 1, false);   /* no room: released here */
    ZK_CHECK(n_released == 1 && zk_retire_get_stats(r).n_inline == 1);
    fence_open = 1;
    zk_retire_drain(r);
    fence_open = 0;
    for (int i = 0; i < 3; i++) give(r, 30, true);
    ZK_CHECK(n_released == 2 && zk_retire_get_stats(r).n_pending == 3);
    give(r, 1, false); /* three items are there */
    ZK_CHECK(n_released == 3);
    zk_retire_stats s = zk_retire_get_stats(r);
    ZK_CHECK(s.n_inline == 2 && s.inline_bytes == 2 && s.pending_bytes == 90 && s.peak_pending_bytes == 1000);
    fence_open = 1;
    zk_retire_drain(r);
    give(NULL, 1, true);
    zk_alloc_fail_nth(1);
    give(r, 1, true); /* no entry to be had */
    zk_alloc_fail_nth(0);
    ZK_CHECK(n_released == 8 && zk_retire_get_stats(r).n_inline == 3);
    zk_retire_destroy(r);
    cuzk_err err = {0};
    zk_alloc_fail_nth(1);
    ZK_CHECK(zk_retire_create(&r, 0, 0, &err) == CUZK_OUT_OF_MEMORY && r == NULL);
    zk_alloc_fail_nth(0);
}

static void test_retire_memory(void) {
    zk_retire *r = new_retire(0, 0);
    cuzk_err err = {0};
    uint64_t before = zk_mem_current_bytes();
    fence_open = 0;
    for (int i = 0; i < 10; i++) {
        void *block;
        ZK_CHECK_OK(zk_mem_alloc(&block, "retired", 3000000, &err), err);
        memset(block, 1, 3000000);
        zk_retire_mem(r, block);
        zk_retire_give(r, &(zk_retire_item){"small", 10, free, malloc(10), NULL, NULL});
    }
    zk_retire_mem(r, NULL);
    zk_retire_drain(r);
    ZK_CHECK(zk_mem_current_bytes() == before);
    ZK_CHECK(zk_retire_get_stats(r).released_bytes == 10 * 3000000u + 100);
    zk_retire_destroy(r);
}

static void *retire_thread(void *arg) {
    for (int i = 0; i < 500; i++) {
        give(arg, 10, i % 3 == 0);
        if (i % 100 == 50) zk_retire_drain(arg);
    }
    return NULL;
}

static void test_retire_threads(void) {
    zk_retire *r = new_retire(20, 150);
    fence_open = 1;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) ZK_CHECK(pthread_create(&threads[i], NULL, retire_thread, r) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    zk_retire_drain(r);
    zk_retire_stats s = zk_retire_get_stats(r);
    ZK_CHECK(n_released == 2000 && s.n_released + s.n_inline == 2000 && s.peak_pending_bytes <= 150 &&
             s.n_pending == 0);
    zk_retire_destroy(r);
}

ZK_TEST_MAIN(ZK_CASE(test_alloc_nth), ZK_CASE(test_grow), ZK_CASE(test_arena), ZK_CASE(test_arena_marks),
             ZK_CASE(test_arena_limit), ZK_CASE(test_mem), ZK_CASE(test_mem_peaks), ZK_CASE(test_mem_failures),
             ZK_CASE(test_mem_threads), ZK_CASE(test_layout_measure_is_deal), ZK_CASE(test_layout_failures),
             ZK_CASE(test_retire_drains), ZK_CASE(test_retire_fences), ZK_CASE(test_retire_bounds),
             ZK_CASE(test_retire_memory), ZK_CASE(test_retire_threads))
