/* Faults of the emulated device, for tests. A countdown runs over all CUDA calls of the process, launches included. */
#ifndef ZK_CUDA_EMULATE_FAULTS_H
#define ZK_CUDA_EMULATE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum zk_emulated_fault {
    ZK_FAULT_ONCE,    /* cudaErrorUnknown */
    ZK_FAULT_LASTING, /* the same from all calls after it, too, as of a device that is lost */
    ZK_FAULT_MEMORY,  /* cudaErrorMemoryAllocation, once */
} zk_emulated_fault;

/* The nth call from now on (1: the next) fails; 0 ends that. A call that frees something does so all the same. */
void zk_emulate_fail_nth(uint64_t nth, zk_emulated_fault kind);
bool zk_emulate_failed(void); /* since then */

/* Devices that calls have worked on since the last call of this: bit n for device n. */
unsigned zk_emulate_used(void);

/* C++ memory that fails (base/alloc.h) throws something that is no std::exception, in place of std::bad_alloc. */
void zk_emulate_throw(bool strange);

#ifdef __cplusplus
}
#endif
#endif
