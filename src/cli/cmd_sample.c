/* cuzk sample */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/circuits.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/proving.h"
#include "cli/session.h"
#include "filecoin/c1_write.h"
#include "filecoin/sample.h"

typedef struct sample_args {
    const char *kind_name, *text, *out_path, *registered_name;
    uint64_t sector_bytes, miner, sector, n_sectors;
    bool as_c1, json;
    cli_work work;
} sample_args;

/* The registered type of that name, or the newest interactive one of the size. */
static cuzk_status find_seal(const zk_registered_seal **seal, const sample_args *args, cuzk_err *err) {
    *seal = NULL;
    if (args->registered_name) {
        *seal = zk_registered_seal_by_name(args->registered_name, strlen(args->registered_name));
        if (!*seal)
            return ZK_FAIL(err, CUZK_USAGE,
                           "--registered-proof: found \"%s\", expected a name such as StackedDrg32GiBV1_1",
                           args->registered_name);
        if ((*seal)->sector_bytes != args->sector_bytes)
            return ZK_FAIL(err, CUZK_USAGE, "--registered-proof: %s is of another sector size", (*seal)->name);
        return CUZK_OK;
    }
    *seal = zk_sample_seal_type(args->sector_bytes);
    char size[32];
    if (!*seal)
        return ZK_FAIL(err, CUZK_UNSUPPORTED,
                       "--sector-size: found %s, expected a registered size (" CLI_SECTOR_SIZES ")",
                       cli_format_size(size, args->sector_bytes));
    return CUZK_OK;
}

static cuzk_status report(const sample_args *args, const char *type_name, uint64_t number, uint32_t n_partitions,
                          size_t n_vanilla_proofs, cuzk_err *err) {
    if (args->json) {
        zk_json_writer *json = cli_json_begin();
        zk_json_put_string(json, "file", args->out_path);
        zk_json_put_string(json, "kind", args->kind_name);
        zk_json_put_string(json, "registered_proof", type_name);
        zk_json_put_u64(json, "registered_proof_number", number);
        zk_json_put_u64(json, "sector_size", args->sector_bytes);
        zk_json_put_u64(json, "partitions", n_partitions);
        zk_json_put_u64(json, "vanilla_proofs", n_vanilla_proofs);
        zk_json_put_u64(json, "miner_id", args->miner);
        zk_json_put_u64(json, "sector_number", args->sector);
        return cli_json_end(json, err);
    }
    printf("%s: %s%s of miner %" PRIu64 ", sector %" PRIu64 ", %" PRIu32 " partition%s\n", args->out_path, type_name,
           args->as_c1 ? " C1 output" : " request", args->miner, args->sector, n_partitions,
           n_partitions == 1 ? "" : "s");
    return CUZK_OK;
}

static cuzk_status sample_porep(const sample_args *args, zk_pool *pool, cuzk_err *err) {
    const zk_registered_seal *seal = NULL;
    zk_c1 *c1 = NULL;
    char *text = NULL, id[64];
    size_t n = 0;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(find_seal(&seal, args, err));
    ZK_GOTO(zk_sample_porep(&c1, seal, args->text ? args->text : "cuzk a", args->miner, args->sector, pool, err));
    if (args->as_c1) {
        ZK_GOTO(zk_c1_write_json(&text, &n, c1, err));
        ZK_GOTO(zk_file_write(args->out_path, text, n, err));
    } else {
        ZK_GOTO(zk_c1_write_envelope(&text, &n, c1, err));
        snprintf(id, sizeof id, "porep-%" PRIu64 "-%" PRIu64, args->miner, args->sector);
        zk_request request = {
            .request_id = id,
            .kind = ZK_KIND_POREP,
            .sector_bytes = seal->sector_bytes,
            .registered_proof = seal->number,
            .sector_number = args->sector,
            .miner_id = args->miner,
            .vanilla_proof = {(uint8_t *)text, n},
        };
        ZK_GOTO(zk_request_write_file(&request, args->out_path, err));
    }
    cli_progress_end();
    status = report(args, seal->name, seal->number, seal->n_partitions, 1, err);
out:
    cli_progress_end();
    free(text);
    zk_c1_destroy(c1);
    return status;
}

/* Writes and destroys the request; a failure to make it is passed on. */
static cuzk_status write_request(cuzk_status status, zk_request *request, const sample_args *args,
                                 const char *type_name, uint32_t n_partitions, cuzk_err *err) {
    cli_progress_end();
    if (status != CUZK_OK) return status;
    status = zk_request_write_file(request, args->out_path, err);
    if (status == CUZK_OK)
        status = report(args, type_name, request->registered_proof, n_partitions, request->n_vanilla_proofs, err);
    zk_request_destroy(request);
    return status;
}

static cuzk_status no_such_type(const sample_args *args, cuzk_err *err) {
    char size[32];
    return ZK_FAIL(err, CUZK_UNSUPPORTED, "no registered %s type has sector size %s%s%s", args->kind_name,
                   cli_format_size(size, args->sector_bytes), args->registered_name ? " and the name " : "",
                   args->registered_name ? args->registered_name : "");
}

static cuzk_status sample_post(const sample_args *args, zk_post_kind kind, zk_pool *pool, cuzk_err *err) {
    const zk_registered_post *type = NULL;
    for (unsigned i = 0; i < ZK_N_REGISTERED_POSTS; i++) { /* the last one that fits is the newest */
        const zk_registered_post *t = &zk_registered_posts[i];
        if (t->kind == kind && t->sector_bytes == args->sector_bytes &&
            (!args->registered_name || strcmp(t->name, args->registered_name) == 0))
            type = t;
    }
    if (!type) return no_such_type(args, err);
    zk_sample_post_options options = {
        .text = args->text ? args->text : "cuzk post a",
        .miner = args->miner,
        .first_sector = args->sector,
        .n_sectors = args->n_sectors ? args->n_sectors : type->n_sectors,
    };
    zk_request *request = NULL;
    cuzk_status status = zk_sample_post(&request, type, &options, pool, err);
    uint32_t n_partitions = (uint32_t)((options.n_sectors + type->n_sectors - 1) / type->n_sectors);
    return write_request(status, request, args, type->name, n_partitions, err);
}

static cuzk_status sample_update(const sample_args *args, zk_pool *pool, cuzk_err *err) {
    const zk_registered_update *type = NULL;
    for (unsigned i = 0; i < ZK_N_REGISTERED_UPDATES; i++)
        if (zk_registered_updates[i].sector_bytes == args->sector_bytes &&
            (!args->registered_name || strcmp(zk_registered_updates[i].name, args->registered_name) == 0))
            type = &zk_registered_updates[i];
    if (!type) return no_such_type(args, err);
    zk_request *request = NULL;
    cuzk_status status = zk_sample_update(&request, type, args->text ? args->text : "cuzk update a", args->miner,
                                          args->sector, pool, err);
    return write_request(status, request, args, type->name, type->n_partitions, err);
}

static cuzk_status sample(const sample_args *args, zk_proof_kind kind, zk_pool *pool, cuzk_err *err) {
    if (args->as_c1 && kind != ZK_KIND_POREP) return ZK_FAIL(err, CUZK_USAGE, "--c1 goes with porep alone");
    if (args->n_sectors && kind != ZK_KIND_WINDOW) return ZK_FAIL(err, CUZK_USAGE, "--sectors goes with window alone");
    cli_progress(NULL, "making the sample", 0, 0);
    switch (kind) {
    case ZK_KIND_POREP:
        return sample_porep(args, pool, err);
    case ZK_KIND_WINNING:
        return sample_post(args, ZK_POST_WINNING, pool, err);
    case ZK_KIND_WINDOW:
        return sample_post(args, ZK_POST_WINDOW, pool, err);
    case ZK_KIND_UPDATE:
        return sample_update(args, pool, err);
    default:
        return ZK_FAIL(err, CUZK_INTERNAL, "unknown kind");
    }
}

static int run(const cli_command *self, int argc, char **argv) {
    sample_args args = {.miner = 1193, .sector = 117};
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_proof_kind kind;
    cli_option options[] = {
        {"sector-size", "S", CLI_SIZE, &args.sector_bytes, "sector size: " CLI_SECTOR_SIZES, true},
        {"o", "FILE", CLI_STRING, &args.out_path, "where the request goes", true},
        {"seed", "TEXT", CLI_STRING, &args.text, "text that all values follow from"},
        {"sectors", "N", CLI_COUNT, &args.n_sectors, "window: number of sectors (default: a full partition)"},
        {"miner", "N", CLI_U64, &args.miner, "miner number (default 1193)"},
        {"sector", "N", CLI_U64, &args.sector, "number of the (first) sector (default 117)"},
        {"registered-proof", "NAME", CLI_STRING, &args.registered_name,
         "type of proof (default: the newest; PoRep: the interactive type of version 1.1)"},
        {"c1", NULL, CLI_FLAG, &args.as_c1, "PoRep: write the output of commit phase 1 instead of a request"},
        {"json", NULL, CLI_FLAG, &args.json, "one JSON object on standard output"},
        CLI_WORK_OPTIONS(args.work),
    };
    cli_positional positionals[] = {{"KIND", &args.kind_name, CLI_KINDS, false}};
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(cli_kind(&kind, args.kind_name, &err));
    ZK_GOTO(zk_file_check_writable(args.out_path, &err));
    ZK_GOTO(cli_work_start(&args.work, &pool, &err));
    ZK_GOTO(sample(&args, kind, pool, &err));
out:
    zk_pool_destroy(pool);
    return cli_report(self, status, &err);
}

const cli_command cli_sample = {"sample", "makes a valid request of the real shape, without a sector", run,
                                "Sectors of up to 8 MiB are really sealed. Larger ones are sparse: only what the "
                                "challenges open exists, so that a\n"
                                "32 GiB request takes seconds."};
