/* The circuits' private values from vanilla proofs: equal to the reference's, satisfied where they should be, and not
 * satisfied when a value is altered that the circuit uses. */
#include "gadget_run.h"
#include "post_vectors.h"
#include "hash/poseidon.h"
#include "program/defined.h"
#include "program/digest.h"

typedef struct synthesis {
    gadget_run run;
    uint8_t (*hints)[32];
} synthesis;

static void open_synthesis(synthesis *s, const zk_registered_post *type) {
    cuzk_err err = {0};
    zk_program *p = NULL;
    zk_post_shape shape;
    char identifier[ZK_IDENTIFIER_MAX];
    memset(s, 0, sizeof *s);
    ZK_CHECK_OK(zk_post_circuit(&shape, identifier, type->kind, type->sector_bytes, &err), err);
    ZK_CHECK_OK(zk_post_program(&p, &shape, "post", &err), err);
    run_alloc(&s->run, p, true);
    s->hints = malloc((size_t)p->n_hints * 32);
    ZK_CHECK(s->hints);
}

static void close_synthesis(synthesis *s) {
    run_free(&s->run);
    free(s->hints);
}

static void synthesize(synthesis *s, const zk_post *post, uint32_t partition) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_post_partition_hints(s->hints, s->run.p->n_hints, post, partition, &err), err);
    run_witness(&s->run, (const uint8_t(*)[32])s->hints);
}

/* The quick evaluation of what was just computed gives the same as adding up every row, satisfied or not. */
static void check_quick_evaluation(synthesis *s) {
    zk_fr *quick[3];
    cuzk_err err = {0};
    size_t n = s->run.p->n_rows;
    for (int m = 0; m < 3; m++) ZK_CHECK((quick[m] = malloc(n * sizeof(zk_fr))));
    ZK_CHECK_OK(zk_program_eval_computed(s->run.p, &s->run.w, quick[0], quick[1], quick[2], NULL, &err), err);
    run_check(&s->run);
    for (int m = 0; m < 3; m++) {
        ZK_CHECK_MEM(quick[m], s->run.abc[m], n * sizeof(zk_fr));
        free(quick[m]);
    }
}

/* Rows that fail; the first ones into rows[max]. */
static size_t count_unsatisfied(synthesis *s, size_t *rows, size_t max) {
    size_t n = 0;
    if (run_check(&s->run) == s->run.p->n_rows) return 0;
    for (size_t i = 0; i < s->run.p->n_rows; i++) {
        zk_fr product;
        zk_fr_mul(&product, &s->run.abc[0][i], &s->run.abc[1][i]);
        if (zk_fr_eq(&product, &s->run.abc[2][i])) continue;
        if (n < max) rows[n] = i;
        n++;
    }
    return n;
}

/* Whether the circuit's inputs are those that a verifier computes. */
static bool inputs_agree(const synthesis *s, const zk_post *post, uint32_t partition) {
    uint8_t(*publics)[32] = publics_of(post, partition), found[32];
    bool agree = zk_post_n_publics(post->type) == s->run.p->n_inputs - 1;
    for (uint32_t i = 1; agree && i < s->run.p->n_inputs; i++) {
        zk_fr_to_bytes_le(found, &s->run.w.inputs[i]);
        agree = memcmp(found, publics[i - 1], 32) == 0;
    }
    free(publics);
    return agree;
}

static void check_witness(synthesis *s, const zk_post *post, uint32_t partition, const zk_json_value *witness) {
    zk_checkpoints checkpoints;
    uint8_t sha256[32], want[32];
    cuzk_err err = {0};
    const zk_json_value *expected = get(witness, "aux_checkpoints");
    synthesize(s, post, partition);
    run_satisfied(&s->run);
    check_quick_evaluation(s);
    ZK_CHECK(inputs_agree(s, post, partition));
    ZK_CHECK(s->run.p->n_aux == get_u64(witness, "aux") && s->run.p->n_rows == get_u64(witness, "constraints"));
    ZK_CHECK_OK(zk_witness_digest(sha256, &checkpoints, s->run.p, &s->run.w,
                                  (uint32_t)get_u64(witness, "aux_per_checkpoint"), &err),
                err);
    ZK_CHECK(checkpoints.n == zk_json_count(expected));
    for (size_t i = 0; i < checkpoints.n; i++) {
        hex_of(want, 8, zk_json_element_of(expected, i));
        ZK_CHECKF(memcmp(checkpoints.at[i], want, 8) == 0, "first difference before checkpoint %zu", i);
    }
    hex_of_node(want, witness, "aux_sha256");
    ZK_CHECK_MEM(sha256, want, 32);
    zk_checkpoints_free(&checkpoints);
}

static void test_reference_witnesses(void) {
    static const char *const names[] = {
        "winning-2KiB",        "winning-8MiB",           "winning-32GiB",          "winning-64GiB",
        "window-2KiB-n1-v1_0", "window-2KiB-n2-v1_2",    "window-2KiB-n5-v1_0",    "window-2KiB-n5-v1_2",
        "window-8MiB-n3-v1_0", "window-2KiB-skip2-v1_0", "window-2KiB-skip2-v1_2", "window-512MiB-n3-v1_2",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char file[96];
        post_request r;
        synthesis s;
        zk_post *post = NULL;
        cuzk_err err = {0};
        snprintf(file, sizeof file, "post/%s.json", names[i]);
        zk_json_doc *doc = load_json(file);
        const zk_json_value *root = zk_json_root(doc);
        request_of(&r, root);
        ZK_CHECK_OK(create_post(&post, &r, &err), err);
        open_synthesis(&s, r.type);
        if (r.type->kind == ZK_POST_WINNING)
            check_witness(&s, post, 0, get(root, "witness"));
        else
            for (uint32_t k = 0; k < zk_post_n_partitions(post); k++)
                check_witness(&s, post, k, get(zk_json_element_of(get(root, "partition_proofs"), k), "witness"));
        close_synthesis(&s);
        zk_post_destroy(post);
        free_request(&r);
        zk_json_doc_destroy(doc);
    }
}

/* Every permutation's S-box inputs and its hash are taken from the assignment, and nothing else. */
static void test_defined_rows(void) {
    cuzk_err err = {0};
    zk_program *p = NULL;
    ZK_CHECK_OK(zk_post_program(&p, &(zk_post_shape){32768, 1, 1}, "post", &err), err);
    unsigned n_with = 0;
    for (uint32_t i = 0; i < p->n_templates; i++) {
        const zk_template *t = &p->templates[i];
        uint32_t *rows = NULL, n = 0;
        ZK_CHECK_OK(zk_template_defined_rows(&rows, t, &err), err);
        for (uint32_t r = 0; rows && r < t->n_rows; r++) n += rows[r] != ZK_NOT_DEFINED;
        bool poseidon = strcmp(t->name, "poseidon") == 0;
        ZK_CHECK(poseidon == (rows != NULL));
        if (poseidon) {
            const zk_poseidon_params *params = zk_poseidon_get(t->n_ports);
            ZK_CHECK(n == zk_poseidon_n_sboxes(params) - params->width + 1);
            n_with++;
        }
        free(rows);
    }
    ZK_CHECK(n_with == 2); /* arities 8 and 2 */
    zk_program_destroy(p);
}

/* ---- altered values: what the reference's circuit says of them ---- */

static bool apply_xor(zk_blob *blob, const zk_json_value *edit) {
    if (strcmp(get_text(edit, "op"), "xor") != 0) return false;
    blob->data[get_u64(edit, "offset")] ^= (uint8_t)get_u64(edit, "mask");
    return true;
}

/* Edits that decode here and whose circuit the reference built: as many rows fail, and the same ones. */
static void test_edits_in_circuit(void) {
    zk_json_doc *doc = load_json("post/bad-inputs.json");
    const zk_json_value *list = get(zk_json_root(doc), "edits");
    unsigned n_compared = 0;
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i), *partitions, *result;
        partitions = zk_json_member_of(get(row, "result"), "partitions");
        result = zk_json_element_of(partitions, 0);
        if (!result || !zk_json_member_of(result, "unsatisfied_rows")) continue;
        char file[96];
        post_request r;
        zk_post *post = NULL;
        cuzk_err err = {0};
        snprintf(file, sizeof file, "post/%s.json", get_text(row, "base"));
        zk_json_doc *base = load_json(file);
        request_of(&r, zk_json_root(base));
        if (apply_xor(&r.vanilla[get_u64(row, "changed_position")], get(row, "edit")) &&
            create_post(&post, &r, &err) == CUZK_OK) {
            synthesis s;
            size_t rows[3];
            bool expected_inputs = false;
            const zk_json_value *first = get(result, "first_unsatisfied_rows");
            open_synthesis(&s, r.type);
            synthesize(&s, post, 0);
            check_quick_evaluation(&s);
            size_t n = count_unsatisfied(&s, rows, 3);
            ZK_CHECKF(n == get_u64(result, "unsatisfied_rows"), "%s: %zu rows", get_text(row, "what"), n);
            for (size_t k = 0; k < zk_json_count(first); k++) ZK_CHECK(rows[k] == u64_of(zk_json_element_of(first, k)));
            ZK_CHECK_OK(zk_json_get_bool(&expected_inputs, get(result, "inputs_as_verifier_expects"), "inputs", &err),
                        err);
            ZK_CHECK(inputs_agree(&s, post, 0) == expected_inputs);
            close_synthesis(&s);
            n_compared++;
        }
        zk_post_destroy(post);
        free_request(&r);
        zk_json_doc_destroy(base);
    }
    ZK_CHECKF(n_compared >= 6, "%u edits compared", n_compared);
    zk_json_doc_destroy(doc);
}

/* What one bit of the vanilla bytes is to the circuit. */
typedef enum use { USE_PRIVATE, USE_ROOT, USE_SECTOR } use;

static use use_of(const zk_registered_post *type, size_t byte) {
    const size_t opening = 556; /* 2 KiB: tag 4, root 32, leaf 32, path */
    if (byte < 8) return USE_SECTOR;
    if (byte < 56 || byte >= 56 + type->n_challenges * opening) return USE_PRIVATE;
    size_t in_opening = (byte - 56) % opening;
    return in_opening >= 4 && in_opening < 36 ? USE_ROOT : USE_PRIVATE;
}

/* Flips random bits; what still decodes must fail in the circuit, unless the circuit does not see the value: then the
 * vanilla check has found it (filecoin_post_test.c), and another sector number gives other public inputs. */
static void flip_random(const char *name, unsigned n_flips, uint64_t seed) {
    char file[96];
    post_request r;
    synthesis s;
    unsigned n_tried = 0;
    snprintf(file, sizeof file, "post/%s.json", name);
    zk_json_doc *doc = load_json(file);
    request_of(&r, zk_json_root(doc));
    open_synthesis(&s, r.type);
    for (unsigned i = 0; i < n_flips; i++) {
        zk_blob *blob = &r.vanilla[zk_test_rand(&seed) % r.n];
        size_t bit = zk_test_rand(&seed) % (8 * blob->n);
        zk_post *post = NULL;
        cuzk_err err = {0};
        blob->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (create_post(&post, &r, &err) == CUZK_OK) {
            use u = use_of(r.type, bit / 8);
            synthesize(&s, post, 0);
            bool satisfied = run_check(&s.run) == s.run.p->n_rows;
            ZK_CHECKF(satisfied == (u != USE_PRIVATE), "%s: bit %zu", name, bit);
            if (u == USE_SECTOR) ZK_CHECK(!inputs_agree(&s, post, 0));
            n_tried++;
        }
        zk_post_destroy(post);
        blob->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ZK_CHECK(n_tried > n_flips / 2);
    close_synthesis(&s);
    free_request(&r);
    zk_json_doc_destroy(doc);
}

static void test_random_bits(void) {
    flip_random("window-2KiB-n2-v1_2", 40, 11);
    flip_random("winning-2KiB", 12, 12);
}

ZK_TEST_MAIN(ZK_CASE(test_reference_witnesses), ZK_CASE(test_defined_rows), ZK_CASE(test_edits_in_circuit),
             ZK_CASE(test_random_bits))
