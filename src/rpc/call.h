/* Inside the server: one call from its arrival to its last event.
 *
 * A call is reference counted: each operation in flight, each watch, each blocking task and the list of waiting calls
 * hold one reference. Events come from the serving threads; a watch may fire in any thread. Whoever wins
 * zk_rpc_call_claim answers, exactly once.
 *
 * Locks of the server: `mutex` guards the list of waiting calls, with what a zk_rpc_wait says once it is listed, and
 * the timer's time; `task_mutex` the queue of blocking calls and the number of their threads. Neither is held over a
 * call of the engine or of gRPC, nor while the other is. */
#ifndef ZK_RPC_CALL_H
#define ZK_RPC_CALL_H

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <pthread.h>
#include <stdatomic.h>

#include "rpc/codes.h"
#include "rpc/server.h"
#include "rpc/pb.h"

typedef struct zk_rpc_call zk_rpc_call;
typedef void (*zk_rpc_event_fn)(zk_rpc_call *call, bool ok);

typedef struct zk_rpc_tag {
    zk_rpc_event_fn fn;
    zk_rpc_call *call;
} zk_rpc_tag;

typedef struct zk_rpc_method {
    const char *path; /* "/package.Service/Method" */
    /* Called with the first message in call->request, on a serving thread: must not block. */
    void (*handle)(zk_rpc_call *call);
    bool blocking; /* handle runs on a thread of its own instead */
    bool stream;   /* handle runs for each message, and with request NULL when the client has sent its last */
} zk_rpc_method;

#define ZK_RPC_N_CODES 17

/* The list that waiting calls are in, by deadline or not. Guarded by server->mutex. */
typedef struct zk_rpc_wait {
    struct zk_rpc_wait *next, *before;
    zk_rpc_call *call;
    bool listed;
    char job_id[ZK_JOB_ID_BYTES];
    uint64_t deadline_ns; /* 0: none */
    bool owns_job;        /* a Prove whose job nobody else has asked for: the job ends with the call */
    bool is_prove;
    bool is_health; /* a Health.Watch */
} zk_rpc_wait;

struct zk_rpc_call {
    zk_rpc_server *server;
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    const zk_rpc_method *method;
    grpc_byte_buffer *request;
    int cancelled; /* written by the core before on_close */
    atomic_uint refs;
    atomic_bool claimed, closed, sent_metadata;
    zk_rpc_tag on_arrival, on_message, on_close, on_sent, on_answered;
    grpc_byte_buffer *response; /* the last one sent */
    zk_rpc_event_fn after_send;
    zk_rpc_wait wait;
    atomic_bool sending; /* Health.Watch: a message is on its way */
    int sent_health;
    void (*task)(zk_rpc_call *call); /* what the blocking thread runs */
    struct zk_rpc_call *next_task;
};

struct zk_rpc_server {
    zk_engine *engine;
    grpc_server *grpc;
    grpc_completion_queue *cq;
    pthread_t *threads;
    unsigned n_threads, n_started;
    atomic_ullong *round_ns; /* [n_threads] when each was last back for the next event */
    atomic_uint n_serving;
    pthread_t timer;
    bool timer_started;
    int *ports;
    char **socket_paths;
    size_t n_ports;
    uint64_t max_message_bytes;
    atomic_bool draining, ending;
    atomic_bool shut_down; /* the core says so: no connection is left */
    atomic_uint n_unarmed; /* calls that could not be waited for, for lack of memory: tried again */
    atomic_ulong open_calls, received_bytes;
    atomic_ulong (*counts)[ZK_RPC_N_CODES]; /* [n_methods] */

    pthread_mutex_t mutex;
    pthread_cond_t timer_wake; /* a nearer deadline, or the end; monotonic */
    zk_rpc_wait *waits;        /* all waiting calls */
    size_t n_waits;
    uint64_t timer_until_ns; /* what the timer thread sleeps for */

    /* Blocking calls: a queue and threads that are started as needed. */
    pthread_mutex_t task_mutex;
    pthread_cond_t task_wake, task_idle;
    zk_rpc_call *task_first, **task_last;
    unsigned n_tasks; /* in the queue, some perhaps for idle threads that have not woken yet */
    unsigned n_task_threads, n_task_idle, max_task_threads;
    bool task_end;
};

extern const zk_rpc_method *const zk_rpc_service_methods, *const zk_rpc_health_methods,
                                                              *const zk_rpc_reflection_methods;
extern const size_t zk_rpc_n_service_methods, zk_rpc_n_health_methods, zk_rpc_n_reflection_methods;

void zk_rpc_call_ref(zk_rpc_call *call);
void zk_rpc_call_unref(zk_rpc_call *call);

/* The received message is not needed any more; memory of a large one goes back to the system. */
void zk_rpc_call_drop_request(zk_rpc_call *call);

/* True for exactly one caller. */
bool zk_rpc_call_claim(zk_rpc_call *call);
/* Both need the claim. The slice is taken. */
void zk_rpc_call_reply(zk_rpc_call *call, grpc_slice payload);
void zk_rpc_call_fail(zk_rpc_call *call, grpc_status_code code, const char *message);
/* Claim and fail in one, with the code of the status. */
void zk_rpc_call_fail_err(zk_rpc_call *call, cuzk_status status, const cuzk_err *err);

/* Streams: one message, then `after` (may be NULL) when it is on its way; one at a time. */
void zk_rpc_call_send(zk_rpc_call *call, grpc_slice payload, zk_rpc_event_fn after);
void zk_rpc_call_receive(zk_rpc_call *call);
/* Ends a stream with OK; needs the claim. */
void zk_rpc_call_finish(zk_rpc_call *call);

/* All of a small message in one piece; freed with the slice. An oversized or broken one fails the call: false. */
bool zk_rpc_call_flatten(zk_rpc_call *call, grpc_slice *slice);
grpc_slice zk_rpc_slice_of(zk_pb_writer *writer); /* takes the data */

/* Runs task(call) on a blocking thread, holding a reference. */
void zk_rpc_call_run(zk_rpc_call *call, void (*task)(zk_rpc_call *call));

/* Puts the call into the list of waiting ones, under its job and deadline. */
void zk_rpc_wait_begin(zk_rpc_call *call);
void zk_rpc_wait_end(zk_rpc_call *call);

/* What happens to waiting calls: service.c and health.c. `why` TIMEOUT: its deadline; INTERRUPTED: the server ends;
 * CANCELLED: the client has gone. */
void zk_rpc_wait_over(zk_rpc_call *call, zk_outcome why);
void zk_rpc_health_over(zk_rpc_call *call, zk_outcome why);
void zk_rpc_health_changed(zk_rpc_call *call);

/* The content and numbers of a SubmitProofRequest (nested: of field 1 of a ProveRequest), from the received slices
 * straight to the engine's spool. BAD_INPUT: malformed, a singular byte field given twice, bad UTF-8, a WindowPoSt that
 * is not one partition. */
typedef struct zk_rpc_submit {
    zk_engine_request request;
    char request_id[ZK_REQUEST_ID_MAX_BYTES + 1];
    zk_content *content; /* the caller's, also after a failure */
} zk_rpc_submit;
cuzk_status zk_rpc_submit_read(zk_rpc_submit *submit, zk_engine *engine, grpc_byte_buffer *message, bool nested,
                               cuzk_err *err) ZK_MUST_USE;

#endif
