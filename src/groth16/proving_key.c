#include "groth16/proving_key.h"

#include "base/alloc.h"
#include "base/cancel.h"

static const zk_query_id query_of[ZK_PARAMS_N_SECTIONS] = {[ZK_PARAMS_L] = ZK_QUERY_L,
                                                           [ZK_PARAMS_A] = ZK_QUERY_A,
                                                           [ZK_PARAMS_B_G1] = ZK_QUERY_B,
                                                           [ZK_PARAMS_B_G2] = ZK_QUERY_B};

/* Lines of the memory account. */
static const char *const memory_name[ZK_PARAMS_N_SECTIONS] = {"key h", "key l", "key a", "key b_g1", "key b_g2"};

void zk_proving_key_plan(const zk_resident_program *program, const zk_query_masks *masks, zk_memory_plan *plan) {
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) {
        size_t n = id == ZK_PARAMS_H ? ((size_t)1 << program->log2_n) - 1 : masks->query[query_of[id]].n_points;
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

/* All but the points; key->vk is there. */
static cuzk_status prepare_key(zk_proving_key *key, const char *name, const zk_query_masks *masks, zk_trace *trace,
                               cuzk_err *err) {
    const zk_program *p = key->program->program;
    zk_span *span = zk_span_open(trace, "verifying key");
    ZK_TRY(zk_prepared_vk_create(&key->prepared, &key->vk, name, err));
    zk_span_close(trace, span);
    span = zk_span_open(trace, "selections");
    for (int q = 0; q < ZK_N_QUERIES; q++)
        ZK_TRY(zk_selection_create(&key->selection[q], key->program->backend, masks->query[q].bit_mask, p->n_aux,
                                   masks->query[q].full_mask, (size_t)p->n_inputs + p->n_wide, err));
    zk_span_close(trace, span);
    return CUZK_OK;
}

/* ---- from a file ---- */

cuzk_status zk_proving_key_load_params(zk_proving_key **key, const zk_resident_program *program,
                                       const zk_params *params, const zk_query_masks *masks, zk_trace *trace,
                                       cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_params_counts expected;
    *key = NULL;
    zk_proving_key *k = zk_calloc(1, sizeof *k);
    if (!k) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", params->name);
    k->program = program;
    ZK_GOTO(zk_params_counts_of(&expected, program->program, &masks->stats, err));
    ZK_GOTO(zk_params_match(params, &expected, err));
    ZK_GOTO(copy_vk(&k->vk, &params->vk, err));
    ZK_GOTO(prepare_key(k, params->name, masks, trace, err));
    for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++) {
        zk_points_source source = {.encoded = params->bytes + params->section[i].offset, .n = params->section[i].n};
        zk_points_fault fault;
        zk_params_section_id id = (zk_params_section_id)i;
        status = load_section(k, &fault, id, source, masks, trace, err);
        if (status != CUZK_OK && fault.found) status = zk_params_refuse_point(params, id, &fault, status, err);
        if (status != CUZK_OK) goto out;
    }
    ZK_GOTO(zk_params_unchanged(params, err));
    *key = k;
    k = NULL;
out:
    zk_proving_key_destroy(k);
    return status;
}

cuzk_status zk_proving_key_load(zk_proving_key **key, const zk_resident_program *program, const char *params_path,
                                struct zk_pool *pool, zk_trace *trace, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_query_masks masks = {0};
    zk_params_counts expected;
    zk_params *params = NULL;
    zk_span *whole = zk_span_open(trace, "key load"), *span;
    *key = NULL;
    span = zk_span_open(trace, "masks");
    ZK_GOTO(zk_query_masks_compute(&masks, program->program, pool, err));
    ZK_GOTO(zk_params_counts_of(&expected, program->program, &masks.stats, err));
    zk_span_close(trace, span);
    span = zk_span_open(trace, "open");
    ZK_GOTO(zk_params_open(&params, params_path, &expected, err));
    zk_span_close(trace, span);
    ZK_GOTO(zk_proving_key_load_params(key, program, params, &masks, trace, err));
out:
    span = status == CUZK_OK ? zk_span_open(trace, "close") : NULL;
    zk_params_close(params);
    zk_query_masks_clear(&masks);
    if (status == CUZK_OK) zk_span_close(trace, span);
    zk_span_close(trace, whole); /* with what a failure left open */
    return status;
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
        cuzk_status status = load_section(key, &fault, id, source, masks, trace, err);
        if (status != CUZK_OK) return fault.found ? zk_key_scalars_refuse(id, fault.index, err) : status;
        zk_key_scalars_done(scalars, id);
    }
    return CUZK_OK;
}

cuzk_status zk_proving_key_generate(zk_proving_key **key, const zk_resident_program *program,
                                    const zk_toxic_waste *toxic, struct zk_pool *pool, zk_trace *trace, cuzk_err *err) {
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
    zk_span_close(trace, span);
    span = zk_span_open(trace, "columns");
    ZK_GOTO(zk_key_scalars_create(&scalars, p, toxic, pool, err));
    ZK_GOTO(match_counts(&scalars, &expected, err));
    zk_span_close(trace, span);
    span = zk_span_open(trace, "tables");
    ZK_GOTO(zk_key_multiples_create(multiples, &scalars, program->backend, err));
    ZK_GOTO(zk_key_scalars_vk(&k->vk, &scalars, multiples, err));
    zk_span_close(trace, span);
    ZK_GOTO(prepare_key(k, p->name, &masks, trace, err));
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
