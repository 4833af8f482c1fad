#include "filecoin/c1_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "filecoin/labels.h"

/* Growing text; a failed growth is remembered and the rest of the writing does nothing. */
typedef struct text_buffer {
    char *text;
    size_t n, capacity;
    bool failed;
} text_buffer;

static char *room(text_buffer *out, size_t n) {
    if (out->failed || !zk_grow((void **)&out->text, &out->capacity, out->n + n + 1, 1)) {
        out->failed = true;
        return NULL;
    }
    return out->text + out->n;
}

static void put(text_buffer *out, const char *text) {
    size_t n = strlen(text);
    char *at = room(out, n);
    if (!at) return;
    memcpy(at, text, n);
    out->n += n;
}

static void put_u64(text_buffer *out, uint64_t value) {
    char *at = room(out, 24);
    if (at) out->n += (size_t)snprintf(at, 24, "%" PRIu64, value);
}

/* [1,2,...]: most of a C1 is this. */
static void put_node(text_buffer *out, const uint8_t node[32]) {
    char *at = room(out, 32 * 4 + 2);
    if (!at) return;
    char *start = at;
    *at++ = '[';
    for (unsigned i = 0; i < 32; i++) {
        uint8_t v = node[i];
        if (i) *at++ = ',';
        if (v >= 100) *at++ = (char)('0' + v / 100);
        if (v >= 10) *at++ = (char)('0' + v / 10 % 10);
        *at++ = (char)('0' + v % 10);
    }
    *at++ = ']';
    out->n += (size_t)(at - start);
}

/* Levels first .. first + n - 1 of a path; returns the siblings behind them. */
static const zk_node *put_levels(text_buffer *out, const uint32_t *index, const zk_node *siblings,
                                 const uint32_t *arities, uint32_t first, uint32_t n) {
    put(out, "{\"path\":[");
    for (uint32_t level = first; level < first + n; level++) {
        if (level > first) put(out, ",");
        put(out, "{\"hashes\":[");
        for (uint32_t k = 0; k + 1 < arities[level]; k++) {
            if (k) put(out, ",");
            put_node(out, *siblings++);
        }
        put(out, "],\"index\":");
        put_u64(out, index[level]);
        put(out, "}");
    }
    put(out, "]}");
    return siblings;
}

static void put_member_node(text_buffer *out, const char *name, const uint8_t node[32]) {
    put(out, name);
    put_node(out, node);
}

/* Arities of the levels of a path in the trees over columns and replica, or in the data tree. */
static void tree_arities(uint32_t arities[64], const zk_c1_shape *s, bool is_data) {
    for (uint32_t i = 0; i < 64; i++) arities[i] = is_data ? 2 : 8;
    if (is_data) return;
    if (s->tree.sub_arity) arities[s->tree.n_base] = s->tree.sub_arity;
    if (s->tree.top_arity) arities[s->tree.n_base + 1] = s->tree.top_arity;
}

static void put_proof(text_buffer *out, const zk_c1_path *path, const zk_c1_shape *s, bool is_data) {
    uint32_t arities[64];
    tree_arities(arities, s, is_data);
    put(out, "{\"data\":");
    if (is_data || !s->tree.sub_arity) {
        put_member_node(out, "{\"Single\":{\"root\":", *path->root);
        put_member_node(out, ",\"leaf\":", *path->leaf);
        put(out, ",\"path\":");
        put_levels(out, path->index, path->siblings, arities, 0, is_data ? s->n_data_nodes : s->tree.n_base);
    } else {
        put(out, s->tree.top_arity ? "{\"Top\":{\"base_proof\":" : "{\"Sub\":{\"base_proof\":");
        const zk_node *next = put_levels(out, path->index, path->siblings, arities, 0, s->tree.n_base);
        put(out, ",\"sub_proof\":");
        next = put_levels(out, path->index, next, arities, s->tree.n_base, 1);
        if (s->tree.top_arity) {
            put(out, ",\"top_proof\":");
            put_levels(out, path->index, next, arities, s->tree.n_base + 1, 1);
        }
        put_member_node(out, ",\"root\":", *path->root);
        put_member_node(out, ",\"leaf\":", *path->leaf);
    }
    put(out, "}}}");
}

static void put_column(text_buffer *out, const zk_c1_column *column, const zk_c1_shape *s) {
    put(out, "{\"column\":{\"index\":");
    put_u64(out, *column->node);
    put(out, ",\"rows\":[");
    for (uint32_t i = 0; i < s->n_layers; i++) {
        if (i) put(out, ",");
        put_node(out, column->labels[i]);
    }
    put(out, "],\"_h\":null},\"inclusion_proof\":");
    put_proof(out, &column->path, s, false);
    put(out, "}");
}

static void put_labeling(text_buffer *out, const zk_c1_labeling *labeling) {
    put(out, "{\"parents\":[");
    for (uint32_t i = 0; i < ZK_LABEL_PARENTS; i++) {
        if (i) put(out, ",");
        put_node(out, labeling->parents[i % labeling->n_parents]);
    }
    put(out, "],\"layer_index\":");
    put_u64(out, *labeling->layer);
    put(out, ",\"node\":");
    put_u64(out, *labeling->node);
    put(out, "}");
}

static void put_challenge(text_buffer *out, const zk_c1_challenge *c, const zk_c1_shape *s) {
    put(out, "{\"comm_d_proofs\":");
    put_proof(out, &c->data, s, true);
    put(out, ",\"comm_r_last_proof\":");
    put_proof(out, &c->replica, s, false);
    put(out, ",\"replica_column_proofs\":{\"c_x\":");
    put_column(out, &c->column, s);
    for (unsigned i = 0; i < ZK_ALL_PARENTS; i++) {
        put(out, i == 0 ? ",\"drg_parents\":[" : i == ZK_DRG_PARENTS ? "],\"exp_parents\":[" : ",");
        put_column(out, &c->parents[i], s);
    }
    put(out, "]},\"labeling_proofs\":[");
    for (uint32_t i = 0; i < s->n_layers; i++) {
        if (i) put(out, ",");
        put_labeling(out, &c->labeling[i]);
    }
    put(out, "],\"encoding_proof\":");
    put_labeling(out, &c->encoding);
    put(out, "}");
}

cuzk_status zk_c1_write_json(char **text, size_t *n, const zk_c1 *c1, cuzk_err *err) {
    text_buffer out = {0};
    put(&out, "{\"registered_proof\":\"");
    put(&out, c1->seal->name);
    put(&out, "\",\"vanilla_proofs\":{\"");
    put(&out, c1->seal->size_name);
    put(&out, "\":[");
    for (uint32_t k = 0; k < c1->n_partitions; k++) {
        put(&out, k ? ",[" : "[");
        for (uint32_t i = 0; i < c1->shape.n_challenges; i++) {
            zk_c1_challenge challenge;
            zk_c1_challenge_get(&challenge, c1, k, i);
            if (i) put(&out, ",");
            put_challenge(&out, &challenge, &c1->shape);
        }
        put(&out, "]");
    }
    put_member_node(&out, "]},\"comm_r\":", c1->comm_r);
    put_member_node(&out, ",\"comm_d\":", c1->comm_d);
    put_member_node(&out, ",\"replica_id\":", c1->replica_id);
    put_member_node(&out, ",\"seed\":", c1->seed);
    put_member_node(&out, ",\"ticket\":", c1->ticket);
    put(&out, "}");
    if (out.failed) {
        free(out.text);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a C1 of %zu bytes of JSON and more", out.n);
    }
    out.text[out.n] = 0;
    *text = out.text;
    *n = out.n;
    return CUZK_OK;
}

cuzk_status zk_c1_write_envelope(char **text, size_t *n, const zk_c1 *c1, cuzk_err *err) {
    enum { AROUND_BYTES = 128 };
    char *json = NULL;
    size_t n_json = 0;
    ZK_TRY(zk_c1_write_json(&json, &n_json, c1, err));
    size_t n_base64 = (n_json + 2) / 3 * 4;
    char *out = zk_malloc(n_base64 + AROUND_BYTES);
    if (!out) {
        free(json);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for an envelope of %zu bytes", n_base64);
    }
    size_t at = (size_t)snprintf(out, AROUND_BYTES, "{\"SectorNum\":%" PRIu64 ",\"Phase1Out\":\"", c1->sector_number);
    zk_base64_encode(out + at, (const uint8_t *)json, n_json);
    at += n_base64;
    at += (size_t)snprintf(out + at, AROUND_BYTES - 64, "\",\"SectorSize\":%" PRIu64 "}", c1->seal->sector_bytes);
    free(json);
    *text = out;
    *n = at;
    return CUZK_OK;
}
