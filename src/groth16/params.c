#include "groth16/params.h"

#include "base/alloc.h"
#include "base/bytes.h"

static const struct {
    const char *name;
    zk_group group;
} sections[ZK_PARAMS_N_SECTIONS] = {
    {"h", ZK_G1}, {"l", ZK_G1}, {"a", ZK_G1}, {"b_g1", ZK_G1}, {"b_g2", ZK_G2},
};

const char *zk_params_section_name(zk_params_section_id id) { return sections[id].name; }
zk_group zk_params_section_group(zk_params_section_id id) { return sections[id].group; }
size_t zk_params_point_bytes(zk_params_section_id id) {
    return sections[id].group == ZK_G1 ? ZK_G1_UNCOMPRESSED_BYTES : ZK_G2_UNCOMPRESSED_BYTES;
}

static cuzk_status check_count(const zk_params *p, int id, const zk_params_counts *expected, cuzk_err *err) {
    if (p->section[id].n == expected->n[id]) return CUZK_OK;
    return ZK_FAIL(
        err, CUZK_BAD_INPUT,
        "%s: section %s: count at offset %llu: found %u points, circuit %s needs %llu: damaged, or the key of "
        "another circuit",
        p->name, sections[id].name, (unsigned long long)p->section[id].count_offset, p->section[id].n,
        expected->circuit, (unsigned long long)expected->n[id]);
}

static cuzk_status read_sections(zk_params *p, const zk_params_counts *expected, cuzk_err *err) {
    uint64_t at = p->vk_bytes;
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        zk_params_section *section = &p->section[id];
        uint64_t left = p->n_bytes - at;
        if (left < 4)
            return ZK_FAIL(err, CUZK_BAD_INPUT, "%s: section %s: count at offset %llu: file ends at %zu", p->name,
                           sections[id].name, (unsigned long long)at, p->n_bytes);
        section->count_offset = at;
        section->offset = at + 4;
        section->n = zk_load_be32(p->bytes + at);
        if (expected) ZK_TRY(check_count(p, id, expected, err));
        uint64_t bytes = (uint64_t)section->n * zk_params_point_bytes((zk_params_section_id)id);
        if (bytes > left - 4)
            return ZK_FAIL(err, CUZK_BAD_INPUT,
                           "%s: section %s: count at offset %llu: %u points need %llu bytes, expected at most %llu "
                           "points (the file ends at %zu)",
                           p->name, sections[id].name, (unsigned long long)at, section->n, (unsigned long long)bytes,
                           (unsigned long long)((left - 4) / zk_params_point_bytes((zk_params_section_id)id)),
                           p->n_bytes);
        at += 4 + bytes;
    }
    if (at != p->n_bytes)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "%s: section b_g2: last point ends at offset %llu, file at %zu: expected nothing behind it",
                       p->name, (unsigned long long)at, p->n_bytes);
    return CUZK_OK;
}

typedef cuzk_status (*vk_reader)(zk_vk *vk, size_t *n_used, const uint8_t *bytes, size_t n_bytes, const char *name,
                                 cuzk_err *err);

/* The structure first: what is no parameter file at all has no bad points. */
static cuzk_status open_bytes(zk_params **params, const char *name, const uint8_t *bytes, size_t n_bytes,
                              const zk_params_counts *expected, vk_reader read_vk, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *params = NULL;
    zk_params *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", name);
    p->name = name;
    p->bytes = bytes;
    p->n_bytes = n_bytes;
    ZK_GOTO(zk_vk_measure(&p->vk.n_ic, bytes, n_bytes, name, err));
    p->vk_bytes = zk_vk_bytes(p->vk.n_ic);
    if (expected) ZK_GOTO(zk_vk_match(&p->vk, name, expected->circuit, expected->n_inputs, err));
    ZK_GOTO(read_sections(p, expected, err));
    ZK_GOTO(read_vk(&p->vk, &p->vk_bytes, bytes, n_bytes, name, err));
    *params = p;
    p = NULL;
out:
    zk_params_close(p);
    return status;
}

cuzk_status zk_params_open_bytes(zk_params **params, const char *name, const uint8_t *bytes, size_t n_bytes,
                                 const zk_params_counts *expected, cuzk_err *err) {
    return open_bytes(params, name, bytes, n_bytes, expected, zk_vk_decode, err);
}

static cuzk_status open_file(zk_params **params, const char *path, const zk_params_counts *expected, vk_reader read_vk,
                             cuzk_err *err) {
    zk_file_map map = {0};
    *params = NULL;
    ZK_TRY(zk_file_map_open(&map, path, 0, UINT64_MAX, err));
    cuzk_status status = open_bytes(params, map.path, map.data, map.n_bytes, expected, read_vk, err);
    if (status == CUZK_OK)
        (*params)->map = map;
    else
        zk_file_map_close(&map);
    return status;
}

cuzk_status zk_params_open(zk_params **params, const char *path, const zk_params_counts *expected, cuzk_err *err) {
    return open_file(params, path, expected, zk_vk_decode, err);
}

cuzk_status zk_params_open_to_check(zk_params **params, const char *path, cuzk_err *err) {
    return open_file(params, path, NULL, zk_vk_check, err);
}

cuzk_status zk_params_unchanged(const zk_params *params, cuzk_err *err) {
    return params->map.path ? zk_file_map_check(&params->map, err) : CUZK_OK;
}

void zk_params_close(zk_params *params) {
    if (!params) return;
    zk_vk_clear(&params->vk);
    if (params->map.path) zk_file_map_close(&params->map);
    free(params);
}

/* ---- what belongs to which circuit ---- */

cuzk_status zk_params_counts_of(zk_params_counts *counts, const zk_program *program, const zk_program_stats *stats,
                                cuzk_err *err) {
    unsigned log2_n;
    ZK_TRY(zk_program_log2_domain(&log2_n, program, err));
    counts->circuit = program->name;
    counts->n_inputs = program->n_inputs;
    counts->n[ZK_PARAMS_H] = (UINT64_C(1) << log2_n) - 1;
    counts->n[ZK_PARAMS_L] = program->n_aux;
    counts->n[ZK_PARAMS_A] = (uint64_t)program->n_inputs + stats->a_aux;
    counts->n[ZK_PARAMS_B_G1] = (uint64_t)stats->b_input + stats->b_aux;
    counts->n[ZK_PARAMS_B_G2] = counts->n[ZK_PARAMS_B_G1];
    return CUZK_OK;
}

cuzk_status zk_params_match(const zk_params *params, const zk_params_counts *expected, cuzk_err *err) {
    ZK_TRY(zk_vk_match(&params->vk, params->name, expected->circuit, expected->n_inputs, err));
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) ZK_TRY(check_count(params, id, expected, err));
    return CUZK_OK;
}

cuzk_status zk_params_refuse_point(const zk_params *params, zk_params_section_id id, const zk_points_fault *fault,
                                   cuzk_status status, cuzk_err *err) {
    const zk_params_section *section = &params->section[id];
    uint64_t offset = section->offset + (uint64_t)fault->index * zk_params_point_bytes(id);
    char text[ZK_POINT_TEXT_BYTES];
    ZK_TRY(zk_params_unchanged(params, err));
    zk_point_text(text, params->bytes + offset);
    return ZK_FAIL(err, status,
                   "%s: section %s: point %zu of %u at offset %llu: %s: found %s, expected a point of %s other than "
                   "infinity",
                   params->name, sections[id].name, fault->index, section->n, (unsigned long long)offset,
                   fault->infinity ? "infinity" : zk_point_verdict_text(fault->verdict), text,
                   sections[id].group == ZK_G1 ? "G1" : "G2");
}
