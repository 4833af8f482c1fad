/* What every command shares: start of the process, interruption, thread pool, progress on a terminal. */
#ifndef ZK_CLI_SESSION_H
#define ZK_CLI_SESSION_H

#include "backend/backend.h"
#include "base/pool.h"
#include "base/span.h"

/* Takes over SIGINT and SIGTERM: the first asks running work to stop, which then removes what is unfinished, and the
 * program exits with 130; a second one ends the process at once. SIGXFSZ and SIGPIPE become write errors, a mapped file
 * that shrinks an error of its reader. Standard streams that are closed stay unusable, but their numbers are taken. */
void cli_session_start(void);
/* When the kernel started this process, on the monotonic clock (10 ms grain); 0 if it cannot be told. */
uint64_t cli_process_start_ns(void);

bool cli_cancelled(void *unused);
/* CANCELLED if the program was asked to stop. */
cuzk_status cli_check_cancelled(cuzk_err *err) ZK_MUST_USE;

/* Options common to commands that do work: put CLI_WORK_OPTIONS into the table. */
typedef struct cli_work {
    uint64_t threads;               /* 0: one per usable CPU */
    const char *backend;            /* cpu, cuda, auto */
    uint64_t device, device_memory; /* CUDA: ordinal; bytes to take at once, 0: as needed */
} cli_work;
#define CLI_WORK_OPTIONS(work)                                                                                         \
    {"threads", "N", CLI_U64, &(work).threads, "threads to use (default: one per usable CPU)"}, {                      \
        "backend", "NAME", CLI_STRING, &(work).backend, "cpu, cuda or auto (default auto)"                             \
    }

/* And these for commands that open a backend. */
#define CLI_DEVICE_OPTIONS(work)                                                                                       \
    {"device", "N", CLI_U64, &(work).device, "CUDA device (default 0)"}, {                                             \
        "device-memory", "S", CLI_SIZE, &(work).device_memory, "memory of it to take at once (default: as needed)"     \
    }

/* Checks backend and threads and starts the pool. */
cuzk_status cli_work_start(const cli_work *work, zk_pool **pool, cuzk_err *err) ZK_MUST_USE;
/* The device that was asked for; auto takes a CUDA device where there is one, else the CPU. */
cuzk_status cli_backend_open(zk_backend **backend, const cli_work *work, zk_pool *pool, cuzk_err *err) ZK_MUST_USE;

/* Progress of long work: redrawn on one line of stderr when that is a terminal, else nothing. `total` 0: only what is
 * being done is said. Fits the progress callbacks of the library. */
void cli_progress(void *unused, const char *what, uint64_t done, uint64_t total);
void cli_progress_end(void); /* clears the line */
void cli_progress_disable(void);

#endif
