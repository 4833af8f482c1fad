#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/numa.h"

#define MAP_FROM_BYTES ((size_t)1 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define RELEASE_SLICE_BYTES ((size_t)64 << 20)
#define SMALL_ALIGNMENT 64

typedef struct name_row {
    struct name_row *next; /* in order of first use */
    uint64_t current, peak, n_blocks, n_allocations;
    char name[];
} name_row;

typedef struct block {
    struct block *next; /* in its bucket */
    void *data;
    size_t n_bytes, mapped_bytes; /* mapped_bytes 0: from the C allocator */
    name_row *row;
} block;

#define N_BUCKETS 1024

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards everything below */
static name_row *names, *last_name;
static block *buckets[N_BUCKETS];
static uint64_t current_bytes, peak_bytes;

static block **bucket_of(const void *data) {
    uint64_t h = (uint64_t)(uintptr_t)data >> 6;
    return &buckets[h * 0x9e3779b97f4a7c15u >> 54];
}

static name_row *row_of(const char *name) {
    for (name_row *row = names; row; row = row->next)
        if (strcmp(row->name, name) == 0) return row;
    size_t n = strlen(name) + 1;
    name_row *row = zk_calloc(1, sizeof *row + n);
    if (!row) return NULL;
    memcpy(row->name, name, n);
    if (last_name)
        last_name->next = row;
    else
        names = row;
    last_name = row;
    return row;
}

static void debit(name_row *row, uint64_t n_bytes) {
    row->current += n_bytes;
    row->n_blocks++;
    row->n_allocations++;
    if (row->current > row->peak) row->peak = row->current;
    current_bytes += n_bytes;
    if (current_bytes > peak_bytes) peak_bytes = current_bytes;
}

static void credit(name_row *row, uint64_t n_bytes) {
    if (n_bytes > row->current) n_bytes = row->current;
    row->current -= n_bytes;
    if (row->n_blocks) row->n_blocks--;
    current_bytes -= n_bytes;
}

static void *map_block(size_t n_bytes, size_t *mapped_bytes, bool shared) {
    size_t padded, rounded;
    if (!zk_add_size(&rounded, n_bytes, HUGE_PAGE_BYTES - 1)) return NULL;
    rounded &= ~(HUGE_PAGE_BYTES - 1);
    if (!zk_add_size(&padded, rounded, HUGE_PAGE_BYTES)) return NULL;
    uint8_t *area = mmap(NULL, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) return NULL;
    size_t before = (size_t)(-(uintptr_t)area & (HUGE_PAGE_BYTES - 1)), after = HUGE_PAGE_BYTES - before;
    if (before) munmap(area, before);
    if (after) munmap(area + before + rounded, after);
    madvise(area + before, rounded, MADV_HUGEPAGE); /* a wish: kernels without huge pages refuse it */
    zk_numa_place(area + before, rounded, shared);
    *mapped_bytes = rounded;
    return area + before;
}

static cuzk_status alloc_block(void **out, const char *name, size_t n_bytes, bool shared, cuzk_err *err) {
    *out = NULL;
    block *b = zk_calloc(1, sizeof *b);
    if (!b) goto no_memory;
    b->n_bytes = n_bytes;
    if (!zk_alloc_should_fail()) {
        if (n_bytes >= MAP_FROM_BYTES) {
            b->data = map_block(n_bytes, &b->mapped_bytes, shared);
        } else {
            size_t rounded = (n_bytes + SMALL_ALIGNMENT) & ~(size_t)(SMALL_ALIGNMENT - 1);
            b->data = aligned_alloc(SMALL_ALIGNMENT, rounded);
            if (b->data) memset(b->data, 0, rounded);
        }
    }
    if (!b->data) goto no_memory;
    pthread_mutex_lock(&mutex);
    b->row = row_of(name);
    if (b->row) {
        debit(b->row, n_bytes);
        b->next = *bucket_of(b->data);
        *bucket_of(b->data) = b;
    }
    pthread_mutex_unlock(&mutex);
    if (!b->row) goto no_memory;
    *out = b->data;
    return CUZK_OK;
no_memory:
    if (b && b->mapped_bytes)
        munmap(b->data, b->mapped_bytes);
    else if (b)
        free(b->data);
    free(b);
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory for %zu bytes; %llu bytes are in use", name, n_bytes,
                   (unsigned long long)zk_mem_current_bytes());
}

cuzk_status zk_mem_alloc(void **out, const char *name, size_t n_bytes, cuzk_err *err) {
    return alloc_block(out, name, n_bytes, false, err);
}

cuzk_status zk_mem_alloc_shared(void **out, const char *name, size_t n_bytes, cuzk_err *err) {
    return alloc_block(out, name, n_bytes, true, err);
}

void zk_mem_free(void *data) {
    if (!data) return;
    pthread_mutex_lock(&mutex);
    block **at = bucket_of(data);
    while (*at && (*at)->data != data) at = &(*at)->next;
    block *b = *at;
    if (b) *at = b->next;
    pthread_mutex_unlock(&mutex);
    if (!b) return;
    if (b->mapped_bytes) {
        /* Emptied slice by slice first: one munmap of many gigabytes would keep every other thread of the process from
         * taking page faults for as long as it lasts. */
        for (size_t i = 0; b->mapped_bytes > RELEASE_SLICE_BYTES && i < b->mapped_bytes; i += RELEASE_SLICE_BYTES)
            madvise((uint8_t *)data + i, zk_min_size(RELEASE_SLICE_BYTES, b->mapped_bytes - i), MADV_DONTNEED);
        munmap(data, b->mapped_bytes);
    } else {
        free(data);
    }
    pthread_mutex_lock(&mutex);
    credit(b->row, b->n_bytes);
    pthread_mutex_unlock(&mutex);
    free(b);
}

static const block *find(const void *data) {
    const block *b = *bucket_of(data);
    while (b && b->data != data) b = b->next;
    return b;
}

size_t zk_mem_block_bytes(const void *data) {
    pthread_mutex_lock(&mutex);
    const block *b = find(data);
    size_t n = b ? b->n_bytes : 0;
    pthread_mutex_unlock(&mutex);
    return n;
}

const char *zk_mem_block_name(const void *data) {
    pthread_mutex_lock(&mutex);
    const block *b = find(data);
    const char *name = b ? b->row->name : NULL;
    pthread_mutex_unlock(&mutex);
    return name;
}

uint64_t zk_mem_current_bytes(void) {
    pthread_mutex_lock(&mutex);
    uint64_t n = current_bytes;
    pthread_mutex_unlock(&mutex);
    return n;
}

uint64_t zk_mem_peak_bytes(void) {
    pthread_mutex_lock(&mutex);
    uint64_t n = peak_bytes;
    pthread_mutex_unlock(&mutex);
    return n;
}

void zk_mem_reset_peak(void) {
    pthread_mutex_lock(&mutex);
    peak_bytes = current_bytes;
    for (name_row *row = names; row; row = row->next) row->peak = row->current;
    pthread_mutex_unlock(&mutex);
}

size_t zk_mem_rows(zk_mem_row *rows, size_t n_rows) {
    size_t n = 0;
    pthread_mutex_lock(&mutex);
    for (const name_row *row = names; row; row = row->next, n++)
        if (n < n_rows) rows[n] = (zk_mem_row){row->name, row->current, row->peak, row->n_blocks, row->n_allocations};
    pthread_mutex_unlock(&mutex);
    return n;
}

/* ---- layouts ---- */

void *zk_layout_take(zk_layout *layout, const char *name, size_t n_elems, size_t elem_bytes, size_t alignment) {
    size_t n_bytes, offset, end;
    if (layout->failed) return NULL;
    if (!zk_mul_size(&n_bytes, n_elems, elem_bytes) || !zk_add_size(&offset, layout->n_bytes, alignment - 1) ||
        !zk_add_size(&end, offset &= ~(alignment - 1), n_bytes) || (layout->base && end > layout->capacity)) {
        layout->failed = true;
        return NULL;
    }
    if (layout->n_rows < layout->max_rows && layout->rows)
        layout->rows[layout->n_rows] = (zk_layout_row){name, n_elems, elem_bytes, alignment, offset};
    layout->n_rows++;
    layout->alignment = zk_max_size(layout->alignment, alignment);
    layout->n_bytes = end;
    return layout->base && n_bytes ? layout->base + offset : NULL;
}

void zk_layout_deal(zk_layout *layout, void *base, size_t n_bytes) {
    bool misaligned = layout->alignment && ((uintptr_t)base & (layout->alignment - 1)) != 0;
    *layout = (zk_layout){.base = base,
                          .capacity = n_bytes,
                          .failed = misaligned || !base || layout->failed,
                          .rows = layout->rows,
                          .max_rows = layout->max_rows};
}

cuzk_status zk_layout_alloc(void **out, zk_layout *layout, const char *name, cuzk_err *err) {
    *out = NULL;
    if (layout->failed || layout->base)
        return ZK_FAIL(err, layout->base ? CUZK_INTERNAL : CUZK_OUT_OF_MEMORY, "%s: %s", name,
                       layout->base ? "layout is not measured"
                                    : "the sum of the buffer sizes exceeds the address space");
    size_t n = layout->n_bytes, alignment = layout->alignment, taken = n;
    /* Small blocks are aligned to 64 bytes only: round those up to the mapped kind. */
    if (alignment > SMALL_ALIGNMENT && n < MAP_FROM_BYTES) taken = MAP_FROM_BYTES;
    ZK_TRY(zk_mem_alloc(out, name, taken, err));
    zk_layout_deal(layout, *out, n);
    return CUZK_OK;
}

cuzk_status zk_layout_check(const zk_layout *layout, cuzk_err *err) {
    if (!layout->failed && layout->base && layout->n_bytes == layout->capacity) return CUZK_OK;
    return ZK_FAIL(err, CUZK_INTERNAL, "layout: dealt out %zu bytes of %zu%s", layout->n_bytes, layout->capacity,
                   layout->failed ? ", then failed" : "");
}
