#include "rpc/server.h"

#include <errno.h>
#include <fcntl.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cond.h"
#include "base/file.h"
#include "base/log.h"
#include "base/span.h"
#include "config/address.h"
#include "rpc/call.h"
#include "rpc/core_log.h"
#include "rpc/deadlocks.h"
#include "rpc/handover.h"
#include "rpc/tls.h"

#define N_ARMED 64                      /* calls that may arrive before a thread has looked */
#define END_GRACE_NS (5 * ZK_SECOND_NS) /* for calls still sending when the server ends */
#define IDLE_GRACE_NS ZK_SECOND_NS      /* then, for clients that do not answer: the core would wait for 20 s */
#define ARM_AGAIN_NS (250 * ZK_MS_NS)
#define ROUND_NS (500 * ZK_MS_NS) /* a serving thread that nothing happens to says so this often */

/* ---- blocking tasks ---- */

static void *task_main(void *arg) {
    zk_rpc_server *s = arg;
    pthread_mutex_lock(&s->task_mutex);
    for (;;) {
        while (!s->task_first && !s->task_end) {
            s->n_task_idle++;
            pthread_cond_wait(&s->task_wake, &s->task_mutex);
            s->n_task_idle--;
        }
        zk_rpc_call *call = s->task_first;
        if (!call) break;
        s->task_first = call->next_task;
        if (!s->task_first) s->task_last = &s->task_first;
        s->n_tasks--;
        pthread_mutex_unlock(&s->task_mutex);
        call->task(call);
        zk_rpc_call_unref(call);
        pthread_mutex_lock(&s->task_mutex);
    }
    s->n_task_threads--;
    pthread_cond_broadcast(&s->task_idle);
    pthread_mutex_unlock(&s->task_mutex);
    return NULL;
}

/* Signals are the business of the program's main thread. */
static int start_thread(pthread_t *thread, void *(*fn)(void *), void *arg) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

void zk_rpc_call_run(zk_rpc_call *call, void (*task)(zk_rpc_call *call)) {
    zk_rpc_server *s = call->server;
    zk_rpc_call_ref(call);
    call->task = task;
    call->next_task = NULL;
    pthread_mutex_lock(&s->task_mutex);
    if (s->n_tasks >= s->n_task_idle && s->n_task_threads < s->max_task_threads) {
        pthread_t thread;
        if (start_thread(&thread, task_main, s) == 0) {
            pthread_detach(thread);
            s->n_task_threads++;
        }
    }
    bool taken = s->n_task_threads > 0;
    if (taken) {
        *s->task_last = call;
        s->task_last = &call->next_task;
        s->n_tasks++;
        pthread_cond_signal(&s->task_wake);
    }
    pthread_mutex_unlock(&s->task_mutex);
    if (taken) return;
    if (zk_rpc_call_claim(call)) zk_rpc_call_fail(call, GRPC_STATUS_RESOURCE_EXHAUSTED, "no thread for the call");
    zk_rpc_call_unref(call);
}

/* ---- events of a call, on the serving threads ---- */

static const zk_rpc_method *find_method(grpc_slice path) {
    const struct {
        const zk_rpc_method *methods;
        size_t n;
    } tables[] = {{zk_rpc_service_methods, zk_rpc_n_service_methods},
                  {zk_rpc_health_methods, zk_rpc_n_health_methods},
                  {zk_rpc_reflection_methods, zk_rpc_n_reflection_methods}};
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < tables[t].n; i++)
            if (grpc_slice_str_cmp(path, tables[t].methods[i].path) == 0) return &tables[t].methods[i];
    return NULL;
}

static void on_message(zk_rpc_call *call, bool ok) {
    (void)ok;
    if (call->request) atomic_fetch_add(&call->server->received_bytes, grpc_byte_buffer_length(call->request));
    if (call->method->stream) {
        call->method->handle(call);
    } else if (!call->request) {
        /* A message beyond the limit has ended the call already; else the client closed without one. */
        if (zk_rpc_call_claim(call)) zk_rpc_call_fail(call, GRPC_STATUS_INVALID_ARGUMENT, "the call has no message");
    } else if (call->method->blocking) {
        zk_rpc_call_run(call, call->method->handle);
    } else {
        call->method->handle(call);
    }
}

static void wait_over(zk_rpc_call *call, zk_outcome why) {
    (call->wait.is_health ? zk_rpc_health_over : zk_rpc_wait_over)(call, why);
}

static void on_close(zk_rpc_call *call, bool ok) {
    (void)ok;
    if (!call->cancelled) return;
    atomic_store(&call->closed, true);
    pthread_mutex_lock(&call->server->mutex);
    bool listed = call->wait.listed;
    pthread_mutex_unlock(&call->server->mutex);
    if (listed) wait_over(call, ZK_OUTCOME_CANCELLED);
}

static void on_sent(zk_rpc_call *call, bool ok) {
    if (call->after_send) call->after_send(call, ok);
}

static void on_answered(zk_rpc_call *call, bool ok) { (void)call, (void)ok; }

static void arm(zk_rpc_server *s);

static void on_arrival(zk_rpc_call *call, bool ok) {
    zk_rpc_server *s = call->server;
    if (!ok) {
        call->call = NULL;
        return;
    }
    atomic_fetch_add(&s->open_calls, 1);
    arm(s);
    call->method = find_method(call->details.method);
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER, .data.recv_close_on_server.cancelled = &call->cancelled};
    zk_rpc_call_ref(call);
    ZK_RPC_GIVE(&call->on_close);
    if (grpc_call_start_batch(call->call, &op, 1, &call->on_close, NULL) != GRPC_CALL_OK) {
        grpc_call_cancel(call->call, NULL);
        zk_rpc_call_unref(call);
        return;
    }
    if (call->method) {
        zk_rpc_call_receive(call);
        return;
    }
    char *path = grpc_slice_to_c_string(call->details.method), text[300];
    snprintf(text, sizeof text, "unknown method %.250s", path);
    gpr_free(path);
    if (zk_rpc_call_claim(call)) zk_rpc_call_fail(call, GRPC_STATUS_UNIMPLEMENTED, text);
}

static void arm(zk_rpc_server *s) {
    zk_rpc_call *call = zk_calloc(1, sizeof *call);
    if (!call) { /* without any nobody would be heard any more */
        pthread_mutex_lock(&s->mutex);
        atomic_fetch_add(&s->n_unarmed, 1);
        pthread_cond_broadcast(&s->timer_wake);
        pthread_mutex_unlock(&s->mutex);
        return;
    }
    call->server = s;
    atomic_init(&call->refs, 1);
    grpc_call_details_init(&call->details);
    grpc_metadata_array_init(&call->metadata);
    call->on_arrival = (zk_rpc_tag){on_arrival, call};
    call->on_message = (zk_rpc_tag){on_message, call};
    call->on_close = (zk_rpc_tag){on_close, call};
    call->on_sent = (zk_rpc_tag){on_sent, call};
    call->on_answered = (zk_rpc_tag){on_answered, call};
    ZK_RPC_GIVE(&call->on_arrival);
    if (grpc_server_request_call(s->grpc, &call->call, &call->details, &call->metadata, s->cq, s->cq,
                                 &call->on_arrival) == GRPC_CALL_OK)
        return;
    call->call = NULL;
    zk_rpc_call_unref(call);
}

static void *serve_main(void *arg) {
    zk_rpc_server *s = arg;
    atomic_ullong *round_ns = &s->round_ns[atomic_fetch_add(&s->n_serving, 1)];
    pthread_setname_np(pthread_self(), "grpc-serve");
    for (;;) {
        atomic_store(round_ns, zk_now_ns());
        gpr_timespec until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(ROUND_NS, GPR_TIMESPAN));
        grpc_event event = grpc_completion_queue_next(s->cq, until, NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) return NULL;
        zk_rpc_tag *tag = event.tag;
        if (event.type != GRPC_OP_COMPLETE) continue;
        if (!tag) { /* the server has shut down */
            atomic_store(&s->shut_down, true);
            continue;
        }
        ZK_RPC_TAKE(tag);
        zk_rpc_call *call = tag->call;
        tag->fn(call, event.success != 0);
        zk_rpc_call_unref(call);
    }
}

/* ---- deadlines ---- */

/* Needs the lock, which is given up meanwhile. */
static void arm_missing(zk_rpc_server *s) {
    unsigned n = atomic_exchange(&s->n_unarmed, 0);
    if (!n) return;
    pthread_mutex_unlock(&s->mutex);
    while (n--) arm(s);
    pthread_mutex_lock(&s->mutex);
}

static void *timer_main(void *arg) {
    zk_rpc_server *s = arg;
    pthread_mutex_lock(&s->mutex);
    while (!atomic_load(&s->ending)) {
        arm_missing(s);
        uint64_t now = zk_now_ns(), until = atomic_load(&s->n_unarmed) ? now + ARM_AGAIN_NS : UINT64_MAX;
        zk_rpc_call *due = NULL;
        for (zk_rpc_wait *w = s->waits; w && !due; w = w->next) {
            if (!w->deadline_ns || atomic_load(&w->call->claimed)) continue;
            if (w->deadline_ns <= now)
                due = w->call;
            else if (w->deadline_ns < until)
                until = w->deadline_ns;
        }
        if (due) {
            zk_rpc_call_ref(due);
            pthread_mutex_unlock(&s->mutex);
            wait_over(due, ZK_OUTCOME_TIMEOUT);
            zk_rpc_call_unref(due);
            pthread_mutex_lock(&s->mutex);
            continue;
        }
        s->timer_until_ns = until;
        if (until == UINT64_MAX) {
            pthread_cond_wait(&s->timer_wake, &s->mutex);
        } else {
            zk_cond_wait_until(&s->timer_wake, &s->mutex, until);
        }
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- start ---- */

/* The core would take the name away from whoever serves there. What a process left behind when it died is no obstacle.
 */
static cuzk_status check_socket_free(const char *path, cuzk_err *err) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n >= sizeof a.sun_path) return ZK_FAIL(err, CUZK_BAD_INPUT, "listen: unix://%s: the path is too long", path);
    memcpy(a.sun_path, path, n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return ZK_FAIL(err, CUZK_EXHAUSTED, "listen: unix://%s: no socket: %s", path, strerror(errno));
    int code = connect(fd, (const struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
    close(fd);
    struct stat st; /* what is no socket refuses a connection like one that nobody serves */
    bool other = code == ECONNREFUSED && stat(path, &st) == 0 && !S_ISSOCK(st.st_mode);
    if (code == ENOENT || (code == ECONNREFUSED && !other)) return CUZK_OK;
    if (other) return ZK_FAIL(err, CUZK_BAD_INPUT, "listen: unix://%s: found something that is no socket there", path);
    if (code == 0 || code == EAGAIN)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "listen: unix://%s: another process serves there", path);
    return ZK_FAIL(err, CUZK_BAD_INPUT, "listen: unix://%s: found something else there (%s)", path, strerror(code));
}

/* The folder of a socket, made if it is missing. The core does not say why it cannot bind there. */
static cuzk_status check_socket_folder(const char *path, cuzk_err *err) {
    char *folder = zk_strdup(path);
    if (!folder) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for an address");
    *strrchr(folder, '/') = 0;
    cuzk_status status = *folder ? zk_folder_create(folder, err) : CUZK_OK;
    if (status == CUZK_OK && faccessat(AT_FDCWD, *folder ? folder : "/", W_OK | X_OK, AT_EACCESS) != 0)
        status =
            ZK_FAIL(err, CUZK_BAD_INPUT, "listen: unix://%s: no socket can be made there: %s", path, strerror(errno));
    free(folder);
    return status;
}

static cuzk_status bind_address(zk_rpc_server *s, size_t i, const char *text, const zk_rpc_options *o,
                                grpc_server_credentials *tls, cuzk_err *err) {
    zk_address a;
    char target[300];
    ZK_TRY(zk_address_parse(&a, text, err));
    if (a.is_unix) {
        ZK_TRY(check_socket_folder(a.host, err));
        ZK_TRY(check_socket_free(a.host, err));
        snprintf(target, sizeof target, "unix:%s", a.host);
    } else {
        snprintf(target, sizeof target, strchr(a.host, ':') ? "[%s]:%s" : "%s:%s", a.host, a.port);
    }
    grpc_server_credentials *plain = a.is_unix || !tls ? grpc_insecure_server_credentials_create() : NULL;
    /* The socket must never be open to more than its mode says, not even for a moment. */
    mode_t mask = umask((mode_t)(0777 & ~(o->socket_mode ? o->socket_mode : 0660)));
    int port = grpc_server_add_http2_port(s->grpc, target, plain ? plain : tls);
    umask(mask);
    if (plain) grpc_server_credentials_release(plain);
    if (port == 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "listen: cannot serve on %s (is the address in use, or not of this machine%s?)", text,
                       tls && !a.is_unix ? ", or do TLS key and certificate not fit" : "");
    if (a.is_unix) {
        s->socket_paths[i] = zk_strdup(a.host);
        if (!s->socket_paths[i]) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for an address");
        port = 0;
    }
    s->ports[i] = port;
    ZK_LOG_INFO("serving gRPC", zk_kv_str("address", text), zk_kv_u64("port", (uint64_t)port),
                zk_kv_bool("tls", !plain));
    if (!a.is_loopback && plain)
        ZK_LOG_WARN("plain text off loopback: everybody who can reach this address can use the daemon",
                    zk_kv_str("address", text));
    return CUZK_OK;
}

static void free_server(zk_rpc_server *s) {
    for (size_t i = 0; i < s->n_ports; i++) {
        if (s->socket_paths && s->socket_paths[i]) unlink(s->socket_paths[i]);
        if (s->socket_paths) free(s->socket_paths[i]);
    }
    free(s->socket_paths);
    free(s->ports);
    free(s->threads);
    free(s->round_ns);
    free(s->counts);
    pthread_mutex_destroy(&s->mutex);
    pthread_mutex_destroy(&s->task_mutex);
    pthread_cond_destroy(&s->timer_wake);
    pthread_cond_destroy(&s->task_wake);
    pthread_cond_destroy(&s->task_idle);
    free(s);
    grpc_shutdown_blocking();
}

static grpc_arg int_arg(const char *key, int value) {
    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = value};
}

/* What the core is told of connections. */
static grpc_server *make_core(uint64_t max_message_bytes) {
    grpc_arg args[] = {
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)max_message_bytes),
        int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
        int_arg(GRPC_ARG_ALLOW_REUSEPORT, 0), /* a second daemon on the port is an error */
        int_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000),
        int_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, 60000), /* finds clients that vanished while waiting */
        int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000),
        int_arg(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20), /* few, large slices of large messages */
        /* Identity only: a small compressed message cannot become a huge one. */
        int_arg(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE),
    };
    return grpc_server_create(&(grpc_channel_args){sizeof args / sizeof args[0], args}, NULL);
}

static cuzk_status start_threads(zk_rpc_server *s, cuzk_err *err) {
    if (start_thread(&s->timer, timer_main, s) != 0) return ZK_FAIL(err, CUZK_EXHAUSTED, "no thread for the server");
    s->timer_started = true;
    for (; s->n_started < s->n_threads; s->n_started++)
        if (start_thread(&s->threads[s->n_started], serve_main, s) != 0)
            return ZK_FAIL(err, CUZK_EXHAUSTED, "no thread for the server");
    return CUZK_OK;
}

cuzk_status zk_rpc_server_create(zk_rpc_server **server, zk_engine *engine, const zk_rpc_options *o, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    grpc_server_credentials *tls = NULL;
    *server = NULL;
    zk_rpc_server *s = zk_calloc(1, sizeof *s);
    if (!s) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the server");
    zk_rpc_core_log(ZK_LOG_WARN);
    zk_rpc_no_deadlock_search();
    grpc_init();
    pthread_mutex_init(&s->mutex, NULL);
    pthread_mutex_init(&s->task_mutex, NULL);
    zk_cond_init(&s->timer_wake);
    pthread_cond_init(&s->task_wake, NULL);
    pthread_cond_init(&s->task_idle, NULL);
    s->engine = engine;
    s->task_last = &s->task_first;
    s->timer_until_ns = UINT64_MAX;
    s->n_threads = o->n_threads ? o->n_threads : 2;
    s->max_task_threads = o->max_blocking ? o->max_blocking : 16;
    s->max_message_bytes = o->max_message_bytes ? o->max_message_bytes : (uint64_t)256 << 20;
    s->threads = zk_calloc(s->n_threads, sizeof *s->threads);
    s->round_ns = zk_calloc(s->n_threads, sizeof *s->round_ns);
    s->ports = zk_calloc(o->n_listen ? o->n_listen : 1, sizeof *s->ports);
    s->socket_paths = zk_calloc(o->n_listen ? o->n_listen : 1, sizeof *s->socket_paths);
    s->counts = zk_calloc(zk_rpc_n_service_methods, sizeof *s->counts);
    if (!s->threads || !s->round_ns || !s->ports || !s->socket_paths || !s->counts)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the server"));
    s->n_ports = o->n_listen;
    if (s->max_message_bytes > INT32_MAX)
        ZK_GOTO(ZK_FAIL(err, CUZK_BAD_INPUT, "message size: found %" PRIu64 ", expected at most %d",
                        s->max_message_bytes, INT32_MAX));
    s->grpc = make_core(s->max_message_bytes);
    s->cq = grpc_completion_queue_create_for_next(NULL);
    grpc_server_register_completion_queue(s->grpc, s->cq, NULL);
    ZK_GOTO(zk_rpc_server_credentials(&tls, o->tls_certificate, o->tls_key, o->tls_client_ca, err));
    for (size_t i = 0; i < o->n_listen; i++) ZK_GOTO(bind_address(s, i, o->listen[i], o, tls, err));
    grpc_server_start(s->grpc);
    ZK_GOTO(start_threads(s, err));
    for (unsigned i = 0; i < N_ARMED; i++) arm(s);
    *server = s;
    s = NULL;
out:
    if (tls) grpc_server_credentials_release(tls);
    zk_rpc_server_destroy(s);
    return status;
}

/* ---- end ---- */

/* Calls fn for every waiting call, outside the lock. */
static void for_waits(zk_rpc_server *s, bool health_only, void (*fn)(zk_rpc_call *, zk_outcome), zk_outcome why) {
    zk_rpc_call **calls = NULL;
    size_t n = 0;
    pthread_mutex_lock(&s->mutex);
    calls = zk_calloc(s->n_waits ? s->n_waits : 1, sizeof *calls);
    for (zk_rpc_wait *w = s->waits; w && calls; w = w->next)
        if (!health_only || w->is_health) {
            calls[n++] = w->call;
            zk_rpc_call_ref(w->call);
        }
    pthread_mutex_unlock(&s->mutex);
    for (size_t i = 0; i < n; i++) {
        fn(calls[i], why);
        zk_rpc_call_unref(calls[i]);
    }
    free(calls);
}

static void tell_health(zk_rpc_call *call, zk_outcome why) {
    (void)why;
    zk_rpc_health_changed(call);
}

void zk_rpc_server_drain(zk_rpc_server *s) {
    atomic_store(&s->draining, true);
    for_waits(s, true, tell_health, ZK_OUTCOME_UNKNOWN);
}

static void sleep_ms(unsigned ms) { nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL); }

void zk_rpc_server_destroy(zk_rpc_server *s) {
    if (!s) return;
    atomic_store(&s->draining, true);
    pthread_mutex_lock(&s->mutex);
    atomic_store(&s->ending, true);
    pthread_cond_broadcast(&s->timer_wake);
    pthread_mutex_unlock(&s->mutex);
    if (s->grpc) {
        if (s->n_started == 0) { /* the events are read below */
            grpc_server_shutdown_and_notify(s->grpc, s->cq, NULL);
        } else {
            uint64_t start = zk_now_ns();
            bool cancelled = false;
            grpc_server_shutdown_and_notify(s->grpc, s->cq, NULL);
            while (atomic_load(&s->open_calls) > 0) {
                for_waits(s, false, wait_over, ZK_OUTCOME_INTERRUPTED);
                if (!cancelled && zk_now_ns() - start > END_GRACE_NS) {
                    grpc_server_cancel_all_calls(s->grpc);
                    cancelled = true;
                }
                sleep_ms(2);
            }
            start = zk_now_ns();
            while (!atomic_load(&s->shut_down) && zk_now_ns() - start < IDLE_GRACE_NS) sleep_ms(2);
            if (!atomic_load(&s->shut_down)) grpc_server_cancel_all_calls(s->grpc); /* closes connections, too */
        }
    }
    pthread_mutex_lock(&s->task_mutex);
    s->task_end = true;
    pthread_cond_broadcast(&s->task_wake);
    while (s->n_task_threads > 0) pthread_cond_wait(&s->task_idle, &s->task_mutex);
    pthread_mutex_unlock(&s->task_mutex);
    if (s->timer_started) pthread_join(s->timer, NULL);
    if (s->cq) {
        grpc_completion_queue_shutdown(s->cq);
        if (s->n_started == 0) serve_main(s);
        for (unsigned i = 0; i < s->n_started; i++) pthread_join(s->threads[i], NULL);
    }
    if (s->grpc) grpc_server_destroy(s->grpc);
    if (s->cq) grpc_completion_queue_destroy(s->cq);
    free_server(s);
}

uint64_t zk_rpc_server_silent_ms(const zk_rpc_server *s) {
    uint64_t now = zk_now_ns(), longest = 0;
    for (unsigned i = 0; i < s->n_started; i++) {
        uint64_t round = atomic_load(&s->round_ns[i]);
        if (round && now > round && now - round > longest) longest = now - round;
    }
    return longest / 1000000;
}

int zk_rpc_server_port(const zk_rpc_server *s, size_t i) { return i < s->n_ports ? s->ports[i] : 0; }

void zk_rpc_server_counts(zk_rpc_counts *counts, const zk_rpc_server *s) {
    *counts = (zk_rpc_counts){0};
    if (!s) return;
    pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&s->mutex);
    counts->waiting_calls = s->n_waits;
    pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&s->mutex);
    counts->open_calls = atomic_load(&s->open_calls);
    counts->received_bytes = atomic_load(&s->received_bytes);
}

void zk_rpc_server_print_metrics(FILE *out, const zk_rpc_server *s) {
    if (!s) return;
    zk_rpc_counts counts;
    zk_rpc_server_counts(&counts, s);
    fprintf(out,
            "# HELP cuzk_rpc_open_calls gRPC calls that have not ended.\n# TYPE cuzk_rpc_open_calls gauge\n"
            "cuzk_rpc_open_calls %" PRIu64 "\n"
            "# HELP cuzk_rpc_waiting_calls gRPC calls that wait for a job.\n# TYPE cuzk_rpc_waiting_calls gauge\n"
            "cuzk_rpc_waiting_calls %" PRIu64 "\n"
            "# HELP cuzk_rpc_received_bytes_total Bytes of request messages.\n# TYPE cuzk_rpc_received_bytes_total "
            "counter\n"
            "cuzk_rpc_received_bytes_total %" PRIu64 "\n"
            "# HELP cuzk_rpc_calls_total Answered gRPC calls.\n# TYPE cuzk_rpc_calls_total counter\n",
            counts.open_calls, counts.waiting_calls, counts.received_bytes);
    for (size_t m = 0; m < zk_rpc_n_service_methods; m++)
        for (int code = 0; code < ZK_RPC_N_CODES; code++) {
            uint64_t n = atomic_load(&s->counts[m][code]);
            if (n)
                fprintf(out, "cuzk_rpc_calls_total{method=\"%s\",code=\"%s\"} %" PRIu64 "\n",
                        strrchr(zk_rpc_service_methods[m].path, '/') + 1, zk_rpc_code_name((grpc_status_code)code), n);
        }
}
