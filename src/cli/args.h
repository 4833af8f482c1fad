/* Command-line arguments: every command has a table of options, from which parsing, checks and --help come. */
#ifndef ZK_CLI_ARGS_H
#define ZK_CLI_ARGS_H

#include "base/status.h"

typedef enum cli_type {
    CLI_FLAG,   /* bool */
    CLI_STRING, /* const char * */
    CLI_U64,    /* uint64_t */
    CLI_COUNT,  /* uint64_t, at least 1: for options where 0 in the variable means that they were not given */
    CLI_SIZE,   /* uint64_t: bytes, or with a unit KiB, MiB, GiB */
} cli_type;

typedef struct cli_option {
    const char *name;    /* without the dashes */
    const char *metavar; /* what the value is called in --help; NULL for flags */
    cli_type type;
    void *value;
    const char *help;
    bool required;
    bool given; /* set by the parser */
} cli_option;
/* How many options a macro such as CLI_KEY_OPTIONS stands for, where a command leaves them out of its table. */
#define CLI_N_OPTIONS(...) (sizeof((cli_option[]){__VA_ARGS__}) / sizeof(cli_option))

typedef struct cli_positional {
    const char *name;
    const char **value; /* NULL stays if an optional one is left out */
    const char *help;
    bool optional;
} cli_positional;

typedef struct cli_command {
    const char *name; /* "circuit info" */
    const char *summary;
    int (*run)(const struct cli_command *self, int argc, char **argv); /* arguments after the name; exit code */
    const char *details;                                               /* more text for --help, or NULL */
} cli_command;

/* What a command takes. */
typedef struct cli_arguments {
    cli_option *options; /* [n_options] */
    size_t n_options;
    const cli_positional *positionals; /* [n_positionals] in their order, optional ones last */
    size_t n_positionals;
} cli_arguments;
#define CLI_ALL(table) table, sizeof table / sizeof table[0] /* an array as two members */

/* Parses. On --help prints the text to stdout and returns CUZK_OK with *help set. Unknown, repeated, missing or
 * malformed arguments: CUZK_USAGE with a message. Options may be given as `--name value` or `--name=value`, anywhere;
 * `--` ends them. */
cuzk_status cli_parse(bool *help, const cli_arguments *arguments, const cli_command *command, int argc, char **argv,
                      cuzk_err *err) ZK_MUST_USE;

/* Whether the option was there; false also if the command does not take it. */
bool cli_given(const cli_arguments *arguments, const char *name);

/* "32GiB" for exact multiples, else "N bytes"; into a buffer of at least 32 bytes, returned. */
const char *cli_format_size(char *text, uint64_t bytes);

/* Prints one line on stderr, "cuzk COMMAND: message", and returns the exit code of the status; what could not be
 * written to stdout turns success into a failure. */
int cli_report(const cli_command *command, cuzk_status status, const cuzk_err *err);

#endif
