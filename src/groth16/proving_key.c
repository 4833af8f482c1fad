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

static cuzk_status load_section(zk_resident_points **full, zk_resident_points **bits, const zk_proving_key *key,
                                const zk_params *params, zk_params_section_id id, const zk_query_masks *masks,
                                zk_trace *trace, cuzk_err *err) {
    zk_points_fault fault;
    zk_points_source source = {.name = memory_name[id],
                               .group = zk_params_section_group(id),
                               .encoded = params->bytes + params->section[id].offset,
                               .n = params->section[id].n,
                               .is_bit = id == ZK_PARAMS_H ? NULL : masks->query[query_of[id]].is_bit};
    zk_span *span = zk_span_open_kernel(trace, zk_params_section_name(id));
    cuzk_status status = zk_resident_points_load(full, bits, &fault, key->program->backend, &source, err);
    zk_span_count(span, "points", source.n);
    zk_span_close(trace, span);
    if (status != CUZK_OK && fault.found) return zk_params_refuse_point(params, id, &fault, status, err);
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

cuzk_status zk_proving_key_load_params(zk_proving_key **key, const zk_resident_program *program,
                                       const zk_params *params, const zk_query_masks *masks, zk_trace *trace,
                                       cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    const zk_program *p = program->program;
    zk_params_counts expected;
    zk_span *span = NULL;
    *key = NULL;
    zk_proving_key *k = zk_calloc(1, sizeof *k);
    if (!k) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: out of memory", params->name);
    k->program = program;
    ZK_GOTO(zk_params_counts_of(&expected, p, &masks->stats, err));
    ZK_GOTO(zk_params_match(params, &expected, err));
    ZK_GOTO(copy_vk(&k->vk, &params->vk, err));
    span = zk_span_open(trace, "verifying key");
    ZK_GOTO(zk_prepared_vk_create(&k->prepared, &k->vk, params->name, err));
    zk_span_close(trace, span);

    span = zk_span_open(trace, "selections");
    for (int q = 0; q < ZK_N_QUERIES; q++)
        ZK_GOTO(zk_selection_create(&k->selection[q], program->backend, masks->query[q].bit_mask, p->n_aux,
                                    masks->query[q].full_mask, (size_t)p->n_inputs + p->n_wide, err));
    zk_span_close(trace, span);

    ZK_GOTO(load_section(&k->h, NULL, k, params, ZK_PARAMS_H, masks, trace, err));
    ZK_GOTO(load_section(&k->l[0], &k->l[1], k, params, ZK_PARAMS_L, masks, trace, err));
    ZK_GOTO(load_section(&k->a[0], &k->a[1], k, params, ZK_PARAMS_A, masks, trace, err));
    ZK_GOTO(load_section(&k->b_g1[0], &k->b_g1[1], k, params, ZK_PARAMS_B_G1, masks, trace, err));
    ZK_GOTO(load_section(&k->b_g2[0], &k->b_g2[1], k, params, ZK_PARAMS_B_G2, masks, trace, err));
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
