/* Reading C1 documents: every vector, every form, every kind of damage. */
#include "filecoin/c1.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "filecoin/labels.h"
#include "filecoin_vectors.h"
#include "hash/sha256.h"

typedef struct text {
    char *bytes;
    size_t n;
} text;

static text read_vector(const char *name) {
    char path[4096];
    text t = {NULL, 0};
    snprintf(path, sizeof path, "%s/porep/%s", zk_test_vectors_dir(), name);
    FILE *f = fopen(path, "rb");
    ZK_CHECKF(f != NULL, "%s", path);
    fseek(f, 0, SEEK_END);
    t.n = (size_t)ftell(f);
    rewind(f);
    t.bytes = malloc(t.n + 1);
    ZK_CHECK(t.bytes && fread(t.bytes, 1, t.n, f) == t.n);
    t.bytes[t.n] = 0;
    fclose(f);
    return t;
}

static zk_c1 *read_ok(text t) {
    zk_c1 *c1 = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_c1_read_memory(&c1, t.bytes, t.n, &err), err);
    return c1;
}

static bool same_c1(const zk_c1 *a, const zk_c1 *b) {
    if (a->seal != b->seal || a->n_partitions != b->n_partitions) return false;
    if (memcmp(a->comm_r, b->comm_r, 32) != 0 || memcmp(a->comm_d, b->comm_d, 32) != 0) return false;
    if (memcmp(a->replica_id, b->replica_id, 32) != 0 || memcmp(a->seed, b->seed, 32) != 0) return false;
    if (memcmp(a->ticket, b->ticket, 32) != 0) return false;
    const zk_c1_shape *s = &a->shape;
    for (uint32_t p = 0; p < a->n_partitions; p++) {
        const zk_c1_partition *x = &a->partitions[p], *y = &b->partitions[p];
        if (memcmp(x->nodes, y->nodes, 32ull * s->n_challenges * s->nodes_per_challenge) != 0) return false;
        if (memcmp(x->numbers, y->numbers, 4ull * s->n_challenges * s->numbers_per_challenge) != 0) return false;
        if (memcmp(x->places, y->places, 8ull * s->n_challenges * (s->n_layers + 1)) != 0) return false;
    }
    return true;
}

/* ---- A writer, to show that nothing is lost, and for other orders of members ---- */

typedef struct writer {
    FILE *out;
    bool reversed; /* members of all objects in reverse order */
    const zk_c1 *c1;
} writer;

static void put_node(writer *w, const uint8_t node[32]) {
    for (unsigned i = 0; i < 32; i++) fprintf(w->out, "%c%u", i == 0 ? '[' : ',', node[i]);
    fputc(']', w->out);
}

static void put_nodes(writer *w, zk_node *nodes, uint32_t n, uint32_t period) {
    for (uint32_t i = 0; i < n; i++) {
        fputc(i == 0 ? '[' : ',', w->out);
        put_node(w, nodes[i % period]);
    }
    fputc(']', w->out);
}

/* Calls put(ctx, i) for members 0 .. n - 1, or backwards. */
#define OBJECT(w, n, i, body)                                                                                          \
    do {                                                                                                               \
        fputc('{', (w)->out);                                                                                          \
        for (unsigned k_##i = 0; k_##i < (n); k_##i++) {                                                               \
            unsigned i = (w)->reversed ? (n)-1 - k_##i : k_##i;                                                        \
            if (k_##i > 0) fputc(',', (w)->out);                                                                       \
            body                                                                                                       \
        }                                                                                                              \
        fputc('}', (w)->out);                                                                                          \
    } while (0)
#define KEY(w, name) fprintf((w)->out, "\"%s\":", name)

static void put_path(writer *w, zk_node *siblings, const uint32_t *index, uint32_t n, uint32_t arity) {
    fprintf(w->out, "{\"path\":[");
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) fputc(',', w->out);
        OBJECT(w, 2, m, {
            if (m == 0) {
                KEY(w, "hashes");
                put_nodes(w, siblings + i * (arity - 1), arity - 1, arity - 1);
            } else {
                fprintf(w->out, "\"index\":%u", index[i]);
            }
        });
    }
    fprintf(w->out, "]}");
}

static void put_proof(writer *w, const zk_c1_path *p, bool binary) {
    const zk_c1_shape *s = &w->c1->shape;
    uint32_t sub = binary ? 0 : s->tree.sub_arity, top = binary ? 0 : s->tree.top_arity,
             n = binary ? s->n_data_nodes : s->tree.n_base;
    uint32_t arity = binary ? 2 : 8;
    zk_node *sub_siblings = p->siblings + n * (arity - 1), *top_siblings = sub_siblings + sub - 1;
    fprintf(w->out, "{\"data\":{\"%s\":", top ? "Top" : sub ? "Sub" : "Single");
    /* the reference writes root and leaf first for Single, last for the others */
    static const char *const single[] = {"root", "leaf", "path"};
    static const char *const composed_sub[] = {"base_proof", "sub_proof", "root", "leaf"};
    static const char *const composed_top[] = {"base_proof", "sub_proof", "top_proof", "root", "leaf"};
    const char *const *names = top ? composed_top : sub ? composed_sub : single;
    unsigned n_names = top ? 5 : sub ? 4 : 3;
    OBJECT(w, n_names, m, {
        KEY(w, names[m]);
        if (strcmp(names[m], "root") == 0)
            put_node(w, *p->root);
        else if (strcmp(names[m], "leaf") == 0)
            put_node(w, *p->leaf);
        else if (strcmp(names[m], "sub_proof") == 0)
            put_path(w, sub_siblings, p->index + n, 1, sub);
        else if (strcmp(names[m], "top_proof") == 0)
            put_path(w, top_siblings, p->index + n + 1, 1, top);
        else
            put_path(w, p->siblings, p->index, n, arity);
    });
    fprintf(w->out, "}}");
}

static void put_column(writer *w, const zk_c1_column *c) {
    OBJECT(w, 2, m, {
        if (m == 0) {
            KEY(w, "column");
            OBJECT(w, 3, k, {
                if (k == 0) {
                    fprintf(w->out, "\"index\":%u", *c->node);
                } else if (k == 1) {
                    KEY(w, "rows");
                    put_nodes(w, c->labels, w->c1->shape.n_layers, w->c1->shape.n_layers);
                } else {
                    fprintf(w->out, "\"_h\":null");
                }
            });
        } else {
            KEY(w, "inclusion_proof");
            put_proof(w, &c->path, false);
        }
    });
}

static void put_labeling(writer *w, const zk_c1_labeling *l) {
    OBJECT(w, 3, m, {
        if (m == 0) {
            KEY(w, "parents");
            put_nodes(w, l->parents, ZK_LABEL_PARENTS, l->n_parents);
        } else if (m == 1) {
            fprintf(w->out, "\"layer_index\":%u", *l->layer);
        } else {
            fprintf(w->out, "\"node\":%llu", (unsigned long long)*l->node);
        }
    });
}

static void put_columns(writer *w, zk_c1_column *c, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        fputc(i == 0 ? '[' : ',', w->out);
        put_column(w, &c[i]);
    }
    fputc(']', w->out);
}

static void put_challenge(writer *w, zk_c1_challenge *v) {
    static const char *const names[] = {"comm_d_proofs", "comm_r_last_proof", "replica_column_proofs",
                                        "labeling_proofs", "encoding_proof"};
    OBJECT(w, 5, m, {
        KEY(w, names[m]);
        if (m == 0) put_proof(w, &v->data, true);
        if (m == 1) put_proof(w, &v->replica, false);
        if (m == 2) {
            OBJECT(w, 3, k, {
                KEY(w, k == 0 ? "c_x" : k == 1 ? "drg_parents" : "exp_parents");
                if (k == 0) put_column(w, &v->column);
                if (k == 1) put_columns(w, v->parents, ZK_DRG_PARENTS);
                if (k == 2) put_columns(w, v->parents + ZK_DRG_PARENTS, ZK_EXP_PARENTS);
            });
        }
        if (m == 3) {
            for (unsigned i = 0; i < w->c1->shape.n_layers; i++) {
                fputc(i == 0 ? '[' : ',', w->out);
                put_labeling(w, &v->labeling[i]);
            }
            fputc(']', w->out);
        }
        if (m == 4) put_labeling(w, &v->encoding);
    });
}

static text write_c1(const zk_c1 *c1, bool reversed) {
    static const char *const names[] = {"registered_proof", "vanilla_proofs", "comm_r", "comm_d",
                                        "replica_id",       "seed",           "ticket"};
    const uint8_t *const values[] = {NULL, NULL, c1->comm_r, c1->comm_d, c1->replica_id, c1->seed, c1->ticket};
    text t;
    writer w = {open_memstream(&t.bytes, &t.n), reversed, c1};
    ZK_CHECK(w.out != NULL);
    OBJECT(&w, 7, m, {
        KEY(&w, names[m]);
        if (m == 0) fprintf(w.out, "\"%s\"", c1->seal->name);
        if (m >= 2) put_node(&w, values[m]);
        if (m != 1) continue;
        fprintf(w.out, "{\"%s\":", c1->seal->size_name);
        for (uint32_t p = 0; p < c1->n_partitions; p++) {
            for (uint32_t i = 0; i < c1->shape.n_challenges; i++) {
                zk_c1_challenge view;
                fprintf(w.out, i > 0 ? "," : p == 0 ? "[[" : ",[");
                zk_c1_challenge_get(&view, c1, p, i);
                put_challenge(&w, &view);
            }
            fputc(']', w.out);
        }
        fprintf(w.out, "]}");
    });
    fclose(w.out);
    return t;
}

static text wrap(text inner, unsigned order, uint64_t sector_bytes) {
    static const uint8_t orders[3][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
    char *base64 = malloc(inner.n / 3 * 4 + 8);
    text t;
    zk_base64_encode(base64, (const uint8_t *)inner.bytes, inner.n);
    FILE *out = open_memstream(&t.bytes, &t.n);
    for (unsigned k = 0; k < 3; k++) {
        fputc(k == 0 ? '{' : ',', out);
        if (orders[order][k] == 0) fprintf(out, "\"SectorNum\":117");
        if (orders[order][k] == 1) fprintf(out, "\"Phase1Out\":\"%s\"", base64);
        if (orders[order][k] == 2) fprintf(out, "\"SectorSize\":%llu", (unsigned long long)sector_bytes);
    }
    fputc('}', out);
    fclose(out);
    free(base64);
    return t;
}

/* ---- What must be accepted ---- */

static const char *const plain_names[] = {"StackedDrg2KiBV1", "StackedDrg2KiBV1_1",
                                          "StackedDrg2KiBV1_1_Feat_SyntheticPoRep", "StackedDrg8MiBV1_1"};

/* Writing what was read gives the document again, byte for byte; the envelope gives the same content. */
static void test_round_trip(void) {
    for (unsigned i = 0; i < sizeof plain_names / sizeof plain_names[0]; i++) {
        char name[200];
        snprintf(name, sizeof name, "seal-%s.c1.json", plain_names[i]);
        text t = read_vector(name);
        zk_c1 *c1 = read_ok(t);
        ZK_CHECK(!c1->has_sector_number && c1->n_document_bytes == t.n);
        ZK_CHECK(strcmp(c1->seal->name, plain_names[i]) == 0);
        text again = write_c1(c1, false);
        ZK_CHECK(again.n == t.n && memcmp(again.bytes, t.bytes, t.n) == 0);
        snprintf(name, sizeof name, "seal-%s.wrapped.json", plain_names[i]);
        text wrapped = read_vector(name);
        zk_c1 *other = read_ok(wrapped);
        ZK_CHECK(other->has_sector_number && other->sector_number == 117);
        ZK_CHECK(same_c1(c1, other));
        zk_c1_destroy(c1);
        zk_c1_destroy(other);
        free(t.bytes), free(again.bytes), free(wrapped.bytes);
    }
}

static void test_round_trip_zstd(void) {
    static const char *const names[] = {"seal-StackedDrg2KiBV1_2_Feat_NonInteractivePoRep.c1.json.zst",
                                        "sparse-StackedDrg512MiBV1_1.c1.json.zst"};
    if (!zk_input_has_zstd()) {
        text t = read_vector(names[0]);
        zk_c1 *c1 = NULL;
        ZK_CHECK(zk_c1_read_memory(&c1, t.bytes, t.n, NULL) == CUZK_UNSUPPORTED);
        free(t.bytes);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        text t = read_vector(names[i]);
        zk_c1 *c1 = read_ok(t), *other = NULL;
        text plain = write_c1(c1, false);
        ZK_CHECK(plain.n == c1->n_document_bytes);
        other = read_ok(plain);
        ZK_CHECK(same_c1(c1, other));
        zk_c1_destroy(other);
        /* cut short at every byte, never a crash, always an error */
        for (size_t n = 4; n < t.n; n += t.n / 97 + 1) {
            cuzk_err err = {0};
            other = NULL;
            ZK_CHECKF(zk_c1_read_memory(&other, t.bytes, n, &err) == CUZK_BAD_INPUT, "cut at %zu", n);
            ZK_CHECK(strlen(err.message) > 0 && other == NULL);
        }
        zk_c1_destroy(c1);
        free(t.bytes), free(plain.bytes);
    }
    text t = read_vector("seal-StackedDrg2KiBV1_2_Feat_NonInteractivePoRep.wrapped.json.zst");
    text u = read_vector(names[0]);
    zk_c1 *a = read_ok(t), *b = read_ok(u);
    ZK_CHECK(same_c1(a, b) && a->n_partitions == 13);
    zk_c1_destroy(a);
    zk_c1_destroy(b);
    free(t.bytes), free(u.bytes);
}

/* Members in reverse order everywhere, so that the proofs come before the name of their type; every order of the
 * envelope. */
static void test_any_order(void) {
    text t = read_vector("seal-StackedDrg2KiBV1_1.c1.json");
    zk_c1 *c1 = read_ok(t);
    text reversed = write_c1(c1, true);
    ZK_CHECK(reversed.n == t.n && memcmp(reversed.bytes, t.bytes, t.n) != 0);
    zk_c1 *other = read_ok(reversed);
    ZK_CHECK(same_c1(c1, other));
    zk_c1_destroy(other);
    for (unsigned order = 0; order < 3; order++) {
        text wrapped = wrap(reversed, order, 2048);
        other = read_ok(wrapped);
        ZK_CHECK(same_c1(c1, other));
        zk_c1_destroy(other);
        free(wrapped.bytes);
    }
    zk_c1_destroy(c1);
    free(t.bytes), free(reversed.bytes);
}

/* Shapes without a vector of their own (sub and top trees): made up, written, read. */
static void test_64gib_shape(void) {
    zk_c1 *c1 = calloc(1, sizeof *c1), *other = NULL;
    uint64_t seed = 7;
    cuzk_err err = {0};
    ZK_CHECK(c1 != NULL);
    c1->seal = zk_registered_seal_by_number(9);
    ZK_CHECK_OK(zk_c1_shape_get(&c1->shape, c1->seal, &err), err);
    ZK_CHECK(c1->shape.tree.n_base == 9 && c1->shape.tree.n_nodes == 11 && c1->shape.tree.n_siblings == 71);
    ZK_CHECK(c1->shape.n_data_nodes == 31);
    const zk_c1_shape *s = &c1->shape;
    c1->n_partitions = c1->seal->n_partitions;
    c1->partitions = calloc(c1->n_partitions, sizeof *c1->partitions);
    for (uint32_t p = 0; p < c1->n_partitions; p++) {
        size_t n_nodes = (size_t)s->n_challenges * s->nodes_per_challenge;
        size_t n_numbers = (size_t)s->n_challenges * s->numbers_per_challenge;
        size_t n_places = (size_t)s->n_challenges * (s->n_layers + 1);
        uint8_t *block = calloc(1, 8 * n_places + 32 * n_nodes + 4 * n_numbers);
        zk_c1_partition *part = &c1->partitions[p];
        part->places = (uint64_t *)(void *)block;
        part->nodes = (zk_node *)(block + 8 * n_places);
        part->numbers = (uint32_t *)(void *)(block + 8 * n_places + 32 * n_nodes);
        for (size_t i = 0; i < n_nodes; i++) { /* few digits keep the document small */
            part->nodes[i][0] = (uint8_t)(zk_test_rand(&seed) % 10);
            part->nodes[i][30] = (uint8_t)(zk_test_rand(&seed) % 10);
        }
        for (size_t i = 0; i < n_places; i++) part->places[i] = zk_test_rand(&seed);
        for (uint32_t i = 0; i < s->n_challenges; i++) {
            zk_c1_challenge v;
            zk_c1_challenge_get(&v, c1, p, i);
            for (uint32_t k = 0; k < s->n_data_nodes; k++) v.data.index[k] = (uint32_t)(zk_test_rand(&seed) & 1);
            zk_c1_path *paths[] = {&v.replica, &v.column.path, &v.parents[13].path};
            for (unsigned k = 0; k < 3; k++) {
                for (uint32_t l = 0; l < 10; l++) paths[k]->index[l] = (uint32_t)(zk_test_rand(&seed) & 7);
                paths[k]->index[10] = (uint32_t)(zk_test_rand(&seed) & 1);
            }
            *v.column.node = UINT32_MAX;
            for (uint32_t l = 0; l <= s->n_layers; l++) {
                zk_c1_labeling *lab = l < s->n_layers ? &v.labeling[l] : &v.encoding;
                *lab->layer = UINT32_MAX - l;
                *lab->mismatch = ZK_C1_NO_MISMATCH;
            }
        }
    }
    text t = write_c1(c1, false);
    other = read_ok(t);
    ZK_CHECK(same_c1(c1, other));
    zk_c1_destroy(other);
    zk_c1_destroy(c1);
    free(t.bytes);
}

/* A source that hands out pieces of random size. */
typedef struct pieces {
    zk_input base;
    text t;
    size_t at, max;
    uint64_t seed;
    uint8_t *copy; /* of the piece, at its exact size, so that a sanitizer sees reads past it */
} pieces;

static cuzk_status pieces_read(zk_input *base, const uint8_t **data, size_t *n, bool *last, cuzk_err *err) {
    pieces *p = (pieces *)base;
    (void)err;
    free(p->copy);
    *n = 1 + (size_t)(zk_test_rand(&p->seed) % p->max);
    if (*n > p->t.n - p->at) *n = p->t.n - p->at;
    p->copy = malloc(*n + (*n == 0));
    memcpy(p->copy, p->t.bytes + p->at, *n);
    *data = p->copy;
    p->at += *n;
    *last = p->at == p->t.n && zk_test_rand(&p->seed) % 2 == 0; /* sometimes an empty last piece */
    if (*n == 0) *last = true;
    return CUZK_OK;
}

static void pieces_close(zk_input *base) {
    pieces *p = (pieces *)base;
    free(p->copy);
    p->copy = NULL;
}

static void test_pieces(void) {
    static const char *const names[] = {"seal-StackedDrg2KiBV1_1.c1.json", "seal-StackedDrg2KiBV1_1.wrapped.json"};
    for (unsigned k = 0; k < 2; k++) {
        text t = read_vector(names[k]);
        zk_c1 *c1 = read_ok(t);
        for (size_t max = 1; max < 100000; max = max * 5 + 1) {
            pieces p = {.base = {pieces_read, pieces_close}, .t = t, .max = max, .seed = max};
            zk_c1 *other = NULL;
            cuzk_err err = {0};
            ZK_CHECK_OK(zk_c1_read(&other, &p.base, &err), err);
            ZK_CHECKF(same_c1(c1, other), "max %zu", max);
            zk_c1_destroy(other);
        }
        zk_c1_destroy(c1);
        free(t.bytes);
    }
}

typedef struct told {
    const char *next; /* expected */
    size_t n_calls;
    bool in_order;
} told;

static void be_told(void *ctx, const void *data, size_t n) {
    told *t = ctx;
    t->in_order &= (const char *)data == t->next;
    t->next = (const char *)data + n;
    t->n_calls++;
}

/* What has been read is told: all of it, in order, in pieces. */
static void test_passed(void) {
    enum { BLANKS = 600 << 10 }; /* before the document: more than two pieces */
    text t = read_vector("seal-StackedDrg2KiBV1_1.wrapped.json"), long_one = {malloc(t.n + BLANKS), t.n + BLANKS};
    zk_c1 *c1 = read_ok(t), *other = NULL;
    memset(long_one.bytes, ' ', BLANKS);
    memcpy(long_one.bytes + BLANKS, t.bytes, t.n);
    told seen = {.next = long_one.bytes, .in_order = true};
    zk_passed passed = {.fn = be_told, .ctx = &seen};
    zk_input *input = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_input_open_memory(&input, long_one.bytes, long_one.n, &passed, &err), err);
    ZK_CHECK_OK(zk_c1_read(&other, input, &err), err);
    ZK_CHECK(seen.in_order && seen.next == long_one.bytes + long_one.n && seen.n_calls > 2);
    ZK_CHECK(same_c1(c1, other));
    zk_c1_destroy(other);
    zk_c1_destroy(c1);
    free(t.bytes), free(long_one.bytes);
}

/* ---- What must be refused ---- */

static void check_refused(text t, const char *what, const char *want) {
    cuzk_err err = {0};
    zk_c1 *c1 = NULL;
    cuzk_status status = zk_c1_read_memory(&c1, t.bytes, t.n, &err);
    ZK_CHECKF(status == CUZK_BAD_INPUT && c1 == NULL, "%s: status %d", what, (int)status);
    ZK_CHECKF(strstr(err.message, want) != NULL, "%s: \"%s\" lacks \"%s\"", what, err.message, want);
    ZK_CHECKF(strstr(err.message, "byte ") != NULL, "%s: \"%s\" has no offset", what, err.message);
}

/* The text with the n-th occurrence of `from` replaced. */
static text replaced(text t, const char *from, unsigned nth, const char *to) {
    char *at = t.bytes - 1;
    for (unsigned i = 0; i <= nth; i++) {
        at = strstr(at + 1, from);
        ZK_CHECKF(at != NULL, "no \"%s\"", from);
    }
    size_t before = (size_t)(at - t.bytes), after = t.n - before - strlen(from);
    text r = {malloc(t.n + strlen(to) + 1), before + strlen(to) + after};
    memcpy(r.bytes, t.bytes, before);
    memcpy(r.bytes + before, to, strlen(to));
    memcpy(r.bytes + before + strlen(to), at + strlen(from), after + 1);
    return r;
}

#define ZEROS31 "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"
/* r in bytes, the least value that is refused, and r - 1, the greatest that is not. */
#define R_MINUS_1                                                                                                      \
    "[0,0,0,0,255,255,255,255,254,91,254,255,2,164,189,83,5,216,161,9,8,216,57,51,72,125,157,41,83,167,237,115]"
#define R_ITSELF                                                                                                       \
    "[1,0,0,0,255,255,255,255,254,91,254,255,2,164,189,83,5,216,161,9,8,216,57,51,72,125,157,41,83,167,237,115]"

static void test_refused(void) {
    static const struct {
        const char *from, *to, *want;
        unsigned nth;
    } cases[] = {
        {"\"registered_proof\":\"StackedDrg2KiBV1_1\"", "\"registered_proof\":\"StackedDrg3KiBV1\"",
         "registered_proof: \"StackedDrg3KiBV1\" is not", 0},
        {"\"registered_proof\":\"StackedDrg2KiBV1_1\"", "\"registered_proof\":\"StackedDrg8MiBV1_1\"",
         "needs vanilla_proofs.StackedDrg8MiBV1", 0},
        {"\"registered_proof\":\"StackedDrg2KiBV1_1\"", "\"registered_proof\":5", "expected a string", 0},
        {"\"registered_proof\":\"StackedDrg2KiBV1_1\"",
         "\"registered_proof\":\"StackedDrg2KiBV1_2_Feat_NonInteractivePoRep\"",
         "found 1 partitions, StackedDrg2KiBV1_2_Feat_NonInteractivePoRep has 13", 0},
        {"\"registered_proof\":", "\"registered_prof\":", "unknown member \"registered_prof\"", 0},
        {"\"registered_proof\":\"StackedDrg2KiBV1_1\",", "", "\"registered_proof\" is missing", 0},
        {"{\"StackedDrg2KiBV1\":[", "{\"StackedDrg2KiBV1_1\":[", "vanilla_proofs", 0},
        {"{\"StackedDrg2KiBV1\":[", "{\"StackedDrg8MiBV1\":[", "needs vanilla_proofs.StackedDrg2KiBV1", 0},
        {"{\"StackedDrg2KiBV1\":[", "{\"StackedDrg2KiBV1\":[[],",
         "vanilla_proofs.StackedDrg2KiBV1[0]: found 0 elements, expected 2", 0},
        {"}}]]},", "}}],[{}]]},", "more than the expected 1 partitions", 0},
        {"}}]]},", "}}]]],", "json", 0},
        {"}}]]},", "}}]],\"StackedDrg8MiBV1\":[]},", "second member", 0},
        {"}}]]},", "}},{}]]},", "found more than the expected 2 elements", 0},
        {"\"comm_d_proofs\":", "\"comm_e_proofs\":", "StackedDrg2KiBV1[0][0]: unknown member \"comm_e_proofs\"", 0},
        {"\"comm_r_last_proof\":", "\"comm_d_proofs\":", "\"comm_d_proofs\" is there twice", 0},
        {"\"Single\":", "\"Sub\":", "comm_d_proofs.data: unknown member \"Sub\"", 0},
        {"\"Single\":", "\"Sub\":", "comm_r_last_proof.data: unknown member \"Sub\"", 1},
        {"\"root\":[", "\"root\":[256,", "expected an integer from 0 to 255", 0},
        {"\"root\":[", "\"root\":[0,", "comm_d_proofs.data.Single.root", 0},
        {"\"root\":[", "\"root\":[1],\"x\":[", "comm_d_proofs.data.Single.root", 0},
        {"\"root\":[", "\"root\":[-1,", "json", 0},
        {"\"root\":[", "\"root\":[1.0,", "json", 0},
        {"\"root\":[", "\"root\":[1e1,", "json", 0},
        {"\"root\":[", "\"root\":[[1],", "json", 0},
        {"\"root\":[", "\"root\":[\"1\",", "json", 0},
        {"\"root\":[", "\"root\":null,\"leaf\":[", "found null, expected an array of bytes", 0},
        {"\"root\":[", "\"root\":" R_ITSELF ",\"x\":[", "root: the value is not a field element", 0},
        {"\"leaf\":[", "\"leaf\":" R_ITSELF ",\"x\":[", "leaf: the value is not a field element", 3},
        {"\"hashes\":[", "\"hashes\":[" R_ITSELF ",", "path[0].hashes[0]: the value is not a field element", 0},
        {"\"hashes\":[", "\"hashes\":[" R_MINUS_1 ",", "path[0].hashes: found more than the expected 1 elements", 0},
        {"\"hashes\":[", "\"hashes\":[],\"x\":[", "hashes: found 0 elements, expected 1", 0},
        {"\"hashes\":[", "\"hashes\":{},\"x\":[", "found an object, expected an array", 0},
        {"\"hashes\":[", "\"hashes\":[],\"x\":[", "hashes: found 0 elements, expected 7", 6},
        {",\"index\":", ",\"index\":2,\"x\":", "expected an integer from 0 to 1", 0},
        {",\"index\":", ",\"index\":8,\"x\":", "expected an integer from 0 to 7", 6},
        {",\"index\":", ",\"index\":-1,\"x\":", "found the number -1", 0},
        {",\"index\":", ",\"index\":1.0,\"x\":", "found the number 1.0", 0},
        {",\"index\":", ",\"index\":true,\"x\":", "found a boolean, expected a number", 0},
        {",\"index\":", ",\"indices\":", "unknown member \"indices\"", 0},
        {"{\"index\":", "{\"index\":4294967296,\"x\":", "expected an integer from 0 to 4294967295", 0},
        {"\"path\":{\"path\":[", "\"path\":{\"path\":[],\"x\":[", "found 0 elements, expected 6", 0},
        {"\"path\":{\"path\":[", "\"path\":{\"path\":[],\"x\":[", "found 0 elements, expected 2", 1},
        {"\"path\":{", "\"path\":{\"path\":[],\"x\":[", "found 0 elements, expected 6", 0},
        {"\"rows\":[", "\"rows\":[[" ZEROS31 ",0],", "rows: found more than the expected 2 elements", 0},
        {"\"_h\":null", "\"_h\":0", "found a number, expected null", 0},
        {",\"_h\":null", "", "\"_h\" is missing", 2},
        {"\"c_x\":", "\"c_y\":", "replica_column_proofs: unknown member \"c_y\"", 0},
        {"\"drg_parents\":[", "\"drg_parents\":[],\"x\":[", "drg_parents: found 0 elements, expected 6", 0},
        {"\"exp_parents\":[", "\"exp_parents\":[{}],\"x\":[", "exp_parents[0]: member \"column\" is missing", 0},
        {"\"labeling_proofs\":[", "\"labeling_proofs\":[],\"x\":[", "labeling_proofs: found 0 elements, expected 2", 0},
        {"\"parents\":[", "\"parents\":[[" ZEROS31 ",0],", "parents: found more than the expected 37 elements", 0},
        {"\"parents\":[", "\"parents\":[[" ZEROS31 ",255],", "parents[0]: the value is not a field element", 0},
        {"\"parents\":[", "\"parents\":[],\"x\":[", "parents: found 0 elements, expected 37", 2},
        {"\"layer_index\":1", "\"layer_index\":18446744073709551616", "expected an integer", 0},
        {"\"node\":", "\"node\":\"1\",\"x\":", "found a string, expected a number", 0},
        {",\"comm_r\":", ",\"comm_q\":", "unknown member \"comm_q\"", 0},
        {",\"comm_d\":", ",\"comm_r\":", "\"comm_r\" is there twice", 0},
        {",\"comm_d\":", ",\"comm_d\":" R_ITSELF ",\"x\":", "comm_d: the value is not a field element", 0},
        {",\"replica_id\":", ",\"replica_id\":" R_ITSELF ",\"x\":", "replica_id: the value is not a field element", 0},
        {",\"seed\":", ",\"seed\":[],\"x\":", "seed", 0},
        {",\"seed\":", ",\"seed\":\"AAAA\",\"x\":", "found a string, expected an array of bytes", 0},
        {",\"seed\":", ",\"SectorNum\":", "does not go with the members before it", 0},
    };
    text t = read_vector("seal-StackedDrg2KiBV1_1.c1.json");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text bad = replaced(t, cases[i].from, cases[i].nth, cases[i].to);
        check_refused(bad, cases[i].to, cases[i].want);
        free(bad.bytes);
    }
    /* r - 1 and, in seed and ticket, any bytes are fine */
    text good = replaced(t, ",\"comm_d\":[", 0, ",\"comm_d\":" R_MINUS_1 ",\"seed\":" R_ITSELF ",\"x\":[");
    check_refused(good, "x", "unknown member \"x\"");
    free(good.bytes);
    static const char *const whole[] = {"",     " ",         "[]", "null", "7", "{}", "{\"SectorNum\":1}",
                                        "\"\"", "{\"a\":1}", "nul"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        text w = {(char *)(uintptr_t)whole[i], strlen(whole[i])};
        check_refused(w, whole[i], "");
    }
    free(t.bytes);
}

static void test_truncated(void) {
    static const char *const names[] = {"seal-StackedDrg2KiBV1_1.c1.json", "seal-StackedDrg2KiBV1_1.wrapped.json"};
    for (unsigned k = 0; k < 2; k++) {
        text t = read_vector(names[k]);
        for (size_t n = 0; n < t.n; n += n < 200 || n + 200 > t.n ? 1 : 211) {
            text cut = {malloc(n + 1), n}; /* of the exact size */
            memcpy(cut.bytes, t.bytes, n);
            char what[32];
            snprintf(what, sizeof what, "%zu bytes", n);
            check_refused(cut, what, "");
            free(cut.bytes);
        }
        /* and something behind the end */
        text more = {malloc(t.n + 2), t.n + 1};
        memcpy(more.bytes, t.bytes, t.n);
        more.bytes[t.n] = '7';
        check_refused(more, "one byte more", "");
        more.bytes[t.n] = '\n';
        zk_c1_destroy(read_ok(more));
        free(more.bytes);
        free(t.bytes);
    }
}

static void test_envelope_refused(void) {
    static const struct {
        const char *from, *to, *want;
    } cases[] = {
        {"\"SectorSize\":2048", "\"SectorSize\":4096",
         "SectorSize is 4096, but StackedDrg2KiBV1_1 has sectors of 2048"},
        {"\"SectorSize\":2048", "\"SectorSize\":\"2048\"", "found a string, expected a number"},
        {",\"SectorSize\":2048", "", "\"SectorSize\" is missing"},
        {"\"SectorNum\":117,", "", "\"SectorNum\" is missing"},
        {"\"SectorNum\":117,", "\"SectorNum\":117,\"SectorNum\":118,", "\"SectorNum\" is there twice"},
        {"\"SectorNum\":117", "\"SectorNum\":-117", "found the number -117"},
        {"\"SectorNum\":117", "\"Ticket\":117", "unknown member \"Ticket\""},
        {"\"SectorNum\":117", "\"SectorNum\":117,\"seed\":[]", "does not go with"},
        {"\"Phase1Out\":\"eyJ", "\"Phase1Out\":\"eyJ ", "base64"},
        {"\"Phase1Out\":\"eyJ", "\"Phase1Out\":\"eyJ=", "base64"},
        {"\"Phase1Out\":\"eyJ", "\"Phase1Out\":\"eyJye", "c1"},
        {"\"Phase1Out\":\"", "\"Phase1Out\":{},\"x\":\"", "expected a string"},
        {"==\",", "=\",", "base64"},
        {"fQ==\",", "fR==\",", "base64"},
        {"fQ==\",", "fX0=\",", "Phase1Out"},
        {"fQ==\",", "\",", "Phase1Out"},
    };
    text t = read_vector("seal-StackedDrg2KiBV1_1.wrapped.json");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text bad = replaced(t, cases[i].from, 0, cases[i].to);
        check_refused(bad, cases[i].to, cases[i].want);
        free(bad.bytes);
    }
    /* an envelope in an envelope */
    text twice = wrap(t, 0, 2048);
    check_refused(twice, "twice", "unknown member \"SectorNum\"");
    free(twice.bytes);
    free(t.bytes);
}

/* Every allocation of a reading fails once: an error each time, nothing lost. */
static void test_out_of_memory(void) {
    static const char *const names[] = {"seal-StackedDrg2KiBV1_1.c1.json", "seal-StackedDrg2KiBV1_1.wrapped.json"};
    for (unsigned k = 0; k < 2; k++) {
        text t = read_vector(names[k]);
        bool failed = true;
        uint64_t nth = 1;
        for (; failed; nth++) {
            zk_c1 *c1 = NULL;
            cuzk_err err = {0};
            zk_alloc_fail_nth(nth);
            cuzk_status status = zk_c1_read_memory(&c1, t.bytes, t.n, &err);
            failed = zk_alloc_failed();
            zk_alloc_fail_nth(0);
            ZK_CHECKF(status == (failed ? CUZK_OUT_OF_MEMORY : CUZK_OK), "allocation %llu: %s", (unsigned long long)nth,
                      err.message);
            ZK_CHECK((c1 == NULL) == failed);
            zk_c1_destroy(c1);
        }
        ZK_CHECK(nth > 4);
        free(t.bytes);
    }
}

static void test_files(void) {
    zk_c1 *c1 = NULL;
    cuzk_err err = {0};
    char path[4096];
    ZK_CHECK(zk_c1_read_file(&c1, "/nonexistent/c1.json", &err) == CUZK_NOT_FOUND);
    ZK_CHECK(strstr(err.message, "/nonexistent/c1.json") != NULL);
    zk_err_reset(&err);
    ZK_CHECK(zk_c1_read_file(&c1, "/", &err) == CUZK_BAD_INPUT);
    zk_err_reset(&err);
    snprintf(path, sizeof path, "%s/porep/seal-StackedDrg2KiBV1_1.json", zk_test_vectors_dir());
    ZK_CHECK(zk_c1_read_file(&c1, path, &err) == CUZK_BAD_INPUT);
    ZK_CHECK(strstr(err.message, path) != NULL);
    zk_err_reset(&err);
    snprintf(path, sizeof path, "%s/porep/seal-StackedDrg2KiBV1_1.c1.json", zk_test_vectors_dir());
    ZK_CHECK_OK(zk_c1_read_file(&c1, path, &err), err);
    ZK_CHECK(c1->n_partitions == 1);
    zk_c1_destroy(c1);
}

ZK_TEST_MAIN(ZK_CASE(test_round_trip), ZK_CASE(test_round_trip_zstd), ZK_CASE(test_any_order),
             ZK_CASE(test_64gib_shape), ZK_CASE(test_pieces), ZK_CASE(test_passed), ZK_CASE(test_refused),
             ZK_CASE(test_truncated), ZK_CASE(test_envelope_refused), ZK_CASE(test_out_of_memory), ZK_CASE(test_files))
