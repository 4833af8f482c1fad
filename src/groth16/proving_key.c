#include "groth16/proving_key.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "groth16/prepared_params.h"

static const zk_query_id query_of[ZK_PARAMS_N_SECTIONS] = {[ZK_PARAMS_L] = ZK_QUERY_L,
                                                           [ZK_PARAMS_A] = ZK_QUERY_A,
                                                           [ZK_PARAMS_B_G1] = ZK_QUERY_B,
                                                           [ZK_PARAMS_B_G2] = ZK_QUERY_B};

/* Lines of the memory account. */
static const char *const memory_name[ZK_PARAMS_N_SECTIONS] = {"key h", "key l", "key a", "key b_g1", "key b_g2"};

void zk_proof_shape_make(zk_proof_shape *shape, const zk_resident_program *program, const zk_query_masks *masks) {
    *shape = (zk_proof_shape){.program = program->program,
                              .log2_n = program->log2_n,
                              .n_vectors = masks->form == ZK_KEY_PLAIN ? 3 : 2,
                              .n_selections = ZK_N_QUERIES};
    for (int q = 0; q < ZK_N_QUERIES; q++) {
        size_t n_bits = masks->query[q].n_bits, n_full = masks->query[q].n_points - n_bits;
        shape->some_bits = zk_max_size(shape->some_bits, (n_bits + 63) / 64 * 8);
        if (!masks->query[q].full_is_range) shape->some_full = zk_max_size(shape->some_full, n_full * sizeof(zk_fr));
    }
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        size_t n = ((size_t)1 << program->log2_n) - (masks->form == ZK_KEY_PLAIN), n_bits = 0;
        if (id != ZK_PARAMS_H) {
            n = masks->query[query_of[id]].n_points;
            n_bits = masks->query[query_of[id]].n_bits;
        }
        for (int masked = 0; masked < (id == ZK_PARAMS_H ? 1 : 2); masked++) {
            shape->sum[shape->n_sums].name = memory_name[id];
            shape->sum[shape->n_sums].group = zk_params_section_group((zk_params_section_id)id);
            shape->sum[shape->n_sums].n = masked ? n_bits : n - n_bits;
            shape->sum[shape->n_sums++].masked = masked;
        }
    }
}

void zk_proving_key_plan(const zk_resident_program *program, const zk_query_masks *masks, zk_memory_plan *plan) {
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        size_t n_h = ((size_t)1 << program->log2_n) - (masks->form == ZK_KEY_PLAIN);
        size_t n = id == ZK_PARAMS_H ? n_h : masks->query[query_of[id]].n_points;
        zk_resident_points_plan(program->backend, memory_name[id], zk_params_section_group((zk_params_section_id)id), n,
                                plan);
    }
    zk_memory_plan_add(plan, "selections", ZK_N_QUERIES,
                       zk_witness_bits_bytes(program->program) +
                           ((uint64_t)program->program->n_inputs + program->program->n_wide) / 8);
}

/* Where the points of a section go: [0] full, [1] bits. */
static void slots_of(zk_resident_points **slot[2], zk_proving_key *key, zk_params_section_id id) {
    zk_resident_points **pair = id == ZK_PARAMS_L      ? key->l
                                : id == ZK_PARAMS_A    ? key->a
                                : id == ZK_PARAMS_B_G1 ? key->b_g1
                                                       : key->b_g2;
    slot[0] = id == ZK_PARAMS_H ? &key->h : &pair[0];
    slot[1] = id == ZK_PARAMS_H ? NULL : &pair[1];
}

/* One section; `source` says where its points come from, the rest is filled in here. */
static cuzk_status load_section(zk_proving_key *key, zk_points_fault *fault, zk_params_section_id id,
                                zk_points_source source, const zk_query_masks *masks, zk_trace *trace, cuzk_err *err) {
    zk_resident_points **slot[2];
    source.name = memory_name[id];
    source.group = zk_params_section_group(id);
    source.is_bit = id == ZK_PARAMS_H ? NULL : masks->query[query_of[id]].is_bit;
    slots_of(slot, key, id);
    zk_span *span = zk_span_open_kernel(trace, zk_params_section_name(id));
    cuzk_status status = zk_resident_points_load(slot[0], slot[1], fault, key->program->backend, &source, err);
    zk_span_count(span, "points", source.n);
    zk_span_close(trace, span);
    return status == CUZK_OK ? zk_cancel_check(NULL, "key load", err) : status;
}

static cuzk_status copy_vk(zk_vk *vk, const zk_vk *from, cuzk_err *err) {
    *vk = *from;
    vk->ic = zk_malloc(from->n_ic * sizeof *vk->ic);
    if (!vk->ic) {
        vk->n_ic = 0;
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "verifying key: out of memory");
    }
    for (uint32_t i = 0; i < from->n_ic; i++) vk->ic[i] = from->ic[i];
    return CUZK_OK;
}

/* Room for proofs, and the selections: what stays on the device comes before what is there for a time. */
static cuzk_status begin_key(zk_proving_key *key, const zk_query_masks *masks, zk_trace *trace, cuzk_err *err) {
    const zk_program *p = key->program->program;
    zk_proof_shape shape;
    key->form = masks->form;
    zk_proof_shape_make(&shape, key->program, masks);
    zk_span *span = zk_span_open(trace, "selections");
    ZK_TRY(zk_proof_reserve(key->program, &shape, err));
    key->n_vectors = zk_proof_vectors(key->program->backend, &shape);
    for (int q = 0; q < ZK_N_QUERIES; q++)
        ZK_TRY(zk_selection_create(&key->selection[q], key->program->backend, masks->query[q].bit_mask, p->n_aux,
                                   masks->query[q].full_mask, (size_t)p->n_inputs + p->n_wide, err));
    zk_span_close(trace, span);
    return CUZK_OK;
}

static cuzk_status prepare_vk(zk_proving_key *key, const char *name, zk_trace *trace, cuzk_err *err) {
    zk_span *span = zk_span_open(trace, "verifying key");
    ZK_TRY(zk_prepared_vk_create(&key->prepared, &key->vk, name, err));
    zk_span_close(trace, span);
    return CUZK_OK;
}

/* ---- from a file ---- */

/* The section of a prepared key that stands for one of the parameter file. */
static bool in_prepared(zk_prepared_section_id *prepared, zk_params_section_id id) {
    *prepared = id == ZK_PARAMS_H ? ZK_PREPARED_G : ZK_PREPARED_L;
    return id == ZK_PARAMS_H || id == ZK_PARAMS_L;
}

static cuzk_status load_from_files(zk_proving_key *key, zk_params_section_id id, const zk_params *params,
                                   const zk_prepared_params *prepared, const zk_query_masks *masks, zk_trace *trace,
                                   cuzk_err *err) {
    zk_points_source source = {.encoded = params->bytes + params->section[id].offset, .n = params->section[id].n};
    zk_points_fault fault = {0};
    zk_prepared_section_id of;
    bool replaced = prepared && in_prepared(&of, id);
    if (replaced) {
        source.encoded = prepared->section[of].points;
        source.n = prepared->section[of].n;
    }
    cuzk_status status = load_section(key, &fault, id, source, masks, trace, err);
    if (status == CUZK_OK || !fault.found) return status;
    return replaced ? zk_prepared_params_refuse_point(prepared, of, &fault, status, err)
                    : zk_params_refuse_point(params, id, &fault, status, err);
}

cuzk_status zk_proving_key_load_files(zk_proving_key **key, const zk_resident_program *program, const zk_params *params,
                                      const zk_prepared_params *prepared, const zk_query_masks *masks, zk_trace *trace,
                                      cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_params_counts expected;
    *key = NULL;
    zk_proving_key *k = zk_calloc(1, sizeof *k);
    if (!k) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", params->name);
    k->program = program;
    if ((masks->form == ZK_KEY_PREPARED) != (prepared != NULL))
        ZK_GOTO(ZK_FAIL(err, CUZK_INTERNAL, "%s: masks of another form than the key", params->name));
    ZK_GOTO(zk_params_counts_of(&expected, program->program, &masks->stats, err));
    ZK_GOTO(zk_params_match(params, &expected, err));
    ZK_GOTO(begin_key(k, masks, trace, err));
    ZK_GOTO(copy_vk(&k->vk, &params->vk, err));
    ZK_GOTO(prepare_vk(k, params->name, trace, err));
    for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++)
        ZK_GOTO(load_from_files(k, (zk_params_section_id)i, params, prepared, masks, trace, err));
    ZK_GOTO(zk_params_unchanged(params, err));
    if (prepared) ZK_GOTO(zk_file_map_check(&prepared->map, err));
    *key = k;
    k = NULL;
out:
    zk_proving_key_destroy(k);
    return status;
}

static cuzk_status load(zk_proving_key **key, const zk_resident_program *program, const char *params_path,
                        zk_key_form form, struct zk_pool *pool, zk_trace *trace, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_query_masks masks = {0};
    zk_params_counts expected;
    zk_params *params = NULL;
    zk_prepared_params *prepared = NULL;
    char *prepared_path = NULL;
    zk_span *whole = zk_span_open(trace, "key load"), *span;
    *key = NULL;
    span = zk_span_open(trace, "masks");
    ZK_GOTO(zk_query_masks_compute(&masks, program->program, pool, err));
    ZK_GOTO(zk_params_counts_of(&expected, program->program, &masks.stats, err));
    if (form == ZK_KEY_PREPARED) ZK_GOTO(zk_query_masks_prepare(&masks, program->program, err));
    zk_span_close(trace, span);
    span = zk_span_open(trace, "open");
    ZK_GOTO(zk_params_open(&params, params_path, &expected, err));
    if (form == ZK_KEY_PREPARED) {
        ZK_GOTO(zk_prepared_path(&prepared_path, params_path, err));
        ZK_GOTO(zk_prepared_params_open(&prepared, prepared_path, params, program->program, &masks, err));
    }
    zk_span_close(trace, span);
    ZK_GOTO(zk_proving_key_load_files(key, program, params, prepared, &masks, trace, err));
out:
    span = status == CUZK_OK ? zk_span_open(trace, "close") : NULL;
    zk_prepared_params_close(prepared);
    zk_params_close(params);
    zk_query_masks_clear(&masks);
    free(prepared_path);
    if (status == CUZK_OK) zk_span_close(trace, span);
    zk_span_close(trace, whole); /* with what a failure left open */
    return status;
}

cuzk_status zk_proving_key_load(zk_proving_key **key, const zk_resident_program *program, const char *params_path,
                                struct zk_pool *pool, zk_trace *trace, cuzk_err *err) {
    return load(key, program, params_path, ZK_KEY_PLAIN, pool, trace, err);
}

cuzk_status zk_proving_key_load_prepared(zk_proving_key **key, const zk_resident_program *program,
                                         const char *params_path, struct zk_pool *pool, zk_trace *trace,
                                         cuzk_err *err) {
    return load(key, program, params_path, ZK_KEY_PREPARED, pool, trace, err);
}

/* ---- from toxic waste ---- */

typedef struct section_scalars {
    const zk_key_scalars *scalars;
    zk_params_section_id id;
} section_scalars;

static void get_scalars(void *ctx, zk_fr *out, size_t first, size_t n) {
    const section_scalars *section = ctx;
    zk_key_scalars_get(section->scalars, section->id, out, first, n);
}

static void get_g(void *ctx, zk_fr *out, size_t first, size_t n) {
    zk_key_scalars_get_g(((const section_scalars *)ctx)->scalars, out, first, n);
}

static void get_prepared_l(void *ctx, zk_fr *out, size_t first, size_t n) {
    zk_key_scalars_get_prepared_l(((const section_scalars *)ctx)->scalars, out, first, n);
}

/* The masks tell which columns are zero by the terms in their rows. Terms may also cancel out, at this tau or any. */
static cuzk_status match_counts(const zk_key_scalars *scalars, const zk_params_counts *expected, cuzk_err *err) {
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++)
        if (scalars->n[id] != expected->n[id])
            return ZK_FAIL(err, CUZK_BAD_INPUT,
                           "circuit %s: with this toxic waste section %s has %llu points other than infinity, expected "
                           "%llu",
                           expected->circuit, zk_params_section_name((zk_params_section_id)id),
                           (unsigned long long)scalars->n[id], (unsigned long long)expected->n[id]);
    return CUZK_OK;
}

static cuzk_status generate_points(zk_proving_key *key, zk_key_scalars *scalars, zk_multiples *const multiples[2],
                                   const zk_query_masks *masks, zk_trace *trace, cuzk_err *err) {
    for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++) {
        zk_params_section_id id = (zk_params_section_id)i;
        section_scalars section = {scalars, id};
        zk_points_source source = {.n = scalars->n[id],
                                   .multiples = multiples[zk_params_section_group(id)],
                                   .scalars = get_scalars,
                                   .scalars_ctx = &section};
        zk_points_fault fault;
        zk_prepared_section_id of;
        if (key->form == ZK_KEY_PREPARED && in_prepared(&of, id)) {
            source.n = of == ZK_PREPARED_G ? scalars->n_g : scalars->n_prepared_l;
            source.scalars = of == ZK_PREPARED_G ? get_g : get_prepared_l;
        }
        cuzk_status status = load_section(key, &fault, id, source, masks, trace, err);
        if (status != CUZK_OK) return fault.found ? zk_key_scalars_refuse(id, fault.index, err) : status;
        zk_key_scalars_done(scalars, id);
    }
    return CUZK_OK;
}

static cuzk_status generate(zk_proving_key **key, const zk_resident_program *program, const zk_toxic_waste *toxic,
                            zk_key_form form, struct zk_pool *pool, zk_trace *trace, cuzk_err *err) {
    const zk_program *p = program->program;
    cuzk_status status = CUZK_OK;
    zk_query_masks masks = {0};
    zk_params_counts expected;
    zk_key_scalars scalars = {0};
    zk_multiples *multiples[2] = {NULL};
    zk_span *whole = zk_span_open(trace, "key generation"), *span;
    *key = NULL;
    zk_proving_key *k = zk_calloc(1, sizeof *k);
    if (!k) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "key of circuit %s: out of memory", p->name));
    k->program = program;
    span = zk_span_open(trace, "masks");
    ZK_GOTO(zk_query_masks_compute(&masks, p, pool, err));
    ZK_GOTO(zk_params_counts_of(&expected, p, &masks.stats, err));
    if (form == ZK_KEY_PREPARED) ZK_GOTO(zk_query_masks_prepare(&masks, p, err));
    zk_span_close(trace, span);
    ZK_GOTO(begin_key(k, &masks, trace, err));
    span = zk_span_open(trace, "columns");
    ZK_GOTO(zk_key_scalars_create(&scalars, p, toxic, pool, err));
    ZK_GOTO(match_counts(&scalars, &expected, err));
    zk_span_close(trace, span);
    span = zk_span_open(trace, "tables");
    ZK_GOTO(zk_key_multiples_create(multiples, &scalars, program->backend, err));
    ZK_GOTO(zk_key_scalars_vk(&k->vk, &scalars, multiples, err));
    zk_span_close(trace, span);
    if (form == ZK_KEY_PREPARED) {
        span = zk_span_open(trace, "share of c");
        ZK_GOTO(zk_key_scalars_prepare(&scalars, p, err));
        zk_span_close(trace, span);
    }
    ZK_GOTO(prepare_vk(k, p->name, trace, err));
    ZK_GOTO(generate_points(k, &scalars, multiples, &masks, trace, err));
    *key = k;
    k = NULL;
out:
    span = status == CUZK_OK ? zk_span_open(trace, "release") : NULL;
    zk_proving_key_destroy(k);
    zk_key_multiples_destroy(multiples);
    zk_key_scalars_clear(&scalars);
    zk_query_masks_clear(&masks);
    if (status == CUZK_OK) zk_span_close(trace, span);
    zk_span_close(trace, whole); /* with what a failure left open */
    return status;
}

cuzk_status zk_proving_key_generate(zk_proving_key **key, const zk_resident_program *program,
                                    const zk_toxic_waste *toxic, struct zk_pool *pool, zk_trace *trace, cuzk_err *err) {
    return generate(key, program, toxic, ZK_KEY_PLAIN, pool, trace, err);
}

cuzk_status zk_proving_key_generate_prepared(zk_proving_key **key, const zk_resident_program *program,
                                             const zk_toxic_waste *toxic, struct zk_pool *pool, zk_trace *trace,
                                             cuzk_err *err) {
    return generate(key, program, toxic, ZK_KEY_PREPARED, pool, trace, err);
}

cuzk_status zk_proving_key_speed_up(const zk_proving_key *key, size_t most_points, zk_trace *trace, cuzk_err *err) {
    zk_resident_points *const lists[] = {key->l[0], key->a[0], key->b_g1[0], key->b_g2[0], key->h};
    cuzk_status status = CUZK_OK;
    zk_span *span = zk_span_open_kernel(trace, "stored multiples");
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0] && status == CUZK_OK; i++)
        if (lists[i]->n && lists[i]->n <= most_points) status = zk_resident_points_speed_up(lists[i], err);
    zk_span_close(trace, span);
    return status;
}

bool zk_proving_key_streams_bits(const zk_proving_key *key) {
    return key->l[1]->streamed || key->a[1]->streamed || key->b_g1[1]->streamed || key->b_g2[1]->streamed;
}

void zk_proving_key_destroy(zk_proving_key *key) {
    if (!key) return;
    zk_vk_clear(&key->vk);
    zk_prepared_vk_destroy(key->prepared);
    for (int q = 0; q < ZK_N_QUERIES; q++) zk_selection_destroy(key->selection[q]);
    zk_resident_points_unload(key->h);
    for (unsigned i = 0; i < 2; i++) {
        zk_resident_points_unload(key->l[i]);
        zk_resident_points_unload(key->a[i]);
        zk_resident_points_unload(key->b_g1[i]);
        zk_resident_points_unload(key->b_g2[i]);
    }
    free(key);
}
