/* Settings of the daemon. One table (config_table.c) says for each key its name, type with unit, bounds, default and
 * help; the TOML reader, the sample file, --help, `config check` and the overrides by environment and flags follow from
 * it. Later sources win: default, file, environment (CUZK_ and the key in upper case with '_' for '.'), flags. */
#ifndef ZK_CONFIG_CONFIG_H
#define ZK_CONFIG_CONFIG_H

#include <stdio.h>

#include "base/log.h"

/* Sizes: bytes, "5GiB", "500MB". Durations: seconds, "5m", "1h30m", "250ms". Lists: an array, or one value; in
 * environment and flags items are separated by commas. */
typedef enum zk_config_type {
    ZK_CONFIG_BOOL,
    ZK_CONFIG_NUMBER,    /* uint64_t */
    ZK_CONFIG_SIZE,      /* uint64_t bytes */
    ZK_CONFIG_SIZE_AUTO, /* uint64_t bytes, ZK_CONFIG_AUTO: "auto" */
    ZK_CONFIG_DURATION,  /* uint64_t milliseconds */
    ZK_CONFIG_TEXT,      /* char *, never NULL */
    ZK_CONFIG_CHOICE,    /* unsigned: index into choices */
    ZK_CONFIG_LIST,      /* zk_config_list */
    ZK_CONFIG_IGNORED,   /* accepted, without effect */
} zk_config_type;

#define ZK_CONFIG_AUTO UINT64_MAX /* no size: 0 is one */

typedef struct zk_config_list {
    char **items;
    size_t n;
} zk_config_list;

typedef struct zk_config {
    struct {
        zk_config_list listen;
        char *status_listen, *socket_mode;
        uint64_t max_message_bytes;
        char *tls_certificate, *tls_key, *tls_client_ca;
        uint64_t max_queued, drain_timeout_ms, job_limit_ms, stall_limit_ms;
    } daemon;
    struct {
        char *path, *spool;
        uint64_t retention_ms;
    } journal;
    struct {
        char *dsn, *machine;
        uint64_t lease_ms;
    } fleet;
    struct {
        char *param_cache, *manifest;
        unsigned warm;     /* zk_warm_policy of the engine */
        unsigned prepared; /* 1: off */
    } srs;
    struct {
        uint64_t total_budget_bytes, safety_margin_bytes, eviction_min_idle_ms;
    } memory;
    struct {
        zk_config_list devices;
        uint64_t gpu_threads, workers_per_device, lanes_per_worker, device_memory_bytes;
    } gpus;
    struct {
        uint64_t max_batch_size, max_batch_wait_ms, aging_ms;
        bool sort_by_type, express_workers;
    } scheduler;
    struct {
        uint64_t threads;
    } synthesis;
    struct {
        bool enabled;
        uint64_t synthesis_lookahead, synthesis_concurrency, max_parallel_synthesis, slot_size, max_gpu_queue_depth;
    } pipeline;
    struct {
        unsigned level, format; /* zk_log_level, zk_log_format */
    } logging;
    const char *
        *sources; /* [zk_config_n_keys]: where each value is from: "default", "FILE:12", "environment", "flag" */
    void *texts;  /* arena of the sources */
} zk_config;

/* SECRET: a text that may hold a password; zk_config_format shows whether it is set, not the value. */
enum { ZK_CONFIG_RELOADABLE = 1, ZK_CONFIG_DEPRECATED = 2, ZK_CONFIG_SECRET = 4 };

typedef struct zk_config_key {
    const char *name; /* "daemon.listen" */
    zk_config_type type;
    size_t offset;
    uint64_t min, max;       /* numbers, sizes, durations (ms) */
    const char *fallback;    /* the default as TOML writes it */
    const char *choices;     /* "debug|info|warn" */
    const char *environment; /* another variable that sets it, or NULL */
    unsigned flags;
    const char *help; /* deprecated: what to do instead */
} zk_config_key;

extern const zk_config_key zk_config_keys[];
extern const size_t zk_config_n_keys;

/* Warnings are sentences such as `FILE:3: unknown key "daemon.lisen" is ignored`. `warn` may be NULL. */
typedef void (*zk_config_warn_fn)(void *ctx, const char *text);

/* All defaults. */
cuzk_status zk_config_create(zk_config **config, cuzk_err *err) ZK_MUST_USE;
void zk_config_destroy(zk_config *config); /* NULL is fine */

/* Each changes the values named in its source. BAD_INPUT "FILE:LINE: key: found ..., expected ...". */
cuzk_status zk_config_read_file(zk_config *config, const char *path, zk_config_warn_fn warn, void *ctx,
                                cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_config_read_text(zk_config *config, const char *text, size_t n, const char *name, zk_config_warn_fn warn,
                                void *ctx, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_config_read_environment(zk_config *config, char *const *environment, zk_config_warn_fn warn, void *ctx,
                                       cuzk_err *err) ZK_MUST_USE;
/* One value as a flag or variable writes it (without quotes). `source` is copied. */
cuzk_status zk_config_set(zk_config *config, const char *key, const char *text, const char *source,
                          cuzk_err *err) ZK_MUST_USE;
/* What no single key can tell: BAD_INPUT for settings that contradict each other. */
cuzk_status zk_config_check(const zk_config *config, zk_config_warn_fn warn, void *ctx, cuzk_err *err) ZK_MUST_USE;

/* All that the three would refuse, not the first thing alone: the file, the environment (NULL: not looked at), and what
 * no single key can tell. Each error goes to `wrong`, those of lines in their order, then the others; what is wrong
 * stays as it was. *n_errors: how many. Fails for what leaves nothing to judge, such as a file that cannot be read. */
cuzk_status zk_config_judge(size_t *n_errors, zk_config *config, const char *path, char *const *environment,
                            zk_config_warn_fn warn, zk_config_warn_fn wrong, void *ctx, cuzk_err *err) ZK_MUST_USE;

/* Index of the key; zk_config_n_keys: no such key. */
size_t zk_config_find(const char *name);
/* The value as TOML writes it, whole; "..." for a secret that is set. free() it; NULL: no memory. */
char *zk_config_format(const zk_config *config, size_t key);
bool zk_config_same(const zk_config *a, const zk_config *b, size_t key);
/* A commented file with all keys: with the defaults (config NULL) or the given values. */
void zk_config_print_sample(FILE *out, const zk_config *config);

/* "5GiB", "1.5MB" no: whole numbers with a unit. false: not a size, or beyond 2^64. */
bool zk_config_parse_size(uint64_t *bytes, const char *text);
bool zk_config_parse_duration(uint64_t *ms, const char *text);

#endif
