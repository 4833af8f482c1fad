/* The worker process: owns a device, programs, keys and work buffers; proves partitions that the daemon gives it. */
#ifndef ZK_ENGINE_WORKER_H
#define ZK_ENGINE_WORKER_H

#include "backend/backend.h"
#include "base/pool.h"
#include "engine/engine.h"
#include "groth16/prove.h"

/* Lanes of one process, each with a socket and a flag of progress of its own. */
enum { ZK_WORKER_MAX_LANES = 2 };

#define ZK_WORKER_MAX_LOOKAHEAD 8

typedef struct zk_worker_options {
    int fd;             /* socket to the daemon; that of a second lane is the next number */
    int progress_fd;    /* memory of the daemon's for signs of progress of the lanes; 0: there is none */
    unsigned n_lanes;   /* partitions side by side where the device has room for them: 1 (also 0) or 2 */
    unsigned n_threads; /* 0: all usable CPUs */
    /* "cpu" (also NULL), "cuda:N", or "probe": says how many devices there are, and ends. */
    const char *device;
    uint64_t device_memory_bytes; /* of a CUDA device, taken at the start; 0: as needed */
    const char *param_cache;      /* folder of the keys */
    const char *spool_dir;
    bool no_prepared;   /* keys are not taken from `.prepared` files, which are otherwise if they are there */
    unsigned lookahead; /* partitions whose inputs are made beside the proof of another; at most
                           ZK_WORKER_MAX_LOOKAHEAD */
    /* zk_backend_cuda_count, zk_backend_open_cuda and zk_backend_cuda_memory, so that what never opens a device is not
     * linked with its libraries; NULL: there is no CUDA, or the figures are not known. */
    cuzk_status (*cuda_count)(int *n, cuzk_err *err);
    cuzk_status (*cuda_open)(zk_backend **backend, int ordinal, uint64_t memory_bytes, zk_pool *pool, cuzk_err *err);
    void (*cuda_memory)(uint64_t *total, uint64_t *free, const zk_backend *backend);
    const zk_blinding *blinding; /* for tests: of all proofs; NULL: random */
    /* For tests: keys are made from this in the device's memory, prepared if there is a file of that name; parameter
     * files have to be there, empty. NULL: keys are those of the files. */
    const zk_toxic_waste *toxic;
    /* Faults for tests. "WHAT@STAGE:N": at the Nth time that STAGE ("prepare", "load", or one of a proof) begins in
     * this process: crash, hang (until it is cancelled), hold (as long as there is a file of the name that the
     * environment's CUZK_TEST_HOLD has), slow (until the daemon has seen 60 signs of progress), device (a device
     * error), alloc (no memory); "wrong@verify:N": the Nth proof counts as wrong; "lie@verify:N": it is
     * spoilt after it was verified. N may be followed by "+": from then on every time. "random,NAME=P,...": with
     * probability P each: crash, when a stage begins; alloc, then one of the next 10,000 allocations fails; device,
     * each operation of the device fails; wrong, an MSM of the device gives a wrong sum; lie, a proof is spoilt after
     * it was verified. */
    const char *fault;
} zk_worker_options;

/* Serves until the daemon says EXIT or is gone. */
cuzk_status zk_worker_run(const zk_worker_options *options, cuzk_err *err) ZK_MUST_USE;

#endif
