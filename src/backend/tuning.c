#include "backend/tuning.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json_dom.h"
#include "base/json_writer.h"

/* MAX_WINDOWS: 20 digits in the integers of the endomorphism, ZK_CUDA_HEXAGONS + 20 (cuda/cuda_kernels.h). */
enum { MAX_FILE_BYTES = 1 << 20, MIN_WINDOWS = 10, MAX_WINDOWS = 84, MIN_LANE_ENTRIES = 1 << 10, MAX_LANES = 6 };

static const char *const group_name[] = {[ZK_G1] = "g1", [ZK_G2] = "g2"};

/* ---- the file's place ---- */

cuzk_status zk_tuning_path(char **path, const char *device, cuzk_err *err) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    *path = NULL;
    if (cache && !cache[0]) cache = NULL;
    if (!cache && (!home || !home[0]))
        return ZK_FAIL(err, CUZK_NOT_FOUND, "tuning of %s: neither XDG_CACHE_HOME nor HOME is set", device);
    char name[96];
    size_t n = 0;
    for (; device[n] && n < sizeof name - 1; n++) name[n] = isalnum((unsigned char)device[n]) ? device[n] : '-';
    name[n] = 0;
    *path = zk_asprintf("%s%s/cuzk/tune-%s.json", cache ? cache : home, cache ? "" : "/.cache", name);
    return *path ? CUZK_OK : ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "tuning of %s: out of memory", device);
}

/* The folders that lead to a file. */
static cuzk_status make_folders(const char *path, cuzk_err *err) {
    const char *end = strrchr(path, '/');
    if (!end || end == path) return CUZK_OK;
    char *folder = zk_asprintf("%.*s", (int)(end - path), path);
    if (!folder) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", path);
    cuzk_status status = zk_folder_create(folder, err);
    free(folder);
    return status;
}

/* ---- writing ---- */

cuzk_status zk_tuning_check_writable(const char *path, cuzk_err *err) {
    ZK_TRY(make_folders(path, err));
    return zk_file_check_writable(path, err);
}

void zk_tuning_put_ways(zk_json_writer *json, const zk_tuning *tuning) {
    zk_json_begin_array(json, "msm");
    for (unsigned i = 0; i < tuning->n; i++) {
        const zk_tuning_entry *e = &tuning->entry[i];
        zk_json_begin_object(json, NULL);
        zk_json_put_string(json, "group", group_name[e->group]);
        zk_json_put_u64(json, "log2_n", e->log2_n);
        zk_json_put_u64(json, "windows", e->windows);
        zk_json_put_u64(json, "entries", e->entries);
        zk_json_put_u64(json, "lanes", e->lanes);
        zk_json_put_double(json, "ms", e->ms);
        zk_json_put_double(json, "rule_ms", e->rule_ms);
        zk_json_end(json);
    }
    zk_json_end(json);
}

cuzk_status zk_tuning_write(const char *path, const zk_tuning *tuning, cuzk_err *err) {
    zk_json_writer *json = zk_json_writer_create(NULL, 2);
    zk_json_begin_object(json, NULL);
    zk_json_put_u64(json, "format", ZK_TUNING_FORMAT);
    zk_json_put_u64(json, "kernels", ZK_TUNING_KERNELS);
    zk_json_put_string(json, "device", tuning->device);
    zk_json_put_string(json, "driver", tuning->driver);
    zk_json_put_string(json, "date", tuning->date);
    zk_tuning_put_ways(json, tuning);
    zk_json_end(json);
    cuzk_status status = zk_json_writer_finish(json, err);
    if (status == CUZK_OK) {
        size_t n;
        const char *text = zk_json_writer_text(json, &n);
        status = zk_file_write(path, text, n, err);
    }
    zk_json_writer_destroy(json);
    return status;
}

/* ---- reading ---- */

static cuzk_status get_number(unsigned *out, const zk_json_value *object, const char *name, unsigned least,
                              unsigned most, bool or_zero, cuzk_err *err) {
    uint64_t v;
    ZK_TRY(zk_json_get_u64(&v, zk_json_member_of(object, name), most, name, err));
    if (v < least && !(or_zero && v == 0))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: found %llu, expected %u to %u", name, (unsigned long long)v, least,
                       most);
    *out = (unsigned)v;
    return CUZK_OK;
}

static cuzk_status get_text(char *out, size_t n_out, const zk_json_value *root, const char *name, cuzk_err *err) {
    const char *text;
    ZK_TRY(zk_json_get_string(&text, zk_json_member_of(root, name), name, err));
    if (strlen(text) >= n_out) return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: longer than %zu bytes", name, n_out - 1);
    strcpy(out, text);
    return CUZK_OK;
}

static cuzk_status get_entry(zk_tuning_entry *e, const zk_json_value *object, cuzk_err *err) {
    const char *group;
    ZK_TRY(zk_json_get_string(&group, zk_json_member_of(object, "group"), "group", err));
    if (strcmp(group, "g1") != 0 && strcmp(group, "g2") != 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "group: found \"%s\", expected g1 or g2", group);
    e->group = group[1] == '1' ? ZK_G1 : ZK_G2;
    ZK_TRY(get_number(&e->log2_n, object, "log2_n", 0, 29, false, err));
    ZK_TRY(get_number(&e->windows, object, "windows", MIN_WINDOWS, MAX_WINDOWS, true, err));
    ZK_TRY(get_number(&e->entries, object, "entries", MIN_LANE_ENTRIES, 1u << 30, true, err));
    ZK_TRY(get_number(&e->lanes, object, "lanes", 1, MAX_LANES, true, err));
    ZK_TRY(zk_json_get_double(&e->ms, zk_json_member_of(object, "ms"), "ms", err));
    return zk_json_get_double(&e->rule_ms, zk_json_member_of(object, "rule_ms"), "rule_ms", err);
}

static cuzk_status get_table(zk_tuning *tuning, const zk_json_value *root, const char *device, cuzk_err *err) {
    const zk_json_value *list;
    unsigned format, kernels;
    ZK_TRY(get_number(&format, root, "format", 0, UINT32_MAX, false, err));
    ZK_TRY(get_number(&kernels, root, "kernels", 0, UINT32_MAX, false, err));
    if (format != ZK_TUNING_FORMAT || kernels != ZK_TUNING_KERNELS)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "format %u for kernels %u, expected %u and %u", format, kernels,
                       ZK_TUNING_FORMAT, ZK_TUNING_KERNELS);
    ZK_TRY(get_text(tuning->device, sizeof tuning->device, root, "device", err));
    ZK_TRY(get_text(tuning->driver, sizeof tuning->driver, root, "driver", err));
    ZK_TRY(get_text(tuning->date, sizeof tuning->date, root, "date", err));
    if (strcmp(tuning->device, device) != 0)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "measured on \"%s\", this device is \"%s\"", tuning->device, device);
    ZK_TRY(zk_json_get_member(&list, root, "msm", ZK_JSON_ARRAY_BEGIN, err));
    if (zk_json_count(list) > ZK_TUNING_MAX_ENTRIES)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "msm: %zu entries, at most %d", zk_json_count(list), ZK_TUNING_MAX_ENTRIES);
    for (size_t i = 0; i < zk_json_count(list); i++)
        ZK_TRY(get_entry(&tuning->entry[tuning->n++], zk_json_element_of(list, i), err));
    return CUZK_OK;
}

cuzk_status zk_tuning_read(zk_tuning *tuning, const char *path, const char *device, cuzk_err *err) {
    zk_json_doc *doc;
    *tuning = (zk_tuning){0};
    ZK_TRY(zk_json_parse_file(&doc, path, MAX_FILE_BYTES, err));
    cuzk_status status = get_table(tuning, zk_json_root(doc), device, err);
    if (status != CUZK_OK) zk_err_prefix(err, "%s", path);
    zk_json_doc_destroy(doc);
    return status;
}
