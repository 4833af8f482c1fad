/* cuzk config check, cuzk config sample */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "config/config.h"

/* Warnings are told at the end, errors as they come, but for the last: with that the command fails. */
typedef struct findings {
    const cli_command *command;
    char *warnings[256];
    size_t n_warnings;
    cuzk_err last;
} findings;

static void keep_warning(void *ctx, const char *text) {
    findings *f = ctx;
    if (f->n_warnings < 256 && (f->warnings[f->n_warnings] = zk_strdup(text))) f->n_warnings++;
}

static void print_last(const findings *f) {
    if (f->last.message[0]) fprintf(stderr, "cuzk %s: %s\n", f->command->name, f->last.message);
}

static void tell_error(void *ctx, const char *text) {
    findings *f = ctx;
    print_last(f);
    zk_err_reset(&f->last);
    (void)ZK_FAIL(&f->last, CUZK_BAD_INPUT, "%s", text);
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
    findings f = {.command = self};
    size_t n_errors = 0;
    cli_option options[] = {
        {"json", NULL, CLI_FLAG, &json_wanted, "one JSON object on standard output"},
        {"environment", NULL, CLI_FLAG, &environment, "take the variables CUZK_... into account too"},
    };
    cli_positional positionals[] = {{"FILE", &path, "the settings, TOML", false}};
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options), CLI_ALL(positionals)}, self, argc, argv, &err));
    if (help) goto out;
    ZK_GOTO(zk_config_create(&config, &err));
    status = zk_config_judge(&n_errors, config, path, environment ? environ : NULL, keep_warning, tell_error, &f, &err);
    if (status != CUZK_OK) {
        print_last(&f);
        goto out;
    }
    if (n_errors) {
        err = f.last;
        status = CUZK_BAD_INPUT;
        goto out;
    }
    if (json_wanted) {
        zk_json_writer *json = cli_json_begin();
        zk_json_begin_object(json, "values");
        status = each_value(config, put_value, json, &err);
        zk_json_end(json);
        zk_json_begin_array(json, "warnings");
        for (size_t i = 0; i < f.n_warnings; i++) zk_json_put_string(json, NULL, f.warnings[i]);
        zk_json_end(json);
        cuzk_status written = cli_json_end(json, &err);
        if (status == CUZK_OK) status = written;
    } else {
        ZK_GOTO(each_value(config, print_value, NULL, &err));
        for (size_t i = 0; i < f.n_warnings; i++) fprintf(stderr, "warning: %s\n", f.warnings[i]);
    }
out:
    zk_config_destroy(config);
    for (size_t i = 0; i < f.n_warnings; i++) free(f.warnings[i]);
    return cli_report(self, status, &err);
}

static int run_sample(const cli_command *self, int argc, char **argv) {
    bool help = false;
    cuzk_err err = {0};
    cuzk_status status = cli_parse(&help, &(cli_arguments){0}, self, argc, argv, &err);
    if (status == CUZK_OK && !help) zk_config_print_sample(stdout, NULL);
    return cli_report(self, status, &err);
}

const cli_command cli_config_check = {
    "config check", "checks a settings file and shows what it means", run_check,
    "Each error is told, in the order of the file. Unknown and deprecated keys are accepted with a warning that\n"
    "names them."};
const cli_command cli_config_sample = {"config sample", "prints a settings file with all keys and their defaults",
                                       run_sample, NULL};
