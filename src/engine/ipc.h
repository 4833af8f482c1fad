/* What daemon and worker say to each other, over a SOCK_SEQPACKET pair: one packet is one message, a fixed struct and
 * for some a text behind it. Both ends are the same executable; the hello proves it. */
#ifndef ZK_ENGINE_IPC_H
#define ZK_ENGINE_IPC_H

#include "engine/digests.h"
#include "engine/engine.h"
#include "groth16/prove.h"
#include "groth16/verify.h"

#define ZK_IPC_VERSION 0x637a6b06u
#define ZK_IPC_MAX_TEXT (96 * 1024)
#define ZK_IPC_MAX_GROUP 16 /* partitions proved together */

typedef enum zk_ipc_type {
    /* daemon to worker: one task at a time; each ends with DONE */
    ZK_IPC_PREPARE = 1, /* read and check a job */
    ZK_IPC_PROVE,
    ZK_IPC_LOAD,   /* keys */
    ZK_IPC_EVICT,  /* keys; also in answer to RESERVE, then no DONE follows but EVICTED */
    ZK_IPC_FORGET, /* jobs: nothing is kept of them */
    ZK_IPC_EXIT,
    ZK_IPC_CANCEL,  /* the task, at the next kernel */
    ZK_IPC_YIELD,   /* no further partition of those that are proved together is begun */
    ZK_IPC_AHEAD,   /* this partition will probably come next; `bytes` are reserved for the job if it is another */
    ZK_IPC_GRANTED, /* RESERVE, KEY_FILE, KEY_DIGEST */
    ZK_IPC_DENIED,
    ZK_IPC_DIGEST, /* in answer to KEY_FILE: make its digest and tell it */
    /* worker to daemon */
    ZK_IPC_HELLO,
    ZK_IPC_RESERVE,    /* may I take this much? */
    ZK_IPC_RELEASE,    /* this much is free again */
    ZK_IPC_EVICTED,    /* what keys took is free */
    ZK_IPC_LOADED,     /* keys and workspace of a circuit are there */
    ZK_IPC_LANES,      /* how many partitions of a circuit it can prove side by side, or together, now; without a kind:
                        * of all */
    ZK_IPC_KEY_FILE,   /* may keys be loaded from this file? */
    ZK_IPC_KEY_DIGEST, /* and now that its digest is known? */
    ZK_IPC_STAGE,      /* a stage begins */
    ZK_IPC_MEMORY,     /* rows of the memory account as text */
    ZK_IPC_PROVED,     /* one of `more` is done; as DONE, which comes for the first and says that the task is over */
    ZK_IPC_DONE,
} zk_ipc_type;

typedef struct zk_ipc_message {
    uint32_t type;
    uint32_t n_text; /* bytes behind the struct */
    char job_id[ZK_JOB_ID_BYTES];
    uint32_t kind; /* of the circuit; RESERVE: also what the memory is for */
    /* PROVE, AHEAD, STAGE, PROVED, DONE: after a failure the one that is to blame */
    uint32_t partition;
    uint32_t n_more, more[ZK_IPC_MAX_GROUP - 1]; /* PROVE: others of the job; those not begun are not mentioned again */
    uint64_t sector_bytes;
    /* RESERVE, RELEASE, EVICTED, LOADED: of the device, and of the host if that is something else. Without a kind they
     * are of the host. HELLO: what may be taken of the device, 0 if not known. */
    uint64_t bytes, host_bytes;
    uint32_t n_lanes, n_group; /* LANES; `bytes` of the device are free again */
    bool optional;             /* RESERVE: of the device, only if it is free now; nothing is evicted for it */
    bool check;                /* PREPARE: also the vanilla proof */
    bool plain;                /* PROVE, LOAD: a prepared key is not to be used */
    bool prepared; /* LOADED, DONE of PROVE: a prepared key is; KEY_FILE, KEY_DIGEST: it is about its file, of which
                      the digest is without the last 32 bytes, which name it */
    char stage[ZK_STAGE_NAME_BYTES];
    uint64_t device_total_bytes, device_free_bytes; /* HELLO, DONE; 0: not known */
    /* HELLO */
    uint32_t version, pid;
    uint32_t n_devices; /* of a probe; with none `message` says why */
    char device_kind[8], device[96];
    /* DONE, DENIED */
    uint32_t status;
    char message[512];
    uint32_t n_partitions;            /* after PREPARE */
    bool wrong_proof, already_loaded; /* after PROVE; after LOAD and EVICT: was it there */
    bool input_ahead;                 /* after PROVE: the inputs were there already */
    uint8_t proof[ZK_PROOF_BYTES];
    uint64_t srs_load_ns, synth_ns, gpu_ns, total_ns, unaccounted_ns;
    uint64_t stage_ns[ZK_PROVE_N_STAGES];
    zk_file_identity file; /* KEY_FILE, KEY_DIGEST */
    zk_file_digest digest; /* KEY_DIGEST; DIGEST: has_blake2b says whether that is wanted, too; GRANTED: if `known` */
    bool known;
    uint64_t retire_pending_bytes, retire_pending_items;
} zk_ipc_message;

/* EXHAUSTED: timeout (timeout_ms < 0: for ever), which no signal shortens. IO: the other end is gone. `text` (may be
 * NULL) receives up to ZK_IPC_MAX_TEXT bytes and a zero. */
cuzk_status zk_ipc_receive(zk_ipc_message *message, char *text, int fd, int timeout_ms, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_ipc_send(int fd, zk_ipc_message *message, const char *text, size_t n_text, cuzk_err *err) ZK_MUST_USE;

#endif
