#include "program/coefs.h"

#include <string.h>

#include "program/program.h"

static size_t hash(const zk_fr *v) {
    uint64_t h = v->l[0] * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29 ^ v->l[1]) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 32 ^ v->l[2]) * 0x94d049bb133111ebu;
    h = (h ^ h >> 30 ^ v->l[3]) * 0x9e3779b97f4a7c15u;
    return (size_t)(h ^ h >> 31);
}

static bool same(const zk_fr *a, const zk_fr *b) {
    return ((a->l[0] ^ b->l[0]) | (a->l[1] ^ b->l[1]) | (a->l[2] ^ b->l[2]) | (a->l[3] ^ b->l[3])) == 0;
}

static bool resize(zk_coefs *c, size_t n_slots) {
    uint32_t *slots = zk_calloc(n_slots, sizeof *slots);
    if (!slots) return false;
    free(c->slots);
    c->slots = slots;
    c->mask = n_slots - 1;
    for (size_t i = 0; i < c->values.n; i++) {
        size_t k = hash(&c->values.items[i]) & c->mask;
        while (slots[k]) k = (k + 1) & c->mask;
        slots[k] = (uint32_t)i + 1;
    }
    return true;
}

uint32_t zk_coefs_index(zk_coefs *c, const zk_fr *value) {
    const zk_fr *values = c->values.items;
    if (same(value, &values[0])) return 0;
    if (same(value, &values[1])) return 1;
    size_t k = hash(value) & c->mask;
    for (; c->slots[k]; k = (k + 1) & c->mask)
        if (same(value, &values[c->slots[k] - 1])) return c->slots[k] - 1;
    if (c->values.n >= UINT32_MAX / 4) return UINT32_MAX;
    if (2 * (c->values.n + 1) > c->mask) {
        if (!resize(c, 2 * (c->mask + 1))) return UINT32_MAX;
        k = hash(value) & c->mask;
        while (c->slots[k]) k = (k + 1) & c->mask;
    }
    if (!ZK_PUSH(&c->values, *value)) return UINT32_MAX;
    c->slots[k] = (uint32_t)c->values.n;
    return (uint32_t)c->values.n - 1;
}

cuzk_status zk_coefs_init(zk_coefs *c, cuzk_err *err) {
    memset(c, 0, sizeof *c);
    if (!ZK_RESERVE(&c->values, ZK_N_SMALL_COEFS)) goto out;
    for (uint32_t i = 0; i < ZK_N_SMALL_COEFS; i++) zk_fr_from_i64(&c->values.items[i], zk_small_coef(i));
    c->values.n = ZK_N_SMALL_COEFS;
    if (resize(c, 1024)) return CUZK_OK;
out:
    zk_coefs_free(c);
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "dictionary of coefficients: no memory");
}

void zk_coefs_free(zk_coefs *c) {
    free(c->values.items);
    free(c->slots);
    memset(c, 0, sizeof *c);
}
