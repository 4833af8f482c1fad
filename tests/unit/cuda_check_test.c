/* The check of a parameter file on a device, emulated or not: the verdicts and words of the CPU's. */
#include "groth16_common.h"

#include "cuda/cuda_kernels.h"

static bytes file;
static zk_params *params;

static void open_file(void) {
    cuzk_err err = {0};
    test_open();
    if (params) return;
    file = read_bytes(toy_path("bits-64", ".params"));
    ZK_CHECK_OK(zk_params_open_bytes(&params, "key-file", file.data, file.n, NULL, &err), err);
}

/* Both say the same. Returns the status. */
static cuzk_status check_both(zk_backend *backend) {
    cuzk_err cpu = {0}, device = {0};
    cuzk_status expected = zk_params_check(params, test_pool, NULL, NULL, &cpu);
    cuzk_status found = zk_params_check_on(params, backend, test_pool, NULL, NULL, &device);
    ZK_CHECKF(found == expected && strcmp(cpu.message, device.message) == 0, "cpu: %s; device: %s", cpu.message,
              device.message);
    return found;
}

static uint8_t *point_at(zk_params_section_id id, size_t index) {
    return file.data + params->section[id].offset + index * zk_params_point_bytes(id);
}

/* A point of the curve outside the subgroup, encoded. */
static void outside(uint8_t *encoded, zk_group group) {
    uint8_t x[96] = {0x80};
    for (uint8_t k = 1;; k++) {
        zk_g1_affine p;
        zk_g2_affine q;
        x[group == ZK_G1 ? 47 : 95] = k;
        if (group == ZK_G1) {
            if (zk_g1_decompress(&p, x, false) != ZK_POINT_OK || zk_g1_affine_is_in_subgroup(&p)) continue;
            zk_g1_serialize(encoded, &p);
        } else {
            if (zk_g2_decompress(&q, x, false) != ZK_POINT_OK || zk_g2_affine_is_in_subgroup(&q)) continue;
            zk_g2_serialize(encoded, &q);
        }
        return;
    }
}

static void test_good(void) {
    open_file();
    ZK_CHECK(zk_resident_points_can_check(test_backend));
    ZK_CHECK(check_both(test_backend) == CUZK_OK);
}

static void damage(zk_params_section_id id, size_t index, unsigned how) {
    size_t n = zk_params_point_bytes(id);
    uint8_t saved[192], *at = point_at(id, index);
    memcpy(saved, at, n);
    memset(at, 0, n);
    switch (how) {
    case 0:
        outside(at, zk_params_section_group(id));
        break;
    case 1: /* infinity */
        at[0] = 0x40;
        break;
    case 2: /* not canonical */
        memset(at, 0x1f, n);
        break;
    case 3: /* not on the curve */
        memcpy(at, saved, n);
        at[n - 1] ^= 1;
        break;
    }
    ZK_CHECKF(check_both(test_backend) == CUZK_CHECK_FAILED, "section %d, point %zu", id, index);
    memcpy(at, saved, n);
}

static void test_bad(void) {
    open_file();
    for (int id = 0; id < ZK_PARAMS_N_SECTIONS; id++) damage((zk_params_section_id)id, params->section[id].n / 3, 0);
    for (unsigned how = 1; how < 4; how++) damage(how % 2 ? ZK_PARAMS_H : ZK_PARAMS_B_G2, 10 * how, how);
    damage(ZK_PARAMS_H, 0, 0);
    damage(ZK_PARAMS_B_G2, params->section[ZK_PARAMS_B_G2].n - 1, 0);
}

/* A device that holds a fraction of a section: slices, with a bad point in one of them. */
static void test_slices(void) {
    zk_backend *backend;
    cuzk_err err = {0};
    open_file();
    size_t n = zk_params_point_bytes(ZK_PARAMS_H), index = params->section[ZK_PARAMS_H].n - 30;
    uint8_t saved[192], *at = point_at(ZK_PARAMS_H, index);
    ZK_CHECK_OK(zk_backend_open_cuda(&backend, 0, 1 << 20, test_pool, &err), err);
    memcpy(saved, at, n);
    outside(at, ZK_G1);
    backend->caps.memory_bytes = 40 * 4 * 96; /* what slices are made for: 40 points of G1 */
    ZK_CHECK(check_both(backend) == CUZK_CHECK_FAILED);
    memcpy(at, saved, n);
    zk_backend_close(backend);
    ZK_CHECK(zk_cuda_bytes_kept() == 0);
}

static void test_no_memory(void) {
    cuzk_err err = {0};
    open_file();
    for (uint64_t nth = 1; nth < 60; nth += 7) {
        zk_cuda_alloc_fail_nth(nth);
        cuzk_status status = zk_params_check_on(params, test_backend, test_pool, NULL, NULL, &err);
        zk_cuda_alloc_fail_nth(0);
        ZK_CHECKF(status == CUZK_OK || status == CUZK_OUT_OF_MEMORY || status == CUZK_UNSUPPORTED, "%s", err.message);
        ZK_CHECK(status == CUZK_OK || err.message[0]);
        zk_err_reset(&err);
    }
}

ZK_TEST_MAIN(ZK_CASE(test_good), ZK_CASE(test_bad), ZK_CASE(test_slices), ZK_CASE(test_no_memory))
