/* The worker process: owns a device, programs, keys and work buffers; proves partitions that the daemon gives it. */
#ifndef ZK_ENGINE_WORKER_H
#define ZK_ENGINE_WORKER_H

#include "engine/engine.h"

typedef struct zk_worker_options {
    int fd;                  /* socket to the daemon */
    unsigned n_threads;      /* 0: all usable CPUs */
    const char *param_cache; /* folder of the keys */
    const char *spool_dir;
    /* Faults for tests, "WHAT@STAGE:N": at the Nth time that STAGE ("prepare", "load", or one of a proof) begins in
     * this process: crash, hang, device (a device error), alloc (the next allocation fails); "wrong@verify:N": the Nth
     * proof counts as wrong. N may be followed by "+": from then on every time. */
    const char *fault;
} zk_worker_options;

/* Serves until the daemon says EXIT or is gone. */
cuzk_status zk_worker_run(const zk_worker_options *options, cuzk_err *err) ZK_MUST_USE;

#endif
