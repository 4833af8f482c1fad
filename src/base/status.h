/* Status codes and error context: how every fallible function in cuzk reports.
 *
 * A function that can fail returns cuzk_status (0 is success) and, where it takes a `cuzk_err *err`, describes the
 * failure there: what was asked, found and allowed. `err` may be NULL. Library code never prints, exits or aborts.
 */
#ifndef ZK_BASE_STATUS_H
#define ZK_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, class, exit code of the command line, text) */
#define CUZK_STATUS_LIST(X)                                                                                            \
    X(OK, NONE, 0, "ok")                                                                                               \
    X(CHECK_FAILED, CHECK, 1, "check failed")                                                                          \
    X(USAGE, USAGE, 2, "wrong usage")                                                                                  \
    X(BAD_INPUT, INPUT, 3, "bad input")                                                                                \
    X(BAD_PROOF, CHECK, 1, "proof does not verify")                                                                    \
    X(BAD_WITNESS, INPUT, 3, "input does not satisfy the circuit")                                                     \
    X(NOT_FOUND, INPUT, 3, "not found")                                                                                \
    X(UNSUPPORTED, INPUT, 3, "unsupported")                                                                            \
    X(OUT_OF_MEMORY, RESOURCE, 4, "out of memory")                                                                     \
    X(EXHAUSTED, RESOURCE, 4, "resource exhausted")                                                                    \
    X(IO, IO, 4, "input/output error")                                                                                 \
    X(DEVICE, DEVICE, 4, "device error")                                                                               \
    X(CANCELLED, CANCELLED, 130, "cancelled")                                                                          \
    X(INTERNAL, INTERNAL, 4, "internal error")

typedef enum cuzk_status {
#define X(name, cls, code, text) CUZK_##name,
    CUZK_STATUS_LIST(X)
#undef X
} cuzk_status;

/* What a caller is to do with a failure: the daemon and the command line decide by class, in one place each. */
typedef enum cuzk_status_class {
    CUZK_CLASS_NONE,
    CUZK_CLASS_CHECK,     /* a question was asked and the answer is no */
    CUZK_CLASS_USAGE,     /* the caller called wrongly */
    CUZK_CLASS_INPUT,     /* reject: the input cannot be used */
    CUZK_CLASS_RESOURCE,  /* wait or retry */
    CUZK_CLASS_DEVICE,    /* retire the device, run elsewhere */
    CUZK_CLASS_IO,        /* disk or network */
    CUZK_CLASS_CANCELLED, /* somebody asked to stop */
    CUZK_CLASS_INTERNAL,  /* our fault: fail the job, keep the evidence */
} cuzk_status_class;

/* Caller-owned description of a failure. Zero-initialise it. The first failure written stays until reset. */
typedef struct cuzk_err {
    cuzk_status status;
    int line;         /* source line that reported */
    const char *file; /* source file that reported, static string */
    char message[512];
} cuzk_err;

const char *cuzk_status_name(cuzk_status status);
const char *cuzk_status_text(cuzk_status status);
cuzk_status_class cuzk_status_classify(cuzk_status status);
int cuzk_status_exit_code(cuzk_status status);

/* Records a failure in err (if not NULL and not yet set) and returns status. Use through ZK_FAIL. */
__attribute__((format(printf, 5, 6))) cuzk_status zk_err_set(cuzk_err *err, cuzk_status status, const char *file,
                                                             int line, const char *format, ...);
/* Puts "prefix: " in front of the message of a failure already recorded; a no-op when there is none. */
__attribute__((format(printf, 2, 3))) void zk_err_prefix(cuzk_err *err, const char *format, ...);
void zk_err_reset(cuzk_err *err);

#define ZK_FAIL(err, status, ...) zk_err_set((err), (status), __FILE__, __LINE__, __VA_ARGS__)

/* Propagates a failure at once. For functions that own nothing yet. */
#define ZK_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        cuzk_status zk_try_status_ = (expr);                                                                           \
        if (zk_try_status_ != CUZK_OK) return zk_try_status_;                                                          \
    } while (0)

/* Stores the result in the local `status` and jumps to the label `out` on failure. */
#define ZK_GOTO(expr)                                                                                                  \
    do {                                                                                                               \
        status = (expr);                                                                                               \
        if (status != CUZK_OK) goto out;                                                                               \
    } while (0)

#define ZK_MUST_USE __attribute__((warn_unused_result))

#ifdef __cplusplus
}
#endif
#endif
