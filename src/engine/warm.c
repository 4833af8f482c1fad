/* Key files in host memory: the tier between a device and the disk. One thread looks after them: it keeps the files of
 * circuits that were used open and mapped, reads ahead what waiting jobs will need, locks what the budget has room for,
 * and measures by samples what of a file is in memory. It touches no page of a mapping itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/span.h"
#include "engine/circuits.h"
#include "engine/engine_impl.h"
#include "engine/memory.h"
#include "groth16/prepared_params.h"

enum { PERIOD_MS = 1000, N_SAMPLES = 1024, PAGE_BYTES = 4096, WARM_PERCENT = 90 };
#define STEP_BYTES ((uint64_t)64 << 20)

/* ---- for others ---- */

static engine_warm *find(zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes, bool prepared) {
    for (unsigned i = 0; i < engine->n_warm; i++) {
        engine_warm *w = &engine->warm[i];
        if (w->kind == kind && w->sector_bytes == sector_bytes && w->prepared == prepared) return w;
    }
    return NULL;
}

static engine_warm *find_or_add(zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes, bool prepared) {
    engine_warm *w = find(engine, kind, sector_bytes, prepared);
    if (w || engine->n_warm == sizeof engine->warm / sizeof engine->warm[0]) return w;
    w = &engine->warm[engine->n_warm++];
    *w = (engine_warm){.kind = kind, .sector_bytes = sector_bytes, .prepared = prepared};
    return w;
}

static void use(engine_warm *w) {
    if (!w) return;
    w->last_used_ns = zk_now_ns();
    w->drop = false;
}

void engine_warm_used(zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes, bool prepared) {
    if (engine->options.warm == ZK_WARM_OFF) return;
    use(find_or_add(engine, kind, sector_bytes, false));
    if (prepared) use(find_or_add(engine, kind, sector_bytes, true));
    pthread_cond_broadcast(&engine->warm_work);
}

void engine_warm_drop(zk_engine *engine, zk_proof_kind kind, uint64_t sector_bytes) {
    for (unsigned i = 0; i < engine->n_warm; i++) {
        engine_warm *w = &engine->warm[i];
        if (w->kind != kind || w->sector_bytes != sector_bytes) continue;
        w->drop = true;
        w->is_warm = false;
    }
    pthread_cond_broadcast(&engine->warm_work);
}

bool engine_warm_unlock(zk_engine *engine) {
    engine_warm *least = NULL;
    for (unsigned i = 0; i < engine->n_warm; i++) {
        engine_warm *w = &engine->warm[i];
        if (w->locked && w->unlock) return true; /* one after the other */
        if (w->locked && (!least || w->last_used_ns < least->last_used_ns)) least = w;
    }
    if (!least) return false;
    least->unlock = true;
    pthread_cond_broadcast(&engine->warm_work);
    return true;
}

/* ---- the thread: one file; without the lock ---- */

/* Whether the system tells this process which pages of the file are in memory (mincore(2)). */
static bool can_measure(const zk_file_map *map) {
    struct stat st;
    return fstat(map->fd, &st) == 0 && (geteuid() == 0 || geteuid() == st.st_uid || access(map->path, W_OK) == 0);
}

static bool in_memory(const zk_file_map *map) {
    size_t n_pages = (map->n_bytes + PAGE_BYTES - 1) / PAGE_BYTES, n = 0, n_there = 0;
    if (!can_measure(map)) return true; /* it was just read */
    size_t step = n_pages > N_SAMPLES ? n_pages / N_SAMPLES : 1;
    for (size_t i = 0; i < n_pages; i += step, n++) {
        unsigned char there = 0;
        if (mincore((void *)(uintptr_t)(map->data + i * PAGE_BYTES), 1, &there) != 0) return false;
        n_there += there & 1;
    }
    return n_there * 100 >= n * WARM_PERCENT;
}

/* Reads a piece into the system's cache. readahead(2) is bounded by the device's setting, so the pages are faulted in
 * and let go again; before Linux 5.14, copied out. */
static bool read_piece(const zk_file_map *map, uint64_t at, uint64_t n) {
    void *data = (void *)(uintptr_t)(map->data + at);
    if (madvise(data, n, MADV_POPULATE_READ) == 0) return madvise(data, n, MADV_DONTNEED) == 0;
    char scratch[1 << 14];
    for (uint64_t done = 0; errno == EINVAL && done < n; done += sizeof scratch)
        if (pread(map->fd, scratch, sizeof scratch, (off_t)(at + done)) <= 0) return false;
    return errno == EINVAL;
}

/* Ends early when the engine does, or memory gets short. */
static void read_ahead(const zk_engine *engine, const zk_file_map *map) {
    for (uint64_t at = 0; at < map->n_bytes && !engine->stopping; at += STEP_BYTES) {
        uint64_t left = map->n_bytes - at;
        if (zk_memory_available() < 2 * STEP_BYTES + engine->machine_bytes / 16) return;
        if (!read_piece(map, at, left < STEP_BYTES ? left : STEP_BYTES)) return;
    }
}

/* In steps, so that the end of the engine need not wait. */
static bool lock_pages(const zk_engine *engine, const zk_file_map *map) {
    for (uint64_t at = 0; at < map->n_bytes; at += STEP_BYTES) {
        uint64_t left = map->n_bytes - at;
        if (!engine->stopping && mlock(map->data + at, left < STEP_BYTES ? left : STEP_BYTES) == 0) continue;
        munlock(map->data, map->n_bytes);
        return false;
    }
    return true;
}

/* ---- the thread: what to do; with the lock, which is given up meanwhile ---- */

static void close_file(zk_engine *engine, engine_warm *w, bool forget_pages) {
    zk_file_map map = w->map;
    bool was_locked = w->locked;
    w->map = (zk_file_map){0};
    w->is_warm = false;
    engine_unlock(engine);
    uint64_t n_bytes = map.n_bytes;
    if (map.path && was_locked) munlock(map.data, map.n_bytes);
    int fd = map.path && forget_pages ? dup(map.fd) : -1;
    zk_file_map_close(&map);
    if (fd >= 0) {
        int unused = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        (void)unused; /* a wish */
        close(fd);
    }
    engine_lock(engine);
    if (was_locked) engine->host.reserved_bytes -= n_bytes;
    w->locked = w->unlock = false;
    pthread_cond_broadcast(&engine->work);
}

static void open_file(zk_engine *engine, engine_warm *w) {
    char path[ZK_KEY_PATH_BYTES], *prepared = NULL;
    zk_file_map map = {0};
    engine_unlock(engine);
    cuzk_status status = zk_circuit_key_path(path, NULL, engine->options.param_cache, w->kind, w->sector_bytes, NULL);
    if (status == CUZK_OK && w->prepared) status = zk_prepared_path(&prepared, path, NULL);
    if (status == CUZK_OK) status = zk_file_map_open(&map, prepared ? prepared : path, 1, UINT64_MAX, NULL);
    free(prepared);
    engine_lock(engine);
    if (status == CUZK_OK) w->map = map;
}

static bool is_hot(const zk_engine *engine, const engine_warm *w) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        for (unsigned k = 0; k < engine->lanes[i].n_circuits; k++) {
            const engine_circuit *c = &engine->lanes[i].circuits[k];
            if (c->kind == w->kind && c->sector_bytes == w->sector_bytes) return true;
        }
    return false;
}

static void want_queued(zk_engine *engine) {
    for (size_t i = 0; i < engine->n_jobs; i++) {
        const engine_job *job = engine->jobs[i];
        if (!engine_job_is_open(job) || !job->circuit_id[0]) continue;
        zk_proof_kind kind = (zk_proof_kind)job->meta.kind;
        engine_warm *w = find_or_add(engine, kind, job->meta.sector_bytes, false);
        if (!w || is_hot(engine, w)) continue;
        use(w);
        if (!engine->options.no_prepared && !engine_mistrusts(engine, kind, job->meta.sector_bytes))
            use(find_or_add(engine, kind, job->meta.sector_bytes, true)); /* it may be there */
    }
}

/* Locked memory comes out of the host's pool, when it has room. */
static void lock_file(zk_engine *engine, engine_warm *w) {
    engine_pool *host = &engine->host;
    uint64_t n_bytes = w->map.n_bytes;
    if (engine->options.warm != ZK_WARM_RESIDENT || w->locked || engine->mlock_failed) return;
    if (host->reserved_bytes + n_bytes > host->budget_bytes) return;
    host->reserved_bytes += n_bytes;
    w->locked = true;
    engine_unlock(engine);
    bool good = lock_pages(engine, &w->map);
    engine_lock(engine);
    w->is_warm = w->is_warm || good;
    if (good) return;
    w->locked = false;
    host->reserved_bytes -= n_bytes;
    pthread_cond_broadcast(&engine->work);
    if (engine->stopping) return;
    engine->mlock_failed = true;
    ZK_LOG_WARN("key files cannot be locked in memory (limit of locked memory?); they stay in the system's cache");
}

static void look_after(zk_engine *engine, engine_warm *w) {
    bool hot = is_hot(engine, w), changed = false;
    if (w->map.path) {
        engine_unlock(engine);
        changed = zk_file_map_check(&w->map, NULL) != CUZK_OK;
        engine_lock(engine);
    }
    if (w->map.path && (w->drop || w->unlock || changed)) close_file(engine, w, w->drop);
    if (w->drop) return;
    if (!w->map.path) open_file(engine, w);
    if (!w->map.path || engine->stopping) return;
    engine_unlock(engine);
    bool warm = in_memory(&w->map);
    if (!warm && !hot) {
        read_ahead(engine, &w->map);
        warm = in_memory(&w->map);
    }
    engine_lock(engine);
    w->is_warm = warm && !w->drop;
    if (!hot) lock_file(engine, w);
}

static void *keep_warm(void *ctx) {
    zk_engine *engine = ctx;
    engine_lock(engine);
    while (!engine->stopping) {
        want_queued(engine);
        for (unsigned i = 0; i < engine->n_warm && !engine->stopping; i++) look_after(engine, &engine->warm[i]);
        if (engine->stopping) break;
        zk_cond_wait_until(&engine->warm_work, &engine->lock, zk_now_ns() + PERIOD_MS * ZK_MS_NS);
    }
    for (unsigned i = 0; i < engine->n_warm; i++) close_file(engine, &engine->warm[i], false);
    engine_unlock(engine);
    return NULL;
}

cuzk_status engine_warm_start(zk_engine *engine, cuzk_err *err) {
    if (engine->options.warm == ZK_WARM_OFF) return CUZK_OK;
    if (pthread_create(&engine->warm_thread, NULL, keep_warm, engine) != 0)
        return ZK_FAIL(err, CUZK_EXHAUSTED, "no thread for key files");
    engine->warm_running = true;
    return CUZK_OK;
}

void engine_warm_stop(zk_engine *engine) {
    if (!engine->warm_running) return;
    engine_lock(engine);
    pthread_cond_broadcast(&engine->warm_work);
    engine_unlock(engine);
    pthread_join(engine->warm_thread, NULL);
    engine->warm_running = false;
}
