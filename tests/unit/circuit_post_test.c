/* The PoSt circuits against the reference: structure at every size, and sizes that have no vector. */
#include "circuit/post.h"
#include "circuit_check.h"

static const struct {
    const char *kind;
    uint64_t bytes;
    zk_post_shape shape;
} circuits[] = {
#define WINNING(bytes)                                                                                                 \
    {                                                                                                                  \
        "winning", bytes, { bytes, 66, 1 }                                                                             \
    }
#define WINDOW(bytes, n_sectors)                                                                                       \
    {                                                                                                                  \
        "window", bytes, { bytes, n_sectors, 10 }                                                                      \
    }
    WINNING(2048),
    WINNING(4096),
    WINNING(16384),
    WINNING(32768),
    WINNING(UINT64_C(512) << 20),
    WINNING(UINT64_C(32) << 30),
    WINNING(UINT64_C(64) << 30),
    WINDOW(2048, 2),
    WINDOW(4096, 2),
    WINDOW(16384, 2),
    WINDOW(32768, 2),
    WINDOW(UINT64_C(8) << 20, 2),
};

static void test_structures(void) {
    for (size_t i = 0; i < sizeof circuits / sizeof circuits[0]; i++) {
        cuzk_err err = {0};
        zk_program *p = NULL;
        ZK_CHECK_OK(zk_post_program(&p, &circuits[i].shape, circuits[i].kind, &err), err);
        ZK_CHECK(strcmp(p->name, circuits[i].kind) == 0);
        check_structure(circuits[i].kind, circuits[i].bytes, p);
        zk_program_destroy(p);
    }
}

/* Sizes are linear: a circuit of n sectors is n times one, and each sector's rows are those of one moved along. */
static void test_sectors_add_up(void) {
    const uint64_t sizes[] = {UINT64_C(8) << 20, UINT64_C(512) << 20, UINT64_C(16) << 20, UINT64_C(1) << 30};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        cuzk_err err = {0};
        zk_program *one = NULL, *many = NULL;
        ZK_CHECK_OK(zk_post_program(&one, &(zk_post_shape){sizes[i], 1, 3}, "one", &err), err);
        ZK_CHECK_OK(zk_post_program(&many, &(zk_post_shape){sizes[i], 5, 3}, "many", &err), err);
        ZK_CHECK(many->n_rows == 5 * one->n_rows && many->n_aux == 5 * one->n_aux);
        ZK_CHECK(many->n_inputs - 1 == 5 * (one->n_inputs - 1) && one->n_inputs == 1 + 4);
        ZK_CHECK(many->n_hints == 5 * one->n_hints && many->n_levels == one->n_levels);
        ZK_CHECK(many->n_templates == one->n_templates);
        zk_program_destroy(one);
        zk_program_destroy(many);
    }
}

static void test_unsupported(void) {
    cuzk_err err = {0};
    zk_program *p = NULL;
    ZK_CHECK(zk_post_program(&p, &(zk_post_shape){8192, 2, 10}, "window", &err) == CUZK_UNSUPPORTED);
    ZK_CHECK(!p && strstr(err.message, "8192"));
}

ZK_TEST_MAIN(ZK_CASE(test_structures), ZK_CASE(test_sectors_add_up), ZK_CASE(test_unsupported))
