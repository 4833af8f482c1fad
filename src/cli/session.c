#include "cli/session.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/cuda.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/log.h"

static void on_signal(int signal_number) {
    if (zk_cancel_requested(NULL)) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    zk_cancel_request(NULL);
}

/* A closed standard stream would give its number to the next file opened, and messages would go into that. Opened the
 * wrong way round, so that using it is an error as before. */
static void keep_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(4);
}

void cli_session_start(void) {
    keep_standard_streams();
    zk_file_map_guard();
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/* proc(5): field 22 of /proc/self/stat is the start time in clock ticks after boot. The command's name (field 2) stands
 * in parentheses and may hold anything, so fields are counted from the last ')'. */
uint64_t cli_process_start_ns(void) {
    FILE *f = fopen("/proc/self/stat", "r");
    if (!f) return 0;
    char text[1024];
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *at = strrchr(text, ')');
    uint64_t ticks = 0;
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                      &ticks) != 1)
        return 0;
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    struct timespec now;
    if (ticks_per_s <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    uint64_t start_ns = ticks * (1000000000u / (uint64_t)ticks_per_s);
    uint64_t monotonic = zk_now_ns();
    return start_ns < now_ns && now_ns - start_ns < monotonic ? monotonic - (now_ns - start_ns) : 0;
}

bool cli_cancelled(void *unused) {
    (void)unused;
    return zk_cancel_requested(NULL);
}

cuzk_status cli_check_cancelled(cuzk_err *err) {
    if (!cli_cancelled(NULL)) return CUZK_OK;
    cli_progress_end();
    return ZK_FAIL(err, CUZK_CANCELLED, "interrupted");
}

cuzk_status cli_work_start(const cli_work *work, zk_pool **pool, cuzk_err *err) {
    const char *backend = work->backend ? work->backend : "auto";
    if (strcmp(backend, "cpu") != 0 && strcmp(backend, "cuda") != 0 && strcmp(backend, "auto") != 0)
        return ZK_FAIL(err, CUZK_USAGE, "--backend: found \"%s\", expected cpu, cuda or auto", backend);
    if (work->threads > 1024)
        return ZK_FAIL(err, CUZK_USAGE, "--threads: found %" PRIu64 ", expected at most 1024", work->threads);
    return zk_pool_create(pool, (unsigned)work->threads, err);
}

static void use_cpu(const cuzk_err *why) { ZK_LOG_WARN("the CPU is used", zk_kv_str("why", why->message)); }

cuzk_status cli_backend_open(zk_backend **backend, const cli_work *work, zk_pool *pool, cuzk_err *err) {
    bool wanted = work->backend && strcmp(work->backend, "cuda") == 0;
    bool allowed = wanted || !work->backend || strcmp(work->backend, "auto") == 0;
    int n = 0;
    cuzk_err why = {0};
    cuzk_status status = allowed ? zk_backend_cuda_count(&n, &why) : CUZK_OK;
    if (wanted && status != CUZK_OK) return ZK_FAIL(err, status, "--backend cuda: %s", why.message);
    if (!wanted && (status != CUZK_OK || n == 0)) {
        if (n) use_cpu(&why); /* devices, and code for none of them */
        return zk_backend_open_cpu(backend, pool, err);
    }
    if (work->device >= (uint64_t)n)
        return ZK_FAIL(err, CUZK_USAGE, "--device: found %" PRIu64 ", this machine has %d CUDA devices", work->device,
                       n);
    if (wanted) return zk_backend_open_cuda(backend, (int)work->device, work->device_memory, pool, err);
    status = zk_backend_open_cuda(backend, (int)work->device, work->device_memory, pool, &why);
    if (status == CUZK_UNSUPPORTED) { /* a device that the build has no code for */
        use_cpu(&why);
        return zk_backend_open_cpu(backend, pool, err);
    }
    return status == CUZK_OK ? CUZK_OK : ZK_FAIL(err, status, "%s", why.message);
}

/* ---- progress ---- */

static struct {
    bool known, on, open;
    uint64_t first_ns, last_ns;
    double first_share; /* at first_ns: another stage or an earlier run got that far */
    char what[64];
} progress;

void cli_progress_disable(void) {
    progress.known = true;
    progress.on = false;
}

void cli_progress(void *unused, const char *what, uint64_t done, uint64_t total) {
    (void)unused;
    if (!progress.known) {
        progress.known = true;
        progress.on = isatty(STDERR_FILENO);
    }
    if (!progress.on) return;
    uint64_t now = zk_now_ns();
    bool changed = strncmp(progress.what, what, sizeof progress.what - 1) != 0;
    if (changed) {
        snprintf(progress.what, sizeof progress.what, "%s", what);
        progress.first_ns = now;
        progress.first_share = total ? (double)done / (double)total : 0;
    } else if (now - progress.last_ns < 100000000u && done != total) {
        return;
    }
    progress.last_ns = now;
    progress.open = true;
    double elapsed = (double)(now - progress.first_ns) * 1e-9;
    if (!total) {
        fprintf(stderr, "\r\033[K%s ...", what);
    } else {
        double share = (double)done / (double)total, gained = share - progress.first_share;
        fprintf(stderr, "\r\033[K%s: %5.1f %%", what, 100 * share);
        if (gained > 0.02 && elapsed > 1) fprintf(stderr, ", %.0f s left", elapsed / gained * (1 - share));
    }
    fflush(stderr);
}

void cli_progress_end(void) {
    if (!progress.open) return;
    progress.open = false;
    progress.what[0] = 0;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
