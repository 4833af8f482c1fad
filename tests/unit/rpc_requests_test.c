/* Which requests a daemon takes: every kind with right fields and with wrong ones, over gRPC, with the engine behind it
 * and a journal. Nothing is proved: the keys are empty files, and workers do not start. */
#include <fcntl.h>
#include <sqlite3.h>

#include "base/file.h"
#include "engine_common.h"
#include "field/fr.h"
#include "filecoin/registered.h"
#include "post_vectors.h"
#include "rpc/client.h"
#include "rpc/server.h"
#include "update_vectors.h"

enum { MAX_PROOFS = 2400, MAX_VECTORS = 48 };

/* ---- the daemon ---- */

static struct {
    zk_engine *engine;
    zk_rpc_server *server;
    zk_client *client;
    char journal[512], spool[600];
} fx;

static void make_key(void *ctx, zk_proof_kind kind, uint64_t sector_bytes) {
    char path[ZK_KEY_PATH_BYTES];
    cuzk_err err = {0};
    ZK_CHECK(zk_circuit_key_path(path, NULL, ctx, kind, sector_bytes, NULL) == CUZK_NOT_FOUND);
    ZK_CHECK_OK(zk_file_write(path, "", 0, &err), err);
}

static void start(const char *name) {
    cuzk_err err = {0};
    char keys[600], address[64], *listen[] = {"127.0.0.1:0"};
    zk_engine_options options = test_options(name);
    snprintf(fx.journal, sizeof fx.journal, "%s", options.journal_path);
    snprintf(fx.spool, sizeof fx.spool, "%s.spool", fx.journal);
    snprintf(keys, sizeof keys, "%s/%s-keys", test_dir, name);
    ZK_CHECK_OK(zk_folder_create(keys, &err), err);
    zk_circuit_each(make_key, keys);
    options.param_cache = keys;
    options.worker_program = "/bin/false";
    fx.engine = test_engine(&options);
    ZK_CHECK_OK(zk_rpc_server_create(&fx.server, fx.engine, &(zk_rpc_options){.listen = listen, .n_listen = 1}, &err),
                err);
    snprintf(address, sizeof address, "127.0.0.1:%d", zk_rpc_server_port(fx.server, 0));
    ZK_CHECK_OK(zk_client_create(&fx.client, address, NULL, &err), err);
}

static void stop(void) {
    zk_client_destroy(fx.client);
    zk_rpc_server_destroy(fx.server);
    zk_engine_destroy(fx.engine);
    fx.engine = NULL;
}

static unsigned n_rows(void) {
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    ZK_CHECK(sqlite3_open_v2(fx.journal, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    ZK_CHECK(sqlite3_prepare_v2(db, "SELECT count(*) FROM jobs", -1, &row, NULL) == SQLITE_OK);
    ZK_CHECK(sqlite3_step(row) == SQLITE_ROW);
    unsigned n = (unsigned)sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return n;
}

/* By SubmitProof or by Prove, which is only for what is refused: nobody proves. job_id: where the id goes. */
static cuzk_status submit(char job_id[ZK_JOB_ID_BYTES], const zk_request *r, bool prove, cuzk_err *err) {
    uint8_t *message = NULL, *response = NULL;
    size_t n = 0, n_response = 0;
    ZK_CHECK_OK(zk_client_encode_submit(&message, &n, r, prove, err), *err);
    zk_client_query query = {prove ? "Prove" : "SubmitProof", message, n, 20000 * ZK_TEST_PATIENCE};
    cuzk_status status = zk_client_call_sync(&response, &n_response, fx.client, &query, NULL, NULL, err);
    /* SubmitProofResponse: job_id is field 1, shorter than 128 bytes */
    if (status == CUZK_OK && job_id) {
        ZK_CHECK(n_response > 2 && response[0] == (1 << 3 | 2) && response[1] < ZK_JOB_ID_BYTES);
        snprintf(job_id, ZK_JOB_ID_BYTES, "%.*s", response[1], (const char *)response + 2);
    }
    free(message);
    free(response);
    return status;
}

static void cancel(const char *job_id) {
    bool was = false;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_engine_cancel(&was, fx.engine, job_id, &err), err);
    ZK_CHECK(was);
}

/* Taken, and gone again; a worker could read it. */
static void accepted(const char *name, const zk_request *r) {
    char id[ZK_JOB_ID_BYTES];
    zk_job *job = NULL;
    cuzk_err err = {0};
    ZK_CHECKF(submit(id, r, false, &err) == CUZK_OK, "%s: %s", name, err.message);
    cancel(id);
    ZK_CHECKF(zk_job_from_request(&job, r, &err) == CUZK_OK, "%s: %s", name, err.message);
    zk_job_destroy(job);
}

static void refused(const zk_request *r, const char *expected) {
    for (int prove = 0; prove < 2; prove++) {
        char text[200];
        cuzk_err err = {0};
        snprintf(text, sizeof text, "INVALID_ARGUMENT: %s", expected);
        ZK_CHECKF(submit(NULL, r, prove, &err) == CUZK_BAD_INPUT && strstr(err.message, text),
                  "kind %d: found \"%s\", expected \"%s\"", (int)r->kind, err.message, text);
        ZK_CHECKF(test_count_files(fx.spool) == 0, "%s", expected);
    }
}

/* ---- the vectors as requests, with the fields that a Curio node fills ---- */

static struct {
    char name[64];
    zk_request request;
} vectors[MAX_VECTORS];
static size_t n_vectors;

static zk_request *add(const char *name, zk_proof_kind kind, uint64_t sector_bytes, uint64_t registered_proof) {
    ZK_CHECK(n_vectors < MAX_VECTORS);
    snprintf(vectors[n_vectors].name, sizeof vectors[0].name, "%s", name);
    zk_request *r = &vectors[n_vectors++].request;
    *r = (zk_request){.request_id = "",
                      .kind = kind,
                      .sector_bytes = sector_bytes,
                      .registered_proof = registered_proof,
                      .miner_id = 1193};
    return r;
}

static zk_blob *proofs(zk_request *r, size_t n) {
    r->vanilla_proofs = calloc(n, sizeof *r->vanilla_proofs);
    r->n_vanilla_proofs = n;
    ZK_CHECK(r->vanilla_proofs);
    return r->vanilla_proofs;
}

static zk_blob node_blob(const uint8_t node[32]) {
    zk_blob blob;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_blob_copy(&blob, node, 32, &err), err);
    return blob;
}

/* At most as many sectors as a partition has. */
static void add_post(const char *name) {
    char file[96];
    post_request p;
    snprintf(file, sizeof file, "post/%s.json", name);
    zk_json_doc *doc = load_json(file);
    request_of(&p, zk_json_root(doc));
    bool winning = p.type->kind == ZK_POST_WINNING;
    zk_request *r = add(name, winning ? ZK_KIND_WINNING : ZK_KIND_WINDOW, p.type->sector_bytes, p.type->number);
    r->priority = winning ? ZK_PRIORITY_CRITICAL : ZK_PRIORITY_HIGH;
    size_t n = zk_min_size(p.n, p.type->n_sectors);
    memcpy(proofs(r, n), p.vanilla, n * sizeof p.vanilla[0]);
    for (size_t i = n; i < p.n; i++) free(p.vanilla[i].data);
    r->randomness = node_blob(p.randomness);
    zk_json_doc_destroy(doc);
}

/* The partitions of window-SIZE-short.json. */
static void add_short(const char *name) {
    char file[96];
    uint8_t randomness[32];
    snprintf(file, sizeof file, "post/%s.json", name);
    zk_json_doc *doc = load_json(file);
    hex_of_node(randomness, zk_json_root(doc), "randomness");
    const zk_json_value *cases = get(zk_json_root(doc), "cases");
    for (size_t i = 0; i < zk_json_count(cases); i++) {
        const zk_json_value *c = zk_json_element_of(cases, i), *vanilla = get(c, "vanilla");
        const zk_registered_post *type = type_named(get_text(c, "registered_proof"));
        if (!zk_json_member_of(zk_json_element_of(vanilla, 0), "file")) continue; /* the same as in another case */
        zk_request *r = add(name, ZK_KIND_WINDOW, type->sector_bytes, type->number);
        r->partition_index = (uint32_t)get_u64(c, "partition_index");
        r->randomness = node_blob(randomness);
        zk_blob *to = proofs(r, zk_json_count(vanilla));
        for (size_t k = 0; k < r->n_vanilla_proofs; k++)
            to[k] = read_post_file(get_text(zk_json_element_of(vanilla, k), "file"));
    }
    zk_json_doc_destroy(doc);
}

/* Of the large sizes there is one partition, which stands for the others here. */
static void add_update(const char *name, uint32_t only) {
    update_case c;
    uint64_t number = 0;
    for (uint32_t k = 0, n = 1; k < n; k++) {
        case_load(&c, name, only ? only : k);
        if (k == 0) {
            while (zk_registered_updates[number].sector_bytes != c.statement.shape.sector_bytes) number++;
            n = zk_registered_updates[number].n_partitions;
            zk_request *r = add(name, ZK_KIND_UPDATE, c.statement.shape.sector_bytes, number);
            proofs(r, n);
            r->priority = ZK_PRIORITY_NORMAL;
            r->sector_number = 117;
            r->comm_r_old = node_blob(c.statement.comm_r_old);
            r->comm_r_new = node_blob(c.statement.comm_r_new);
            r->comm_d_new = node_blob(c.statement.comm_d_new);
        }
        vectors[n_vectors - 1].request.vanilla_proofs[k] = (zk_blob){c.bytes, c.n};
        c.bytes = NULL;
        case_free(&c);
    }
}

static void add_porep(const char *file, const char *type) {
    char path[4096];
    const zk_registered_seal *seal = zk_registered_seal_by_name(type, strlen(type));
    zk_request *r = add(file, ZK_KIND_POREP, seal->sector_bytes, seal->number);
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/porep/%s", zk_test_vectors_dir(), file);
    ZK_CHECK_OK(zk_file_read(&r->vanilla_proof.data, &r->vanilla_proof.n, path, 1 << 22, &err), err);
    r->priority = ZK_PRIORITY_NORMAL;
    r->sector_number = 117;
}

static void free_vectors(void) {
    for (size_t i = 0; i < n_vectors; i++) {
        zk_request *r = &vectors[i].request;
        zk_blob *blobs[] = {&r->vanilla_proof, &r->randomness, &r->comm_r_old, &r->comm_r_new, &r->comm_d_new};
        for (size_t k = 0; k < sizeof blobs / sizeof blobs[0]; k++) free(blobs[k]->data);
        for (size_t k = 0; k < r->n_vanilla_proofs; k++) free(r->vanilla_proofs[k].data);
        free(r->vanilla_proofs);
    }
    n_vectors = 0;
}

static void load_vectors(void) {
    free_vectors();
    static const char *const posts[] = {"winning-2KiB",          "winning-8MiB",         "winning-512MiB",
                                        "winning-32GiB",         "winning-64GiB",        "window-2KiB-n1-v1_0",
                                        "window-2KiB-n1-v1_2",   "window-2KiB-n2-v1_0",  "window-2KiB-n2-v1_2",
                                        "window-2KiB-n5-v1_2",   "window-8MiB-n3-v1_0",  "window-8MiB-n3-v1_2",
                                        "window-512MiB-n3-v1_0", "window-512MiB-n3-v1_2"};
    for (size_t i = 0; i < sizeof posts / sizeof posts[0]; i++) add_post(posts[i]);
    add_short("window-32GiB-short");
    add_short("window-64GiB-short");
    add_update("auto-2048", 0);
    add_update("real-2048", 0);
    add_update("real-8388608", 0);
    add_update("auto-536870912", 7);
    add_update("auto-34359738368", 7);
    add_update("auto-68719476736", 15);
    add_porep("seal-StackedDrg2KiBV1.c1.json", "StackedDrg2KiBV1");
    add_porep("seal-StackedDrg2KiBV1_1.wrapped.json", "StackedDrg2KiBV1_1");
    add_porep("seal-StackedDrg2KiBV1_1_Feat_SyntheticPoRep.wrapped.json", "StackedDrg2KiBV1_1_Feat_SyntheticPoRep");
    add_porep("seal-StackedDrg2KiBV1_2_Feat_NonInteractivePoRep.wrapped.json.zst",
              "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep");
    add_porep("seal-StackedDrg8MiBV1_1.wrapped.json", "StackedDrg8MiBV1_1");
    add_porep("sparse-StackedDrg512MiBV1_1.c1.json.zst", "StackedDrg512MiBV1_1");
    add_porep("sparse-StackedDrg32GiBV1_1.c1.json.zst", "StackedDrg32GiBV1_1");
}

static const zk_request *vector_named(const char *name) {
    for (size_t i = 0; i < n_vectors; i++)
        if (strcmp(vectors[i].name, name) == 0) return &vectors[i].request;
    ZK_FAIL_CASE("no such vector");
    return NULL;
}

/* ---- what is right ---- */

static zk_blob filled(uint8_t buffer[64], int byte, size_t n) {
    memset(buffer, byte, 64);
    return (zk_blob){buffer, n};
}

static void test_right(void) {
    start("right");
    load_vectors();
    unsigned n = 0, of_kind[ZK_N_KINDS] = {0};
    uint8_t rubbish[64];
    for (size_t i = 0; i < n_vectors; i++) {
        const char *name = vectors[i].name;
        zk_request r = vectors[i].request;
        accepted(name, &r);
        of_kind[r.kind]++;
        /* Left out by some callers: what the registered proof says anyhow, and by all the class. */
        r.sector_bytes = 0;
        r.priority = ZK_PRIORITY_UNSPECIFIED;
        accepted(name, &r);
        /* What a kind does not use may hold anything. */
        r.sector_bytes = vectors[i].request.sector_bytes;
        r.miner_id = INT64_MAX;
        if (r.kind != ZK_KIND_UPDATE) {
            r.comm_r_old = filled(rubbish, 0xff, 5);
            r.comm_d_new = filled(rubbish, 0xff, 64);
        }
        if (r.kind == ZK_KIND_UPDATE || r.kind == ZK_KIND_POREP) r.randomness = filled(rubbish, 0xff, 33);
        if (r.kind == ZK_KIND_WINDOW || r.kind == ZK_KIND_POREP) r.partition_index = UINT32_MAX;
        accepted(name, &r);
        n += 3;
    }
    for (int kind = 1; kind < ZK_N_KINDS; kind++) ZK_CHECKF(of_kind[kind] >= 5, "kind %d: %u", kind, of_kind[kind]);
    zk_engine_status *st = test_status(fx.engine);
    ZK_CHECK(st->n_submitted == n && st->n_joined == 0 && st->n_rejected == 0 && st->n_failed == 0);
    zk_engine_status_destroy(st);
    stop();
    ZK_CHECK(n_rows() == n);
}

/* ---- what is wrong ---- */

typedef enum change {
    NUMBER, /* the field is `value` */
    LENGTH, /* the field has so many of its bytes (of zeros beyond the 32nd) */
    FILL,   /* each of its bytes is `value` */
    ORDER,  /* the field is r */
    COUNT,  /* so many vanilla proofs, copies of the first */
    CUT,    /* the entry `entry` of vanilla_proofs has `value` bytes less */
} change;

typedef struct wrong {
    const char *vector, *field;
    change what;
    uint64_t value;
    const char *message;
    unsigned entry;
} wrong;

static uint64_t *number_of(zk_request *r, const char *field) {
    return strcmp(field, "sector_size") == 0        ? &r->sector_bytes
           : strcmp(field, "registered_proof") == 0 ? &r->registered_proof
           : strcmp(field, "miner_id") == 0         ? &r->miner_id
                                                    : NULL;
}

static zk_blob *blob_of(zk_request *r, const char *field) {
    return strcmp(field, "randomness") == 0   ? &r->randomness
           : strcmp(field, "comm_r_old") == 0 ? &r->comm_r_old
           : strcmp(field, "comm_r_new") == 0 ? &r->comm_r_new
           : strcmp(field, "comm_d_new") == 0 ? &r->comm_d_new
                                              : &r->vanilla_proof;
}

static void apply(zk_request *r, const wrong *w) {
    static uint8_t buffer[64];
    static zk_blob list[MAX_PROOFS];
    zk_blob *blob = blob_of(r, w->field);
    switch (w->what) {
    case NUMBER:
        if (strcmp(w->field, "proof_kind") == 0)
            r->kind = (zk_proof_kind)w->value;
        else if (strcmp(w->field, "partition_index") == 0)
            r->partition_index = (uint32_t)w->value;
        else
            *number_of(r, w->field) = w->value;
        return;
    case LENGTH:
        memset(buffer, 0, sizeof buffer);
        if (blob->n) memcpy(buffer, blob->data, zk_min_size(blob->n, 32));
        *blob = (zk_blob){buffer, (size_t)w->value};
        return;
    case FILL:
        *blob = filled(buffer, (int)w->value, 32);
        return;
    case ORDER:
        for (unsigned i = 0; i < 32; i++) buffer[i] = (uint8_t)(zk_fr_modulus[i / 8] >> i % 8 * 8);
        buffer[0] -= (uint8_t)w->value;
        *blob = (zk_blob){buffer, 32};
        return;
    case COUNT:
    case CUT:
        for (size_t i = 0; i < MAX_PROOFS; i++)
            list[i] = r->vanilla_proofs ? r->vanilla_proofs[0] : (zk_blob){buffer, 1};
        if (w->what == COUNT)
            r->n_vanilla_proofs = (size_t)w->value;
        else
            list[w->entry].n -= (size_t)w->value;
        r->vanilla_proofs = list;
        return;
    }
}

#define POREP "seal-StackedDrg2KiBV1_1.wrapped.json"
#define UPDATE "real-2048"
#define UPDATE_4 "real-8388608"
#define WINNING "winning-2KiB"
#define WINDOW "window-2KiB-n2-v1_2"
#define WINDOW_32 "window-32GiB-short"
#define BEYOND_63 UINT64_C(0x8000000000000000)
#define NO_MINER "miner_id: found 9223372036854775808, expected a number below 2^63"
#define FFS "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define R_LE "01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73"
#define ELEMENT ", expected a field element (below r, little-endian)"

static const wrong wrongs[] = {
    {POREP, "proof_kind", NUMBER, 0, "proof_kind: found 0, expected 1 to 4", 0},
    {POREP, "proof_kind", NUMBER, 5, "proof_kind: found 5, expected 1 to 4", 0},
    {POREP, "proof_kind", NUMBER, 2, "registered_proof: found 5, expected 0 to 4 for a sector update", 0},
    {POREP, "registered_proof", NUMBER, 20, "registered_proof: found 20, expected 0 to 19 for PoRep", 0},
    {POREP, "registered_proof", NUMBER, UINT64_MAX, "registered_proof: found 18446744073709551615, expected 0 to", 0},
    {POREP, "registered_proof", NUMBER, 8, "sector_size: found 2048, but StackedDrg32GiBV1_1 (8) has 34359738368", 0},
    {POREP, "sector_size", NUMBER, 4096, "sector_size: found 4096, but StackedDrg2KiBV1_1 (5) has 2048", 0},
    {POREP, "sector_size", NUMBER, UINT64_MAX, "sector_size: found 18446744073709551615, but StackedDrg2KiBV1_1", 0},
    {POREP, "miner_id", NUMBER, BEYOND_63, NO_MINER, 0},
    {POREP, "miner_id", NUMBER, UINT64_MAX, "miner_id: found 18446744073709551615, expected", 0},
    {POREP, "vanilla_proof", LENGTH, 0, "vanilla_proof: found no bytes, expected the output of commit phase 1", 0},
    {POREP, "vanilla_proofs", COUNT, 1, "vanilla_proofs: found 1 entries, a PoRep request has vanilla_proof alone", 0},

    {UPDATE, "proof_kind", NUMBER, 1, "vanilla_proofs: found 1 entries, a PoRep request has vanilla_proof alone", 0},
    {UPDATE, "proof_kind", NUMBER, 4, "randomness: found 0 bytes, expected 32", 0},
    {UPDATE, "registered_proof", NUMBER, 5, "registered_proof: found 5, expected 0 to 4 for a sector update", 0},
    {UPDATE, "registered_proof", NUMBER, 1, "sector_size: found 2048, but StackedDrg8MiBV1 (1) has 8388608", 0},
    {UPDATE, "sector_size", NUMBER, 2049, "sector_size: found 2049, but StackedDrg2KiBV1 (0) has 2048", 0},
    {UPDATE, "miner_id", NUMBER, BEYOND_63, NO_MINER, 0},
    {UPDATE, "vanilla_proof", LENGTH, 1, "vanilla_proof: found 1 bytes, a sector update has vanilla_proofs", 0},
    {UPDATE, "vanilla_proofs", COUNT, 0, "vanilla_proofs: found 0 entries, expected 1, one for each partition", 0},
    {UPDATE, "vanilla_proofs", COUNT, 2, "vanilla_proofs: found 2 entries, expected 1, one for each partition", 0},
    {UPDATE_4, "vanilla_proofs", COUNT, 3, "vanilla_proofs: found 3 entries, expected 4, one for each partition", 0},
    {UPDATE, "vanilla_proofs", CUT, 15064, "vanilla_proofs[0]: found 0 bytes, expected 15064", 0},
    {UPDATE, "vanilla_proofs", CUT, 1, "vanilla_proofs[0]: found 15063 bytes, expected 15064", 0},
    {UPDATE_4, "vanilla_proofs", CUT, 43864, "vanilla_proofs[3]: found 0 bytes, expected 43864", 3},
    {UPDATE_4, "vanilla_proofs", CUT, 32, "vanilla_proofs[1]: found 43832 bytes, expected 43864", 1},
    {UPDATE, "partition_index", NUMBER, 1, "partition_index: found 1, a sector update proves all partitions", 0},
    {UPDATE_4, "partition_index", NUMBER, UINT32_MAX, "partition_index: found 4294967295, a sector update", 0},
    {UPDATE, "comm_r_old", LENGTH, 0, "comm_r_old: found 0 bytes, expected 32", 0},
    {UPDATE, "comm_r_old", LENGTH, 31, "comm_r_old: found 31 bytes, expected 32", 0},
    {UPDATE, "comm_r_new", LENGTH, 33, "comm_r_new: found 33 bytes, expected 32", 0},
    {UPDATE, "comm_d_new", LENGTH, 39, "comm_d_new: found 39 bytes, expected 32", 0},
    {UPDATE, "comm_r_old", FILL, 0xff, "comm_r_old: found " FFS ELEMENT, 0},
    {UPDATE, "comm_r_new", ORDER, 0, "comm_r_new: found " R_LE ELEMENT, 0},
    {UPDATE, "comm_d_new", FILL, 0xff, "comm_d_new: found " FFS ELEMENT, 0},
    {UPDATE, "comm_r_old", FILL, 0, "comm_r_old: found zero, expected another value (check comm_r_old_not_zero)", 0},
    {UPDATE, "comm_r_new", FILL, 0, "comm_r_new: found zero, expected another value (check comm_r_new_not_zero)", 0},
    {UPDATE, "comm_d_new", FILL, 0, "comm_d_new: found zero, expected another value (check comm_d_new_not_zero)", 0},

    {WINNING, "proof_kind", NUMBER, 3, "registered_proof: found 0 (StackedDrgWinning2KiBV1), expected one of Window",
     0},
    {WINNING, "registered_proof", NUMBER, 5, "registered_proof: found 5 (StackedDrgWindow2KiBV1), expected one of Win",
     0},
    {WINNING, "registered_proof", NUMBER, 15, "registered_proof: found 15, expected one of WinningPoSt, 0 to 4", 0},
    {WINNING, "registered_proof", NUMBER, 3, "sector_size: found 2048, but StackedDrgWinning32GiBV1 (3) has", 0},
    {WINNING, "sector_size", NUMBER, 1, "sector_size: found 1, but StackedDrgWinning2KiBV1 (0) has 2048", 0},
    {WINNING, "miner_id", NUMBER, BEYOND_63, NO_MINER, 0},
    {WINNING, "randomness", LENGTH, 0, "randomness: found 0 bytes, expected 32", 0},
    {WINNING, "randomness", LENGTH, 31, "randomness: found 31 bytes, expected 32", 0},
    {WINNING, "randomness", LENGTH, 64, "randomness: found 64 bytes, expected 32", 0},
    {WINNING, "randomness", FILL, 0xff, "randomness: found " FFS ELEMENT "; callers clear the top two bits", 0},
    {WINNING, "randomness", ORDER, 0, "randomness: found " R_LE ELEMENT, 0},
    {WINNING, "vanilla_proof", LENGTH, 1, "vanilla_proof: found 1 bytes, a PoSt request has vanilla_proofs", 0},
    {WINNING, "vanilla_proofs", COUNT, 0, "vanilla_proofs: found 0 entries, WinningPoSt has one", 0},
    {WINNING, "vanilla_proofs", COUNT, 2, "vanilla_proofs: found 2 entries, WinningPoSt has one", 0},
    {WINNING, "vanilla_proofs", CUT, 1, "vanilla_proofs[0]: found ", 0},
    {WINNING, "partition_index", NUMBER, 1, "partition_index: found 1, WinningPoSt has one partition", 0},

    {WINDOW, "proof_kind", NUMBER, 4, "registered_proof: found 10 (StackedDrgWindow2KiBV1_2), expected one of Winning",
     0},
    {WINDOW, "registered_proof", NUMBER, 0, "registered_proof: found 0 (StackedDrgWinning2KiBV1), expected one of", 0},
    {WINDOW, "registered_proof", NUMBER, 15, "registered_proof: found 15, expected one of WindowPoSt, 5 to 14", 0},
    {WINDOW, "registered_proof", NUMBER, 13, "sector_size: found 2048, but StackedDrgWindow32GiBV1_2 (13) has", 0},
    {WINDOW, "sector_size", NUMBER, 8388608, "sector_size: found 8388608, but StackedDrgWindow2KiBV1_2 (10) has", 0},
    {WINDOW, "miner_id", NUMBER, BEYOND_63, NO_MINER, 0},
    {WINDOW, "randomness", LENGTH, 0, "randomness: found 0 bytes, expected 32", 0},
    {WINDOW, "randomness", LENGTH, 33, "randomness: found 33 bytes, expected 32", 0},
    {WINDOW, "randomness", FILL, 0xff, "randomness: found " FFS ELEMENT "; callers clear the top two bits", 0},
    {WINDOW, "vanilla_proof", LENGTH, 2, "vanilla_proof: found 2 bytes, a PoSt request has vanilla_proofs", 0},
    {WINDOW, "vanilla_proofs", COUNT, 0, "vanilla_proofs: found no entry, expected one for each sector", 0},
    {WINDOW, "vanilla_proofs", COUNT, 3, "vanilla_proofs: found 3, one for each sector; a partition of Stacked", 0},
    {WINDOW_32, "vanilla_proofs", COUNT, 2350, "vanilla_proofs: found 2350, one for each sector; a partition of", 0},
    {WINDOW, "vanilla_proofs", CUT, 5680, "vanilla_proofs[1]: found 0 bytes, expected 5680", 1},
    {WINDOW, "vanilla_proofs", CUT, 1, "vanilla_proofs[0]: found 5679 bytes, expected 5680", 0},
    {WINDOW, "vanilla_proofs", CUT, 5679, "vanilla_proofs[1]: found 1 bytes, expected 5680", 1},
};
enum { N_WRONGS = sizeof wrongs / sizeof wrongs[0] };

static void test_wrong(void) {
    start("wrong");
    load_vectors();
    for (size_t i = 0; i < N_WRONGS; i++) {
        zk_request r = *vector_named(wrongs[i].vector);
        apply(&r, &wrongs[i]);
        /* An id does not help, whatever was under it. */
        r.request_id = i % 2 ? "the same" : "";
        refused(&r, wrongs[i].message);
    }
    zk_engine_status *st = test_status(fx.engine);
    ZK_CHECKF(st->n_rejected == 2 * N_WRONGS && st->n_submitted == 0 && st->n_failed == 0 && st->n_jobs == 0,
              "%llu rejected", (unsigned long long)st->n_rejected);
    for (size_t i = 0; i < st->n_queues; i++) ZK_CHECK(st->queues[i].n_failed == 0 && st->queues[i].pending == 0);
    zk_engine_status_destroy(st);
    /* The last number below r is one. */
    zk_request r = *vector_named(WINNING);
    apply(&r, &(wrong){WINNING, "randomness", ORDER, 1, NULL, 0});
    accepted("r - 1", &r);
    stop();
    ZK_CHECK(n_rows() == 1);
}

/* A wrong request under the id of a job leaves that as it is; a size that is not said is the same as the right one. */
static void test_same_id(void) {
    start("id");
    load_vectors();
    for (size_t i = 0; i < n_vectors; i++) {
        char id[ZK_JOB_ID_BYTES], again[ZK_JOB_ID_BYTES], name[96];
        cuzk_err err = {0};
        zk_request r = vectors[i].request;
        snprintf(name, sizeof name, "%.63s-%zu", vectors[i].name, i);
        r.request_id = name;
        ZK_CHECK_OK(submit(id, &r, false, &err), err);
        r.sector_bytes = 0;
        ZK_CHECK_OK(submit(again, &r, false, &err), err);
        ZK_CHECKF(strcmp(id, again) == 0, "%s", name);
        r.miner_id = UINT64_MAX;
        ZK_CHECK(submit(again, &r, false, &err) == CUZK_BAD_INPUT);
        r.miner_id = vectors[i].request.miner_id;
        zk_err_reset(&err);
        ZK_CHECK_OK(submit(again, &r, false, &err), err);
        ZK_CHECKF(strcmp(id, again) == 0, "%s", name);
    }
    zk_engine_status *st = test_status(fx.engine);
    ZK_CHECK(st->n_submitted == n_vectors && st->n_joined == 2 * n_vectors && st->n_rejected == n_vectors);
    ZK_CHECK(test_count_files(fx.spool) == n_vectors && st->n_jobs == n_vectors);
    zk_engine_status_destroy(st);
    stop();
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {ZK_CASE(test_right), ZK_CASE(test_wrong), ZK_CASE(test_same_id)};
    zk_log_set_level(ZK_LOG_OFF);
    test_dir_make();
    int code = zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
    free_vectors();
    test_dir_remove();
    return code;
}
