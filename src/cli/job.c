#include "cli/job.h"

/* The two kinds of files are easily taken for each other: one that could not be read as the one, but can as the other,
 * is called so. */
static cuzk_status name_mistaken(cuzk_status status, const cli_input *input, cuzk_err *err) {
    if (status != CUZK_BAD_INPUT) return status;
    zk_request *request = NULL;
    zk_job *job = NULL;
    if (input->c1_path && zk_request_read_file(&request, input->c1_path, NULL) == CUZK_OK) {
        zk_err_reset(err);
        status = ZK_FAIL(err, status, "%s: found a request (--request), expected a C1", input->c1_path);
    } else if (input->request_path && zk_job_from_c1_file(&job, input->request_path, NULL) == CUZK_OK) {
        zk_err_reset(err);
        status = ZK_FAIL(err, status, "%s: found a C1 (--c1), expected a request", input->request_path);
    }
    zk_request_destroy(request);
    zk_job_destroy(job);
    return status;
}

cuzk_status cli_input_read(zk_job **job, const cli_input *input, const cli_arguments *arguments, cuzk_err *err) {
    if (!input->c1_path == !input->request_path)
        return ZK_FAIL(err, CUZK_USAGE, "expected one of --c1 FILE and --request FILE (see --help)");
    if (input->c1_path) {
        cuzk_status status = zk_job_from_c1_file(job, input->c1_path, err);
        if (status != CUZK_OK) return name_mistaken(status, input, err);
    } else {
        zk_request *request = NULL;
        cuzk_status status = zk_request_read_file(&request, input->request_path, err);
        if (status != CUZK_OK) return name_mistaken(status, input, err);
        status = zk_job_from_request(job, request, err);
        zk_request_destroy(request);
        if (status != CUZK_OK) zk_err_prefix(err, "%s", input->request_path);
        ZK_TRY(status);
    }
    bool miner = cli_given(arguments, "miner"), sector = cli_given(arguments, "sector");
    bool had_miner = (*job)->has_miner, had_sector = (*job)->has_sector;
    cuzk_status status = zk_job_expect(*job, miner ? &input->miner : NULL, sector ? &input->sector : NULL, err);
    /* A C1 may name neither number: then only the replica id tells, which both of them make. */
    if (status == CUZK_OK && (*job)->kind == ZK_KIND_POREP && (*job)->has_miner != (*job)->has_sector &&
        ((miner && !had_miner) || (sector && !had_sector)))
        status = ZK_FAIL(err, CUZK_USAGE, "--%s alone cannot be checked: %s names no %s number; give both",
                         miner ? "miner" : "sector", input->c1_path, miner ? "sector" : "miner");
    if (status != CUZK_OK) {
        zk_job_destroy(*job);
        *job = NULL;
    }
    return status;
}
