#include "filecoin/kinds.h"

static const zk_kind_ops *const kinds[ZK_N_KINDS] = {
    [ZK_KIND_POREP] = &zk_kind_porep,
    [ZK_KIND_UPDATE] = &zk_kind_update,
    [ZK_KIND_WINDOW] = &zk_kind_window,
    [ZK_KIND_WINNING] = &zk_kind_winning,
};

cuzk_status zk_kind_get(const zk_kind_ops **ops, zk_proof_kind kind, cuzk_err *err) {
    *ops = (unsigned)kind < ZK_N_KINDS ? kinds[kind] : NULL;
    if (*ops) return CUZK_OK;
    const char *name = zk_proof_kind_name(kind);
    return ZK_FAIL(err, CUZK_UNSUPPORTED, "proofs of kind %s are not part of this version",
                   name ? name : "unspecified");
}

cuzk_status zk_kind_program(struct zk_program **program, zk_proof_kind kind, uint64_t sector_bytes, cuzk_err *err) {
    const zk_kind_ops *ops = NULL;
    ZK_TRY(zk_kind_get(&ops, kind, err));
    return ops->program(program, sector_bytes, err);
}

cuzk_status zk_kind_identifier(char identifier[ZK_IDENTIFIER_MAX], zk_proof_kind kind, uint64_t sector_bytes,
                               cuzk_err *err) {
    const zk_kind_ops *ops = NULL;
    ZK_TRY(zk_kind_get(&ops, kind, err));
    return ops->identifier(identifier, sector_bytes, err);
}
