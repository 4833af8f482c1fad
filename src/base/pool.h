/* Thread pool: fork-join loops over index ranges. */
#ifndef ZK_BASE_POOL_H
#define ZK_BASE_POOL_H

#include "base/status.h"

typedef struct zk_pool zk_pool;

/* n_threads counts the calling thread, which takes part; 0 means one per usable CPU (affinity and cgroup quota).
 * Threads are started here, once; on a machine with several nodes they are bound to those (numa.h), the caller is not.
 */
cuzk_status zk_pool_create(zk_pool **pool, unsigned n_threads, cuzk_err *err) ZK_MUST_USE;
void zk_pool_destroy(zk_pool *pool);             /* NULL is fine */
unsigned zk_pool_n_threads(const zk_pool *pool); /* NULL counts as 1 */

/* Calls fn(ctx, begin, end, thread) over chunks of at most `grain` indices (grain >= 1) that cover [0, n) exactly once;
 * `thread` is in [0, n_threads) and no two calls with the same value run at once. Chunks are handed out in ascending
 * order, dynamically. Returns when all are done; what they wrote is visible. A NULL pool runs all on the caller.
 * Calls from inside a running loop of the same pool run on the calling thread alone (no deadlock). Concurrent calls
 * from different outside threads are serialised. A loop of one pool may start loops of another as long as those never
 * lead back to the first from the other pool's threads: that would wait for itself. */
typedef void (*zk_range_fn)(void *ctx, size_t begin, size_t end, unsigned thread);
void zk_pool_for(zk_pool *pool, size_t n, size_t grain, zk_range_fn fn, void *ctx);

/* Working memory of a kernel that runs on the pool, kept for the next call: fresh pages cost more than much arithmetic.
 * The contents are undefined; `name` is its line in the memory account (mem.h) when it is allocated now. The pool keeps
 * one block, the largest given back; a NULL pool keeps none. */
cuzk_status zk_pool_take_memory(void **block, zk_pool *pool, const char *name, size_t n_bytes,
                                cuzk_err *err) ZK_MUST_USE;
void zk_pool_give_memory(zk_pool *pool, void *block); /* NULL is fine */
void zk_pool_release_memory(zk_pool *pool);           /* frees what is kept */

#endif
