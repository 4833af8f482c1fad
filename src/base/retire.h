/* Deferred freeing. Giving back gigabytes takes the kernel a noticeable part of a second each; a proof must not wait
 * for it. What is done with goes to a queue and one background thread frees it; the account of mem.h is credited only
 * then.
 *
 * Ownership: an item belongs to the queue from the call of give until its release function returns. The release
 * function runs exactly once, on the worker or, as said below, on the giving thread, never under a lock of the queue.
 * Any thread may give; destroy must be the last call. */
#ifndef ZK_BASE_RETIRE_H
#define ZK_BASE_RETIRE_H

#include "base/status.h"

typedef struct zk_retire zk_retire;

typedef struct zk_retire_item {
    const char *name; /* for reports; must outlive the item */
    size_t n_bytes;
    void (*release)(void *ctx);
    void *ctx;
    /* The fence; NULL: none. Polled (by one thread, about every millisecond) until it says that nobody uses the memory
     * any more; then the item is released. It must become true without the giver's help. */
    bool (*ready)(void *ctx);
    void *ready_ctx;
} zk_retire_item;

/* The queue holds at most max_items and max_bytes, but always takes one item, however large. Zero: 256 items, 64 GiB.
 */
cuzk_status zk_retire_create(zk_retire **retire, size_t max_items, uint64_t max_bytes, cuzk_err *err) ZK_MUST_USE;
/* Drains, then ends the worker. NULL is fine. */
void zk_retire_destroy(zk_retire *retire);

/* Hands over one item. When the queue is full (or `retire` is NULL, or no memory is left for the entry) the giver
 * itself releases the item before the call returns, after waiting for its fence: whoever produces garbage faster than
 * it can be freed pays for it. */
void zk_retire_give(zk_retire *retire, const zk_retire_item *item);
/* A block of zk_mem_alloc; NULL is fine. */
void zk_retire_mem(zk_retire *retire, void *block);

/* Returns when everything given before the call has been released. */
void zk_retire_drain(zk_retire *retire);

typedef struct zk_retire_stats {
    uint64_t n_pending, pending_bytes, peak_pending_bytes;
    uint64_t n_released, released_bytes, release_ns; /* by the worker */
    uint64_t n_inline, inline_bytes, inline_ns;      /* by givers, waiting for fences included */
} zk_retire_stats;
zk_retire_stats zk_retire_get_stats(zk_retire *retire);

#endif
