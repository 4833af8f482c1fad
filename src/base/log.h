/* Log lines that people and machines read (logfmt): level=info ts=... msg="keys loaded" job=7 file=x.params bytes=12
 *
 *   ZK_LOG_INFO("keys loaded", zk_kv_str("file", path), zk_kv_u64("bytes", n));
 *
 * Arguments are not evaluated when the level is off. Each line is one write. Thread-safe. */
#ifndef ZK_BASE_LOG_H
#define ZK_BASE_LOG_H

#include <stdatomic.h>

#include "base/status.h"

typedef enum zk_log_level { ZK_LOG_DEBUG, ZK_LOG_INFO, ZK_LOG_WARN, ZK_LOG_ERROR, ZK_LOG_OFF } zk_log_level;

/* Defaults: ZK_LOG_WARN, to file descriptor 2. The descriptor stays the caller's. */
void zk_log_set_level(zk_log_level level);
void zk_log_set_fd(int fd);
/* Lines as logfmt (the default), or each as a JSON object with the same members: values that are numbers as JSON writes
 * them are numbers, true and false booleans, all others strings. */
typedef enum zk_log_format { ZK_LOG_FORMAT_LOGFMT, ZK_LOG_FORMAT_JSON } zk_log_format;
void zk_log_set_format(zk_log_format format);
/* "debug", "info", "warn", "error", "off". */
bool zk_log_level_parse(zk_log_level *level, const char *text);

extern _Atomic int zk_log_min_level;
static inline bool zk_log_enabled(zk_log_level level) {
    return (int)level >= atomic_load_explicit(&zk_log_min_level, memory_order_relaxed);
}

typedef struct zk_kv {
    const char *key;
    enum { ZK_KV_STR, ZK_KV_U64, ZK_KV_I64, ZK_KV_DOUBLE, ZK_KV_BOOL, ZK_KV_HEX } kind;
    union {
        const char *str; /* NULL is written as an empty string */
        uint64_t u64;
        int64_t i64;
        double f64;
        const uint8_t *hex;
    };
    size_t n; /* bytes of hex */
} zk_kv;

static inline zk_kv zk_kv_str(const char *key, const char *value) { return (zk_kv){key, ZK_KV_STR, {.str = value}, 0}; }
static inline zk_kv zk_kv_u64(const char *key, uint64_t value) { return (zk_kv){key, ZK_KV_U64, {.u64 = value}, 0}; }
static inline zk_kv zk_kv_i64(const char *key, int64_t value) { return (zk_kv){key, ZK_KV_I64, {.i64 = value}, 0}; }
static inline zk_kv zk_kv_double(const char *key, double value) {
    return (zk_kv){key, ZK_KV_DOUBLE, {.f64 = value}, 0};
}
static inline zk_kv zk_kv_bool(const char *key, bool value) { return (zk_kv){key, ZK_KV_BOOL, {.u64 = value}, 0}; }
static inline zk_kv zk_kv_hex(const char *key, const uint8_t *data, size_t n) {
    return (zk_kv){key, ZK_KV_HEX, {.hex = data}, n};
}

/* Fields that go on every line of a job or stage: filled once, then current for a thread while it works on it. Copied
 * text; fields beyond the room are dropped. Zero-initialise. */
typedef struct zk_log_context {
    size_t n;
    char text[512];
} zk_log_context;

void zk_log_context_add(zk_log_context *context, zk_kv field);
/* Makes it the calling thread's context (NULL: none) and returns the one before, to be put back. It must stay alive. */
const zk_log_context *zk_log_context_use(const zk_log_context *context);

/* One line of at most about 4 KiB; longer ones end in "...". */
void zk_log_write(zk_log_level level, const char *message, const zk_kv *fields, size_t n_fields);

#define ZK_LOG(level, message, ...)                                                                                    \
    do {                                                                                                               \
        if (zk_log_enabled(level)) {                                                                                   \
            const zk_kv zk_log_fields_[] = {{0}, ##__VA_ARGS__};                                                       \
            zk_log_write(level, message, zk_log_fields_ + 1, sizeof zk_log_fields_ / sizeof *zk_log_fields_ - 1);      \
        }                                                                                                              \
    } while (0)
#define ZK_LOG_DEBUG(message, ...) ZK_LOG(ZK_LOG_DEBUG, message, ##__VA_ARGS__)
#define ZK_LOG_INFO(message, ...) ZK_LOG(ZK_LOG_INFO, message, ##__VA_ARGS__)
#define ZK_LOG_WARN(message, ...) ZK_LOG(ZK_LOG_WARN, message, ##__VA_ARGS__)
#define ZK_LOG_ERROR(message, ...) ZK_LOG(ZK_LOG_ERROR, message, ##__VA_ARGS__)

#endif
