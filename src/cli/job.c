#include "cli/job.h"

cuzk_status cli_input_read(zk_job **job, const cli_input *input, const cli_option *options, size_t n_options,
                           cuzk_err *err) {
    if (!input->c1_path == !input->request_path)
        return ZK_FAIL(err, CUZK_USAGE, "expected one of --c1 FILE and --request FILE (see --help)");
    if (input->c1_path) {
        ZK_TRY(zk_job_from_c1_file(job, input->c1_path, err));
    } else {
        zk_request *request = NULL;
        ZK_TRY(zk_request_read_file(&request, input->request_path, err));
        cuzk_status status = zk_job_from_request(job, request, err);
        zk_request_destroy(request);
        if (status != CUZK_OK) zk_err_prefix(err, "%s", input->request_path);
        ZK_TRY(status);
    }
    cuzk_status status = zk_job_expect(*job, cli_given(options, n_options, "miner") ? &input->miner : NULL,
                                       cli_given(options, n_options, "sector") ? &input->sector : NULL, err);
    if (status != CUZK_OK) {
        zk_job_destroy(*job);
        *job = NULL;
    }
    return status;
}
