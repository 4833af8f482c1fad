/* Which devices prove. This process never opens one: a worker that lives for that alone counts them. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/engine_impl.h"

enum { PROBE_TIMEOUT_S = 60, PROBE_END_S = 2 };

/* *n 0: none, and `why` says why. */
static cuzk_status probe(unsigned *n, char why[512], const zk_engine_options *options, cuzk_err *err) {
    zk_ipc_message hello = {0};
    pid_t pid = 0;
    int fd = -1;
    *n = 0;
    zk_progress *progress = NULL;
    ZK_TRY(engine_spawn(&pid, &fd, &progress, 1, options, "probe", 0, err));
    engine_progress_free(progress);
    cuzk_status status = zk_ipc_receive(&hello, NULL, fd, PROBE_TIMEOUT_S * 1000, err);
    close(fd);
    kill(pid, SIGKILL);
    int ended;
    if (!engine_reap(&ended, pid, PROBE_END_S * ZK_SECOND_NS))
        ZK_LOG_WARN("the process that counts devices does not end", zk_kv_u64("pid", (uint64_t)pid));
    if (status == CUZK_EXHAUSTED)
        return ZK_FAIL(err, CUZK_DEVICE, "the devices could not be counted within %d s", PROBE_TIMEOUT_S);
    if (status != CUZK_OK) { /* a driver may end who asks it */
        snprintf(why, 512, "the process that counts them died");
        return CUZK_OK;
    }
    if (hello.type != ZK_IPC_HELLO || hello.version != ZK_IPC_VERSION)
        return ZK_FAIL(err, CUZK_INTERNAL, "worker: %s is of another version", options->worker_program);
    *n = hello.n_devices;
    snprintf(why, 512, "%s", hello.message[0] ? hello.message : "there are none");
    return CUZK_OK;
}

static void add(zk_engine *engine, bool cuda, unsigned ordinal) {
    engine_device *d = &engine->devices[engine->n_devices++];
    *d = (engine_device){.ordinal = ordinal};
    snprintf(d->kind, sizeof d->kind, "%s", cuda ? "cuda" : "cpu");
    d->pool = cuda ? &d->own : &engine->host;
}

static cuzk_status add_named(zk_engine *engine, const char *name, size_t n, unsigned n_cuda, const char *why,
                             cuzk_err *err) {
    unsigned ordinal = 0;
    int end = -1;
    char text[32];
    bool cpu = n == 3 && memcmp(name, "cpu", 3) == 0;
    snprintf(text, sizeof text, "%.*s", (int)n, name);
    if (!cpu &&
        (n >= sizeof text ||
         (sscanf(text, "cuda:%u%n", &ordinal, &end) < 1 && sscanf(text, "%u%n", &ordinal, &end) < 1) || end != (int)n))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "devices: found \"%s\", expected auto, or a list of cpu, cuda:N and N",
                       text);
    if (!cpu && !n_cuda) return ZK_FAIL(err, CUZK_DEVICE, "devices: found %s; no CUDA devices: %s", text, why);
    if (!cpu && ordinal >= n_cuda)
        return ZK_FAIL(err, CUZK_DEVICE, "devices: found %s, this machine has cuda:0 to cuda:%u", text, n_cuda - 1);
    for (unsigned i = 0; i < engine->n_devices; i++)
        if (engine_device_is_cpu(&engine->devices[i]) == cpu && engine->devices[i].ordinal == ordinal)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "devices: found %s twice", text);
    if (engine->n_devices == ENGINE_MAX_DEVICES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "devices: found more than %d", ENGINE_MAX_DEVICES);
    add(engine, !cpu, ordinal);
    return CUZK_OK;
}

cuzk_status engine_devices_find(zk_engine *engine, const char *text, cuzk_err *err) {
    unsigned n_cuda = 0;
    char why[512] = "";
    bool automatic = strcmp(text, "auto") == 0, ask = automatic;
    for (const char *p = text; *p && !automatic; p++) ask |= *p >= '0' && *p <= '9';
    engine->devices = zk_calloc(ENGINE_MAX_DEVICES + 1, sizeof *engine->devices);
    if (!engine->devices) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for devices");
    if (ask) ZK_TRY(probe(&n_cuda, why, &engine->options, err));
    if (automatic) {
        for (unsigned i = 0; i < n_cuda && i < ENGINE_MAX_DEVICES; i++) add(engine, true, i);
        if (!n_cuda) ZK_LOG_INFO("no CUDA devices: the CPU proves", zk_kv_str("why", why));
        if (!n_cuda) add(engine, false, 0);
    } else {
        for (const char *p = text;;) {
            size_t n = strcspn(p, ",");
            ZK_TRY(add_named(engine, p, n, n_cuda, why, err));
            if (!p[n]) break;
            p += n + 1;
        }
    }
    /* behind the list: what is not on a device */
    engine_device *cpu = &engine->devices[engine->n_devices];
    *cpu = (engine_device){.kind = "cpu", .pool = &engine->host};
    return CUZK_OK;
}

bool engine_device_fits(const engine_device *device, zk_proof_kind kind, uint64_t sector_bytes) {
    for (unsigned i = 0; i < device->n_unfit; i++)
        if (device->unfit[i].kind == kind && device->unfit[i].sector_bytes == sector_bytes) return false;
    return true;
}

void engine_device_unfit(engine_device *device, zk_proof_kind kind, uint64_t sector_bytes) {
    if (device->n_unfit == ENGINE_MAX_CIRCUITS || !engine_device_fits(device, kind, sector_bytes)) return;
    device->unfit[device->n_unfit].kind = kind;
    device->unfit[device->n_unfit++].sector_bytes = sector_bytes;
}
