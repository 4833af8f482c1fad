#include "circuit/post.h"

#include "circuit/num.h"
#include "circuit/poseidon.h"

/* v is NULL while building. */
static void sector(zk_synth *s, const zk_opening_shape *tree, uint32_t n_challenges, const zk_post_sector *v) {
    zk_cell comm_r_last, comm_c, leaf;
    zk_synth_hint(s, v ? v->comm_r_last : NULL);
    zk_synth_alloc(s, &comm_r_last, 1);
    zk_synth_hint(s, v ? v->comm_c : NULL);
    zk_synth_alloc(s, &comm_c, 1);
    zk_synth_hint(s, v ? v->comm_r : NULL);
    zk_cell comm_r = zk_synth_alloc_input(s);
    zk_cell hash = zk_synth_poseidon(s, (zk_cell[2]){comm_c, comm_r_last}, 2);
    zk_synth_equal(s, comm_r, hash);
    for (uint32_t i = 0; i < n_challenges; i++) {
        const zk_post_opening *opening = v ? &v->openings[i] : NULL;
        zk_synth_hint(s, opening ? opening->leaf : NULL);
        zk_synth_alloc(s, &leaf, 1);
        zk_synth_opening(s, tree, opening ? opening->index : NULL, opening ? opening->siblings : NULL, comm_r_last,
                         leaf);
    }
}

static cuzk_status walk(zk_synth *s, const zk_post_shape *shape, const zk_post_sector *const *sectors, cuzk_err *err) {
    zk_opening_shape tree;
    ZK_TRY(zk_opening_shape_get(&tree, shape->sector_bytes, err));
    for (uint32_t i = 0; i < shape->n_sectors && s->status == CUZK_OK; i++)
        sector(s, &tree, shape->n_challenges, sectors ? sectors[i] : NULL);
    return CUZK_OK;
}

cuzk_status zk_post_program(struct zk_program **program, const zk_post_shape *shape, const char *name, cuzk_err *err) {
    *program = NULL;
    zk_synth s = {0};
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_builder_create(&s.builder, name, err));
    ZK_GOTO(walk(&s, shape, NULL, err));
    ZK_GOTO(zk_synth_finish_program(program, &s, err));
out:
    zk_builder_destroy(s.builder);
    return status;
}

cuzk_status zk_post_hints(uint8_t (*hints)[32], size_t n_hints, const zk_post_shape *shape,
                          const zk_post_sector *const *sectors, cuzk_err *err) {
    zk_synth s = {.hints = hints, .max_hints = n_hints};
    ZK_TRY(walk(&s, shape, sectors, err));
    return zk_synth_finish_hints(&s, err);
}
