#include "cli/args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *unit;
    unsigned shift;
} size_units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};

static bool parse_digits(uint64_t *value, const char *text, const char **end) {
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    char *stop = NULL;
    *value = strtoull(text, &stop, 10);
    *end = stop;
    return errno == 0;
}

/* "2KiB", "32GiB", "512 MiB" or plain bytes. */
static bool parse_size(uint64_t *bytes, const char *text) {
    const char *end = NULL;
    uint64_t value = 0;
    if (!parse_digits(&value, text, &end)) return false;
    while (*end == ' ') end++;
    if (*end == 0 || strcmp(end, "B") == 0) {
        *bytes = value;
        return true;
    }
    for (size_t i = 0; i < sizeof size_units / sizeof size_units[0]; i++) {
        if (strcmp(end, size_units[i].unit) != 0) continue;
        if (value > UINT64_MAX >> size_units[i].shift) return false;
        *bytes = value << size_units[i].shift;
        return true;
    }
    return false;
}

const char *cli_format_size(char *text, uint64_t bytes) {
    for (size_t i = sizeof size_units / sizeof size_units[0]; i-- > 0;) {
        uint64_t unit = (uint64_t)1 << size_units[i].shift;
        if (bytes >= unit && bytes % unit == 0) {
            snprintf(text, 32, "%" PRIu64 "%s", bytes / unit, size_units[i].unit);
            return text;
        }
    }
    snprintf(text, 32, "%" PRIu64 " bytes", bytes);
    return text;
}

/* One-letter options are shown as -o, longer ones as --out. */
static const char *dashes(const cli_option *option) { return option->name[1] ? "--" : "-"; }

static void print_help(const cli_command *command, const cli_arguments *arguments) {
    const cli_option *options = arguments->options;
    const cli_positional *positionals = arguments->positionals;
    const size_t n_options = arguments->n_options, n_positionals = arguments->n_positionals;
    printf("usage: cuzk %s", command->name);
    for (size_t i = 0; i < n_positionals; i++) printf(positionals[i].optional ? " [%s]" : " %s", positionals[i].name);
    for (size_t i = 0; i < n_options; i++)
        if (options[i].required) printf(" %s%s %s", dashes(&options[i]), options[i].name, options[i].metavar);
    printf(" [options]\n\n%s\n", command->summary);
    if (n_positionals) printf("\n");
    for (size_t i = 0; i < n_positionals; i++) printf("  %-26s %s\n", positionals[i].name, positionals[i].help);
    printf("\noptions:\n");
    for (size_t i = 0; i < n_options; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s", dashes(&options[i]), options[i].name, options[i].metavar ? " " : "",
                 options[i].metavar ? options[i].metavar : "");
        const char *gap = strlen(left) > 26 ? "\n                            " : ""; /* the text on a line of its own */
        printf("  %-26s%s %s%s\n", left, gap, options[i].help, options[i].required ? " (required)" : "");
    }
    printf("  %-26s %s\n", "--help", "this text");
    if (command->details) printf("\n%s\n", command->details);
}

static cuzk_status set_value(cli_option *option, const char *text, cuzk_err *err) {
    switch (option->type) {
    case CLI_FLAG:
        *(bool *)option->value = true;
        return CUZK_OK;
    case CLI_STRING:
        *(const char **)option->value = text;
        return CUZK_OK;
    case CLI_U64:
    case CLI_COUNT: {
        const char *end = NULL;
        bool from_1 = option->type == CLI_COUNT;
        if (!parse_digits(option->value, text, &end) || *end || (from_1 && *(uint64_t *)option->value == 0))
            return ZK_FAIL(err, CUZK_USAGE, "%s%s: found \"%s\", expected a whole number%s", dashes(option),
                           option->name, text, from_1 ? ", at least 1" : "");
        return CUZK_OK;
    }
    case CLI_SIZE:
        if (!parse_size(option->value, text))
            return ZK_FAIL(err, CUZK_USAGE, "%s%s: found \"%s\", expected a size such as 2KiB, 32GiB or bytes",
                           dashes(option), option->name, text);
        return CUZK_OK;
    }
    return ZK_FAIL(err, CUZK_INTERNAL, "%s%s: unknown option type", dashes(option), option->name);
}

static cli_option *find_option(const cli_arguments *arguments, const char *name, size_t length) {
    for (size_t i = 0; i < arguments->n_options; i++) {
        cli_option *option = &arguments->options[i];
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) return option;
    }
    return NULL;
}

cuzk_status cli_parse(bool *help, const cli_arguments *arguments, const cli_command *command, int argc, char **argv,
                      cuzk_err *err) {
    const cli_option *options = arguments->options;
    const cli_positional *positionals = arguments->positionals;
    const size_t n_options = arguments->n_options, n_positionals = arguments->n_positionals;
    size_t n_found = 0;
    bool options_ended = false;
    *help = false;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        if (options_ended || arg[0] != '-' || arg[1] == 0) {
            if (n_found == n_positionals)
                return ZK_FAIL(err, CUZK_USAGE, "unexpected argument \"%s\" (see --help)", arg);
            *positionals[n_found++].value = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            options_ended = true;
            continue;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            print_help(command, arguments);
            *help = true;
            return CUZK_OK;
        }
        bool short_form = arg[1] != '-'; /* one letter; -o is --o */
        const char *name = arg + (short_form ? 1 : 2);
        const char *equals = short_form ? NULL : strchr(name, '=');
        cli_option *option = find_option(arguments, name, equals ? (size_t)(equals - name) : strlen(name));
        if (!option || (short_form && option->name[1]))
            return ZK_FAIL(err, CUZK_USAGE, "unknown option \"%s\" (see --help)", arg);
        if (option->given) return ZK_FAIL(err, CUZK_USAGE, "%s%s is given twice", dashes(option), option->name);
        option->given = true;
        const char *value = equals ? equals + 1 : NULL;
        if (option->type == CLI_FLAG && value)
            return ZK_FAIL(err, CUZK_USAGE, "%s%s takes no value, found \"%s\"", dashes(option), option->name, value);
        if (option->type != CLI_FLAG && !value) {
            if (i + 1 == argc)
                return ZK_FAIL(err, CUZK_USAGE, "%s%s needs a value (%s)", dashes(option), option->name,
                               option->metavar);
            value = argv[++i];
        }
        ZK_TRY(set_value(option, value, err));
    }
    for (size_t i = n_found; i < n_positionals; i++)
        if (!positionals[i].optional)
            return ZK_FAIL(err, CUZK_USAGE, "missing argument %s (see --help)", positionals[i].name);
    for (size_t i = 0; i < n_options; i++)
        if (options[i].required && !options[i].given)
            return ZK_FAIL(err, CUZK_USAGE, "missing option %s%s %s (see --help)", dashes(&options[i]), options[i].name,
                           options[i].metavar);
    return CUZK_OK;
}

bool cli_given(const cli_arguments *arguments, const char *name) {
    const cli_option *option = find_option(arguments, name, strlen(name));
    return option && option->given;
}

int cli_report(const cli_command *command, cuzk_status status, const cuzk_err *err) {
    cuzk_err lost = {0};
    if (fflush(stdout) != 0 || ferror(stdout)) { /* what was asked for has not arrived */
        int code = errno;
        if (status == CUZK_OK) {
            status = ZK_FAIL(&lost, CUZK_IO, "standard output: cannot write: %s", strerror(code));
            err = &lost;
        }
    }
    if (status == CUZK_OK) return 0;
    fprintf(stderr, "cuzk %s: %s\n", command->name, err && err->message[0] ? err->message : cuzk_status_text(status));
    return cuzk_status_exit_code(status);
}
