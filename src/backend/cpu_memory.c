#include <errno.h>
#include <sys/mman.h>

#include "backend/cpu_impl.h"
#include "base/alloc.h"
#include "base/bytes.h"

cuzk_status zk_cpu_memory_take(void **memory, const char *name, size_t bytes, cuzk_err *err) {
    *memory = NULL;
    if (!bytes) return CUZK_OK;
    void *taken = zk_alloc_should_fail()
                      ? MAP_FAILED
                      : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken == MAP_FAILED) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes: out of memory", name, bytes);
    madvise(taken, bytes, MADV_HUGEPAGE); /* fewer page faults; refusal costs only time */
    *memory = taken;
    return CUZK_OK;
}

void zk_cpu_memory_give(void *memory, const char *name, size_t bytes) {
    (void)name;
    if (memory) munmap(memory, bytes);
}
