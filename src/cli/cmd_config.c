/* cuzk config check, cuzk config sample */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "config/config.h"

typedef struct warnings {
    char *texts[256];
    size_t n;
} warnings;

static void keep_warning(void *ctx, const char *text) {
    warnings *w = ctx;
    if (w->n < 256 && asprintf(&w->texts[w->n], "%s", text) >= 0) w->n++;
}

static void print_values(const zk_config *config) {
    char value[1024];
    for (size_t i = 0; i < zk_config_n_keys; i++)
        if (!(zk_config_keys[i].flags & ZK_CONFIG_DEPRECATED))
            printf("%-34s = %-34s # %s\n", zk_config_keys[i].name, zk_config_format(value, sizeof value, config, i),
                   config->sources[i]);
}

static int run_check(const cli_command *self, int argc, char **argv) {
    const char *path = NULL;
    bool json_wanted = false, environment = false, help = false;
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    zk_config *config = NULL;
    warnings w = {0};
    cli_option options[] = {
        {"json", NULL, CLI_FLAG, &json_wanted, "one JSON object on standard output"},
        {"environment", NULL, CLI_FLAG, &environment, "take the variables CUZK_... into account too"},
    };
    cli_positional positionals[] = {{"FILE", &path, "the settings, TOML", false}};
    ZK_GOTO(cli_parse(self, argc, argv, options, 2, positionals, 1, &help, &err));
    if (help) goto out;
    ZK_GOTO(zk_config_create(&config, &err));
    ZK_GOTO(zk_config_read_file(config, path, keep_warning, &w, &err));
    if (environment) ZK_GOTO(zk_config_read_environment(config, environ, keep_warning, &w, &err));
    ZK_GOTO(zk_config_check(config, keep_warning, &w, &err));
    if (json_wanted) {
        zk_json_writer *json = cli_json_begin();
        char value[1024];
        zk_json_begin_object(json, "values");
        for (size_t i = 0; i < zk_config_n_keys; i++)
            if (!(zk_config_keys[i].flags & ZK_CONFIG_DEPRECATED))
                zk_json_put_string(json, zk_config_keys[i].name, zk_config_format(value, sizeof value, config, i));
        zk_json_end(json);
        zk_json_begin_array(json, "warnings");
        for (size_t i = 0; i < w.n; i++) zk_json_put_string(json, NULL, w.texts[i]);
        zk_json_end(json);
        ZK_GOTO(cli_json_end(json, &err));
    } else {
        print_values(config);
        for (size_t i = 0; i < w.n; i++) fprintf(stderr, "warning: %s\n", w.texts[i]);
    }
out:
    zk_config_destroy(config);
    for (size_t i = 0; i < w.n; i++) free(w.texts[i]);
    return cli_report(self, status, &err);
}

static int run_sample(const cli_command *self, int argc, char **argv) {
    bool help = false;
    cuzk_err err = {0};
    cuzk_status status = cli_parse(self, argc, argv, NULL, 0, NULL, 0, &help, &err);
    if (status == CUZK_OK && !help) zk_config_print_sample(stdout, NULL);
    if (status == CUZK_OK && fflush(stdout) != 0) status = ZK_FAIL(&err, CUZK_IO, "standard output cannot be written");
    return cli_report(self, status, &err);
}

const cli_command cli_config_check = {"config check", "checks a settings file and shows what it means", run_check,
                                      "Unknown and deprecated keys are accepted with a warning that names them."};
const cli_command cli_config_sample = {"config sample", "prints a settings file with all keys and their defaults",
                                       run_sample, NULL};
