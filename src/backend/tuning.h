/* How multi-scalar multiplications are cut on a device, measured by `cuzk tune` and kept in a file:
 *
 *   {"format": 1, "kernels": 2, "device": NAME, "driver": "13.0", "date": "2026-11-30T12:00:00Z",
 *    "msm": [{"group": "g1", "log2_n": 16, "windows": 17, "entries": 0, "lanes": 2, "ms": 2.1, "rule_ms": 2.3}, ...]}
 *
 * windows, entries and lanes are those of zk_cuda_msm_prefer; 0 leaves the choice to the rule. A table is for one
 * device and one generation of kernels. */
#ifndef ZK_BACKEND_TUNING_H
#define ZK_BACKEND_TUNING_H

#include "backend/backend.h"

struct zk_json_writer;

#define ZK_TUNING_FORMAT 1
#define ZK_TUNING_KERNELS 2 /* raised when a change of the kernels makes older tables worthless */
#define ZK_TUNING_MAX_ENTRIES 64

typedef struct zk_tuning_entry {
    zk_group group;
    unsigned log2_n;
    unsigned windows, entries, lanes;
    double ms, rule_ms; /* of one MSM: cut like this; by the rule */
} zk_tuning_entry;

typedef struct zk_tuning {
    char device[96], driver[32], date[32];
    unsigned n;
    zk_tuning_entry entry[ZK_TUNING_MAX_ENTRIES];
} zk_tuning;

/* $XDG_CACHE_HOME/cuzk/tune-DEVICE.json, or under ~/.cache; what is not a letter or digit of DEVICE becomes '-'.
 * NOT_FOUND: the environment has neither. *path: the caller's, to be freed. */
cuzk_status zk_tuning_path(char **path, const char *device, cuzk_err *err) ZK_MUST_USE;
/* Makes the folders of `path` that are missing. */
cuzk_status zk_tuning_check_writable(const char *path, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_tuning_write(const char *path, const zk_tuning *tuning, cuzk_err *err) ZK_MUST_USE;
/* The member "msm" of such a table. */
void zk_tuning_put_ways(struct zk_json_writer *json, const zk_tuning *tuning);
/* BAD_INPUT: not such a table, or one for another device or other kernels. */
cuzk_status zk_tuning_read(zk_tuning *tuning, const char *path, const char *device, cuzk_err *err) ZK_MUST_USE;

/* Measures MSMs of both groups over 2^from .. 2^to points, or as many as the device's memory allows, on a CUDA backend
 * on which nothing else is loaded. Every result is compared with that of the rule. runs: of each way, the median
 * counts. report (may be NULL) is called after each size. CANCELLED: the process asked to stop. */
typedef void (*zk_tuning_report)(void *ctx, const zk_tuning_entry *entry);
cuzk_status zk_tuning_measure(zk_tuning *tuning, zk_backend *backend, unsigned from, unsigned to, unsigned runs,
                              zk_tuning_report report, void *report_ctx, cuzk_err *err) ZK_MUST_USE;
/* For MSMs from now on. */
void zk_tuning_apply(zk_backend *backend, const zk_tuning *tuning);

#endif
