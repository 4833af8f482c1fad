/* Proofs of a sample request with fixed blinding, for tests of prepared keys. */
#ifndef ZK_E2E_PREPARE_PROOFS_H
#define ZK_E2E_PREPARE_PROOFS_H

#include "run.h"

static inline void write_text(const char *path, const char *text) { e2e_write(path, text, strlen(text)); }

static inline const char *blinding(void) {
    const char *path = e2e_path("blinding.json");
    char text[300], r[65], s[65];
    memset(r, '1', 64);
    memset(s, '2', 64);
    r[64] = s[64] = 0;
    snprintf(text, sizeof text, "[{\"r\":\"%s\",\"s\":\"%s\"}]", r, s);
    write_text(path, text);
    return path;
}

/* The proof of a request with the keys that `option` `where` name; prepared or not. Valid until the next call. */
static inline const uint8_t *prove_sample(const char *request, const char *option, const char *where, bool prepared) {
    static uint8_t proof[192];
    e2e_result r;
    size_t n = 0;
    const char *out = e2e_path("proof.bin");
    if (prepared) {
        E2E_RUN(&r, 0, "prove", "--request", request, option, where, "--prepared", "--test-blinding", blinding(), "-o",
                out, "--backend", "cpu");
        ZK_CHECKF(strstr(r.err, "products") && !strstr(r.err, "quotient"), "%s", r.err);
    } else {
        E2E_RUN(&r, 0, "prove", "--request", request, option, where, "--test-blinding", blinding(), "-o", out,
                "--backend", "cpu");
        ZK_CHECKF(strstr(r.err, "quotient"), "%s", r.err);
    }
    e2e_free(&r);
    uint8_t *bytes = e2e_read(out, &n);
    ZK_CHECK(n == sizeof proof);
    memcpy(proof, bytes, n);
    free(bytes);
    return proof;
}

static inline const char *sample(const char *kind, const char *name) {
    const char *path = e2e_path(name);
    e2e_result r;
    E2E_RUN(&r, 0, "sample", kind, "--sector-size", "2KiB", "--seed", "prepared", "-o", path);
    e2e_free(&r);
    return path;
}

#endif
