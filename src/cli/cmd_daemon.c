/* cuzk daemon: settings, engine, gRPC, status page, signals, systemd. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/service_manager.h"
#include "cli/session.h"
#include "config/config.h"
#include "engine/engine.h"
#include "rpc/http.h"
#include "rpc/server.h"

/* When the service manager is told next; monotonic. */
typedef struct daemon_pulse {
    uint64_t text_ms, ping_ms;
    bool hangs;
} daemon_pulse;

typedef struct daemon_args {
    const char *config_path, *listen, *journal, *status_listen, *worker_fault;
    cli_option *options;
    size_t n_options, n_own;
    const char **values; /* of the options made from the table of keys */
} daemon_args;

/* ---- signals: noted, and a byte through a pipe that wakes ---- */

static int signal_pipe[2] = {-1, -1};
static atomic_uint n_ends;  /* SIGTERM and SIGINT not yet heard */
static atomic_int last_end; /* the last of them */
static atomic_bool reload_asked;

static void on_signal(int number) {
    int saved = errno;
    char byte = 0;
    if (number == SIGHUP) {
        atomic_store(&reload_asked, true);
    } else {
        atomic_store(&last_end, number);
        atomic_fetch_add(&n_ends, 1);
    }
    if (write(signal_pipe[1], &byte, 1) < 0) {} /* a full pipe wakes too */
    errno = saved;
}

static sigset_t our_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

/* Until they are taken they wait, also while the program starts anew. One that came before ends it. */
static cuzk_status hold_signals(cuzk_err *err) {
    const sigset_t set = our_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return cli_check_cancelled(err);
}

static cuzk_status take_signals(cuzk_err *err) {
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return ZK_FAIL(err, CUZK_IO, "pipe: %s", strerror(errno));
    const sigset_t set = our_signals();
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return CUZK_OK;
}

/* The next signal, or 0 after timeout_ms (-1: never). However often SIGHUP came it is one, and no reason to put off an
 * end. */
static int next_signal(int timeout_ms) {
    struct pollfd p = {.fd = signal_pipe[0], .events = POLLIN};
    char bytes[256];
    if (!atomic_load(&n_ends) && !atomic_load(&reload_asked)) poll(&p, 1, timeout_ms);
    while (read(signal_pipe[0], bytes, sizeof bytes) > 0) continue;
    if (atomic_load(&n_ends)) {
        atomic_fetch_sub(&n_ends, 1);
        return atomic_load(&last_end);
    }
    return atomic_exchange(&reload_asked, false) ? SIGHUP : 0;
}

/* ---- settings ---- */

static void log_warning(void *ctx, const char *text) {
    (void)ctx;
    ZK_LOG_WARN("settings", zk_kv_str("text", text));
}

static cuzk_status read_settings(zk_config **config, const daemon_args *a, zk_config_warn_fn warn, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_config *c = NULL;
    ZK_GOTO(zk_config_create(&c, err));
    if (a->config_path) ZK_GOTO(zk_config_read_file(c, a->config_path, warn, NULL, err));
    ZK_GOTO(zk_config_read_environment(c, environ, warn, NULL, err));
    for (size_t i = a->n_own; i < a->n_options; i++) {
        char source[80];
        snprintf(source, sizeof source, "--%s", a->options[i].name);
        if (a->options[i].given) ZK_GOTO(zk_config_set(c, a->options[i].name, a->values[i - a->n_own], source, err));
    }
    if (a->listen) ZK_GOTO(zk_config_set(c, "daemon.listen", a->listen, "--listen", err));
    if (a->journal) ZK_GOTO(zk_config_set(c, "journal.path", a->journal, "--journal", err));
    if (a->status_listen) ZK_GOTO(zk_config_set(c, "daemon.status_listen", a->status_listen, "--status-listen", err));
    ZK_GOTO(zk_config_check(c, warn, NULL, err));
    *config = c;
    c = NULL;
out:
    zk_config_destroy(c);
    return status;
}

/* Workers take level and format from the environment. */
static void apply_logging(const zk_config *c) {
    static const char *const levels[] = {"debug", "info", "warn", "error", "off", "debug"};
    zk_log_level level = ZK_LOG_INFO;
    zk_log_level_parse(&level, levels[c->logging.level]);
    zk_log_set_level(level);
    bool json = c->logging.format == ZK_LOG_FORMAT_JSON;
    zk_log_set_format(json ? ZK_LOG_FORMAT_JSON : ZK_LOG_FORMAT_LOGFMT);
    setenv("CUZK_WORKER_LOG_LEVEL", levels[c->logging.level], 1);
    setenv("CUZK_WORKER_LOG_FORMAT", json ? "json" : "logfmt", 1);
}

/* All or nothing: a file with an error changes nothing. */
static void reload(zk_config **config, const daemon_args *a, zk_engine *engine) {
    zk_config *fresh = NULL;
    cuzk_err err = {0};
    char ready[80], text[512];
    snprintf(ready, sizeof ready, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, zk_now_ns() / 1000);
    cli_manager_tell_status(ready, "reading the settings again");
    if (read_settings(&fresh, a, log_warning, &err) != CUZK_OK) {
        ZK_LOG_ERROR("settings are not reloaded", zk_kv_str("error", err.message));
        snprintf(text, sizeof text, "the old settings stay: %.400s", err.message);
        cli_manager_tell_status("READY=1", text);
        return;
    }
    for (size_t i = 0; i < zk_config_n_keys; i++) {
        const zk_config_key *key = &zk_config_keys[i];
        if (zk_config_same(*config, fresh, i)) continue;
        char *before = zk_config_format(*config, i), *after = zk_config_format(fresh, i);
        if (key->flags & ZK_CONFIG_RELOADABLE)
            ZK_LOG_INFO("setting changed", zk_kv_str("key", key->name), zk_kv_str("before", before),
                        zk_kv_str("now", after));
        else
            ZK_LOG_WARN("this setting needs a restart", zk_kv_str("key", key->name), zk_kv_str("running_with", before),
                        zk_kv_str("file_has", after));
        free(before);
        free(after);
    }
    /* Only what takes effect is taken over, so that the next reload still compares with what runs. */
    (*config)->logging = fresh->logging;
    (*config)->daemon.drain_timeout_ms = fresh->daemon.drain_timeout_ms;
    (*config)->daemon.stall_limit_ms = fresh->daemon.stall_limit_ms;
    zk_engine_set_stall_limit(engine, fresh->daemon.stall_limit_ms);
    apply_logging(*config);
    zk_config_destroy(fresh);
    ZK_LOG_INFO("settings reloaded");
    cli_manager_tell_status("READY=1", "settings reloaded");
}

/* ---- life ---- */

#define TELL_MS 2000 /* what the service manager shows is at most this old */
#define PULSE_AGAIN_MS 250
#define LEAST_SILENT_MS 2000 /* of a serving thread before it counts as hanging */

/* What an operator wants to see in one line. */
static void describe(char text[256], const zk_engine_status *st) {
    uint32_t pending = 0, running = 0;
    unsigned there = 0, retired = 0;
    for (size_t i = 0; i < st->n_queues; i++) {
        pending += st->queues[i].pending;
        running += st->queues[i].in_progress;
    }
    for (size_t i = 0; i < st->n_workers; i++) {
        there += st->workers[i].pid != 0;
        retired += st->workers[i].state == ZK_WORKER_RETIRED;
    }
    int n = snprintf(text, 256, "%u running, %u waiting; %" PRIu64 " proofs, %" PRIu64 " failed; %u workers", running,
                     pending, st->n_completed, st->n_failed, there);
    if (retired) n += snprintf(text + n, 256 - (size_t)n, ", %u retired", retired);
    if (st->journal_error[0]) n += snprintf(text + n, 256 - (size_t)n, "; the journal fails");
    if (st->fleet_lost) snprintf(text + n, 256 - (size_t)n, "; the fleet's database is out of reach");
}

static bool is_serving(daemon_pulse *pulse, const zk_rpc_server *server) {
    uint64_t silent = zk_rpc_server_silent_ms(server), watchdog = cli_manager_watchdog_ms();
    bool hangs = silent > (watchdog > LEAST_SILENT_MS ? watchdog : LEAST_SILENT_MS);
    if (hangs && !pulse->hangs)
        ZK_LOG_ERROR("a thread that serves gRPC hangs; the watchdog is not told that all is well",
                     zk_kv_u64("silent_ms", silent));
    pulse->hangs = hangs;
    return !hangs;
}

/* Says what goes on and, when it is time, that it goes on; returns in how many ms to come again, -1: never. This runs
 * in the loop that hears signals, takes the engine's lock, and looks at the threads that serve gRPC: if one of the
 * three hangs no word is said, and the watchdog bites. */
static int tell_manager(daemon_pulse *pulse, zk_engine *engine, const zk_rpc_server *server, const char *prefix) {
    uint64_t now = zk_now_ns() / 1000000, watchdog = cli_manager_watchdog_ms();
    if (!cli_manager_is_there()) return -1;
    zk_engine_status *st = NULL;
    cuzk_err err = {0};
    bool owes = !cli_manager_tell_owed();
    if (now >= pulse->text_ms || (watchdog && now >= pulse->ping_ms)) {
        if (zk_engine_get_status(&st, engine, &err) != CUZK_OK) return PULSE_AGAIN_MS;
    }
    if (now >= pulse->text_ms) {
        char what[256], text[320];
        describe(what, st);
        snprintf(text, sizeof text, "%s%s", prefix, what);
        cli_manager_tell_status(NULL, text);
        pulse->text_ms = now + TELL_MS;
    }
    zk_engine_status_destroy(st);
    if (watchdog && now >= pulse->ping_ms) {
        if (!is_serving(pulse, server)) return PULSE_AGAIN_MS;
        bool told = cli_manager_tell("WATCHDOG=1");
        pulse->ping_ms = now + (told || watchdog < PULSE_AGAIN_MS ? watchdog : PULSE_AGAIN_MS);
    }
    uint64_t next_ms = watchdog && pulse->ping_ms < pulse->text_ms ? pulse->ping_ms : pulse->text_ms;
    if (owes && next_ms > now + PULSE_AGAIN_MS) next_ms = now + PULSE_AGAIN_MS;
    return (int)(next_ms - now);
}

static void serve(zk_config **config, const daemon_args *a, daemon_pulse *pulse, zk_engine *engine,
                  const zk_rpc_server *server) {
    for (;;) {
        int number = next_signal(tell_manager(pulse, engine, server, ""));
        if (number == SIGTERM || number == SIGINT) {
            ZK_LOG_INFO("asked to end", zk_kv_str("signal", number == SIGTERM ? "TERM" : "INT"));
            return;
        }
        if (number == SIGHUP) {
            reload(config, a, engine);
            pulse->text_ms = zk_now_ns() / 1000000 + TELL_MS; /* what came of it stays to be seen */
        }
    }
}

/* Running partitions may end; a second signal cuts that short. */
static void drain(const zk_config *c, daemon_pulse *pulse, zk_engine *engine, zk_rpc_server *server) {
    uint64_t start = zk_now_ns(), limit_ms = c->daemon.drain_timeout_ms, extend_ms = 0;
    cli_manager_tell_status("STOPPING=1", "ending: running partitions may end");
    zk_rpc_server_drain(server);
    for (;;) {
        cuzk_err err = {0};
        if (zk_engine_drain(engine, 100, &err) == CUZK_OK) {
            ZK_LOG_INFO("nothing runs any more");
            break;
        }
        int number = next_signal(100);
        uint64_t passed_ms = (zk_now_ns() - start) / 1000000;
        if (number == SIGTERM || number == SIGINT || passed_ms >= limit_ms) {
            ZK_LOG_WARN("running partitions are given up; their jobs go on at the next start",
                        zk_kv_str("because", passed_ms >= limit_ms ? "daemon.drain_timeout" : "second signal"));
            break;
        }
        if (passed_ms >= extend_ms) { /* TimeoutStopSec= may be shorter than daemon.drain_timeout */
            cli_manager_tell("EXTEND_TIMEOUT_USEC=30000000"); /* far longer than until it is said again */
            extend_ms = passed_ms + TELL_MS;
        }
        tell_manager(pulse, engine, server, "ending: ");
    }
    cli_manager_tell_status(NULL, "ending: workers and clients are told");
}

static void raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Which circuits can be proved, before somebody pays for the work that comes before one that cannot. */
static void tell_keys(zk_engine *engine, const char *folder) {
    zk_engine_status *s = NULL;
    char circuits[512] = "";
    size_t at = 0;
    if (zk_engine_get_status(&s, engine, NULL) != CUZK_OK) return;
    for (size_t i = 0; i < s->n_srs && at < sizeof circuits; i++)
        at += (size_t)snprintf(circuits + at, sizeof circuits - at, "%s%s", at ? " " : "", s->srs[i].circuit_id);
    if (s->n_srs)
        ZK_LOG_INFO("keys are there", zk_kv_str("circuits", circuits), zk_kv_str("param_cache", folder));
    else
        ZK_LOG_WARN("there are no keys: requests are refused until there are", zk_kv_str("param_cache", folder));
    zk_engine_status_destroy(s);
}

static cuzk_status run_daemon(const daemon_args *a, cuzk_err *err) {
    zk_config *config = NULL;
    zk_engine *engine = NULL;
    zk_rpc_server *server = NULL;
    zk_http *http = NULL;
    cuzk_status status = CUZK_OK;
    daemon_pulse pulse = {0};
    zk_engine_options options;
    char devices[CLI_DEVICES_BYTES];
    ZK_GOTO(hold_signals(err));
    zk_engine_small_heap(); /* which may start the program anew, with its environment */
    cli_manager_open();
    ZK_GOTO(read_settings(&config, a, NULL, err));
    apply_logging(config);
    zk_config_destroy(config);
    config = NULL;
    ZK_GOTO(read_settings(&config, a, log_warning, err)); /* again, as now warnings can be logged as wanted */
    ZK_GOTO(take_signals(err));
    raise_file_limit();
    ZK_GOTO(cli_daemon_options(&options, devices, config, err));
    options.worker_fault = a->worker_fault;
    ZK_LOG_INFO("starting", zk_kv_str("journal", options.journal_path), zk_kv_str("param_cache", options.param_cache));
    cli_manager_tell_status(NULL, "starting: devices, journal");
    ZK_GOTO(zk_engine_create(&engine, &options, err));
    tell_keys(engine, options.param_cache);
    zk_rpc_options rpc = {
        .listen = config->daemon.listen.items,
        .n_listen = config->daemon.listen.n,
        .max_message_bytes = config->daemon.max_message_bytes,
        .socket_mode = (unsigned)strtoul(config->daemon.socket_mode, NULL, 8),
        .tls_certificate = config->daemon.tls_certificate,
        .tls_key = config->daemon.tls_key,
        .tls_client_ca = config->daemon.tls_client_ca,
    };
    ZK_GOTO(zk_rpc_server_create(&server, engine, &rpc, err));
    if (config->daemon.status_listen[0])
        ZK_GOTO(zk_http_create(&http, config->daemon.status_listen, engine, server, err));
    cli_manager_tell_status("READY=1", "ready");
    ZK_LOG_INFO("ready");
    serve(&config, a, &pulse, engine, server);
    drain(config, &pulse, engine, server);
out:
    if (status != CUZK_OK) {
        char text[512];
        snprintf(text, sizeof text, "not started: %.400s", err->message);
        cli_manager_tell_status(NULL, text);
    }
    zk_http_destroy(http);
    zk_rpc_server_destroy(server);
    zk_engine_destroy(engine);
    if (status == CUZK_OK) ZK_LOG_INFO("ended");
    zk_config_destroy(config);
    return status;
}

static int run(const cli_command *self, int argc, char **argv) {
    daemon_args a = {0};
    bool help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    char(*texts)[256] = NULL;
    const cli_option own[] = {
        {"config", "FILE", CLI_STRING, &a.config_path, "settings, TOML (see `cuzk config sample`)"},
        {"listen", "ADDR", CLI_STRING, &a.listen, "short for --daemon.listen"},
        {"status-listen", "ADDR", CLI_STRING, &a.status_listen, "short for --daemon.status_listen"},
        {"journal", "FILE", CLI_STRING, &a.journal, "short for --journal.path"},
        {"test-worker-fault", "FAULT", CLI_STRING, &a.worker_fault, "for tests: a fault for the workers"},
    };
    a.n_own = sizeof own / sizeof own[0];
    a.options = zk_calloc(a.n_own + zk_config_n_keys, sizeof *a.options);
    a.values = zk_calloc(zk_config_n_keys, sizeof *a.values);
    texts = zk_calloc(zk_config_n_keys, sizeof *texts);
    if (!a.options || !a.values || !texts) ZK_GOTO(ZK_FAIL(&err, CUZK_OUT_OF_MEMORY, "no memory for options"));
    memcpy(a.options, own, sizeof own);
    a.n_options = a.n_own;
    for (size_t i = 0; i < zk_config_n_keys; i++) {
        const zk_config_key *key = &zk_config_keys[i];
        if (key->flags & ZK_CONFIG_DEPRECATED) continue;
        size_t k = a.n_options - a.n_own;
        snprintf(texts[k], sizeof texts[k], "%s (default %s)", key->help, key->fallback);
        a.options[a.n_options++] = (cli_option){key->name, "VALUE", CLI_STRING, &a.values[k], texts[k]};
    }
    ZK_GOTO(cli_parse(&help, &(cli_arguments){a.options, a.n_options}, self, argc, argv, &err));
    if (!help) status = run_daemon(&a, &err);
out:
    free(a.options);
    free(a.values);
    free(texts);
    return cli_report(self, status, &err);
}

const cli_command cli_daemon = {
    "daemon", "serves proofs over gRPC", run,
    "Settings come from, later ones winning: defaults, --config, the environment (CUZK_DAEMON_LISTEN ...), options.\n"
    "SIGTERM: no new work, running partitions end, then the daemon; a second one ends it at once. SIGHUP: the file is\n"
    "read again. What is queued or given up goes on at the next start."};
