/* Device memory: one range of addresses, backed by the driver as far as needed, cut into pieces. */
#ifndef ZK_CUDA_POOL_CUH
#define ZK_CUDA_POOL_CUH

#include "base/status.h"
#include "platform.cuh"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace zk {

struct pool {
    /* set when it is opened */
    size_t limit = 0;      /* the most it may hold: the length of the range */
    bool poisoned = false; /* for tests: memory is overwritten when it is taken and when it is given back */
    std::atomic<size_t> used{0}, peak{0};

    std::mutex lock; /* of all below */
    char *base = nullptr;
    size_t reserved = 0; /* the range, rounded up to what the driver deals in */
    size_t held = 0;     /* backed by memory, from the base on */
    bool owned = true;   /* else part of another pool */
    bool mapped = false; /* the range is reserved and backed piece by piece, else one allocation */
    size_t granularity = 1;
    std::vector<unsigned long long> handles; /* of the memory that backs it, in order */
    std::vector<size_t> handle_bytes;
    std::map<char *, size_t> free_pieces; /* -> bytes, neighbours merged */
    std::map<char *, size_t> taken;
};

/* whole: all memory at once. */
cuzk_status pool_open(pool *p, int ordinal, size_t limit, bool whole, cuzk_err *err);
/* A pool in a piece of another. */
cuzk_status pool_adopt(pool *p, char *base, size_t bytes, cuzk_err *err);
void pool_close(pool *p);

} // namespace zk

#endif
