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

/* Calls put for each key that has an effect. */
static cuzk_status each_value(const zk_config *config,
                              void (*put)(void *ctx, const char *name, const char *value, const char *source),
                              void *ctx, cuzk_err *err) {
    for (size_t i = 0; i < zk_config_n_keys; i++) {
        if (zk_config_keys[i].flags & ZK_CONFIG_DEPRECATED) continue;
        char *value = zk_config_format(config, i);
        if (!value) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: no memory for its value", zk_config_keys[i].name);
        put(ctx, zk_config_keys[i].name, value, config->sources[i]);
        free(value);
    }
    return CUZK_OK;
}

static void print_value(void *unused, const char *name, const char *value, const char *source) {
    (void)unused;
    printf("%-34s = %-34s # %s\n", name, value, source);
}

static void put_value(void *json, const char *name, const char *value, const char *source) {
    (void)source;
    zk_json_put_string(json, name, value);
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
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(zk_config_create(&config, &err));
    ZK_GOTO(zk_config_read_file(config, path, keep_warning, &w, &err));
    if (environment) ZK_GOTO(zk_config_read_environment(config, environ, keep_warning, &w, &err));
    ZK_GOTO(zk_config_check(config, keep_warning, &w, &err));
    if (json_wanted) {
        zk_json_writer *json = cli_json_begin();
        zk_json_begin_object(json, "values");
        status = each_value(config, put_value, json, &err);
        zk_json_end(json);
        zk_json_begin_array(json, "warnings");
        for (size_t i = 0; i < w.n; i++) zk_json_put_string(json, NULL, w.texts[i]);
        zk_json_end(json);
        cuzk_status written = cli_json_end(json, &err);
        if (status == CUZK_OK) status = written;
    } else {
        ZK_GOTO(each_value(config, print_value, NULL, &err));
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
    cuzk_status status = cli_parse(&help, &(cli_arguments){0}, self, argc, argv, &err);
    if (status == CUZK_OK && !help) zk_config_print_sample(stdout, NULL);
    return cli_report(self, status, &err);
}

const cli_command cli_config_check = {"config check", "checks a settings file and shows what it means", run_check,
                                      "Unknown and deprecated keys are accepted with a warning that names them."};
const cli_command cli_config_sample = {"config sample", "prints a settings file with all keys and their defaults",
                                       run_sample, NULL};
