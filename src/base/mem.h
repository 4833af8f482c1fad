/* Large memory: every buffer has a name and is counted, and a stage's buffers are laid out by one table. */
#ifndef ZK_BASE_MEM_H
#define ZK_BASE_MEM_H

#include "base/status.h"

/* ---- named blocks (one account for the process, thread-safe) ---- */

/* A zero-filled block. From 1 MiB on it is mapped: 2 MiB aligned, huge pages asked for, physical memory taken at first
 * touch; smaller blocks are 64-byte aligned. n_bytes 0 gives a valid block. `name` is copied; a few dozen names are
 * meant ("msm buckets"), with the parts of one kind sharing a name. CUZK_OUT_OF_MEMORY says name and size. */
cuzk_status zk_mem_alloc(void **block, const char *name, size_t n_bytes, cuzk_err *err) ZK_MUST_USE;
/* The same for what all threads of a pool read, whoever wrote it (keys, tables, vectors): on a machine with several
 * nodes the pages of a mapped block lie on all of them in turn (numa.h), else on that of the thread that touches them
 * first. */
cuzk_status zk_mem_alloc_shared(void **block, const char *name, size_t n_bytes, cuzk_err *err) ZK_MUST_USE;
/* Only blocks of zk_mem_alloc and zk_mem_alloc_shared; NULL is fine. Returns after the memory is given back, and
 * credits the account then. Gigabytes take a while: see retire.h. */
void zk_mem_free(void *block);
size_t zk_mem_block_bytes(const void *block);     /* as asked for; 0 for NULL or a stranger */
const char *zk_mem_block_name(const void *block); /* valid for the process's life; NULL for a stranger */

typedef struct zk_mem_row {
    const char *name;
    uint64_t current_bytes, peak_bytes; /* each name's own peak; they need not have been reached together */
    uint64_t n_blocks, n_allocations;   /* now, ever */
} zk_mem_row;

uint64_t zk_mem_current_bytes(void);
uint64_t zk_mem_peak_bytes(void); /* of the sum over all names */
void zk_mem_reset_peak(void);     /* all peaks become the current values */
/* Fills up to n_rows rows in order of first use and returns how many there are. */
size_t zk_mem_rows(zk_mem_row *rows, size_t n_rows);

/* ---- layouts ---- */

/* One function of the stage lists its buffers:
 *
 *   static void prove_h_layout(zk_layout *l, h_buffers *b, size_t n) {
 *       b->a = zk_layout_take(l, "a", n, sizeof *b->a, 64);
 *       ...
 *   }
 *
 * Run on a zeroed zk_layout it measures (all pointers NULL); after zk_layout_alloc or zk_layout_deal it deals out
 * pointers by the same arithmetic, so that sizes and addresses cannot disagree. */
typedef struct zk_layout_row {
    const char *name;
    size_t n_elems, elem_bytes, alignment, offset;
} zk_layout_row;

typedef struct zk_layout {
    size_t n_bytes;      /* so far; after measuring: what must be allocated */
    size_t alignment;    /* the largest asked for */
    uint8_t *base;       /* NULL: measuring */
    size_t capacity;     /* bytes at base */
    bool failed;         /* size overflow, or dealing beyond the capacity */
    zk_layout_row *rows; /* may be NULL: [max_rows], receives the first rows for a report */
    size_t n_rows, max_rows;
} zk_layout;

/* `alignment` is a power of two. NULL while measuring, for 0 elements, and after a failure. */
void *zk_layout_take(zk_layout *layout, const char *name, size_t n_elems, size_t elem_bytes, size_t alignment);
/* Starts dealing out [base, base + n_bytes); base must have the alignment measured. The layout may be measured or new.
 */
void zk_layout_deal(zk_layout *layout, void *base, size_t n_bytes);
/* After measuring: allocates the block under `name` (alignments up to 4096; the caller frees the block with
 * zk_mem_free) and starts dealing it out. */
cuzk_status zk_layout_alloc(void **block, zk_layout *layout, const char *name, cuzk_err *err) ZK_MUST_USE;
/* After dealing: CUZK_INTERNAL unless exactly the capacity was dealt out. */
cuzk_status zk_layout_check(const zk_layout *layout, cuzk_err *err) ZK_MUST_USE;

#endif
