/* The program `cuzk`: finds the command that the first words name and runs it. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numa.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "field/cpu.h"

static const cli_command *const commands[] = {
    &cli_prove,           &cli_verify,           &cli_inspect,          &cli_sample,        &cli_setup,
    &cli_params_info,     &cli_params_check,     &cli_params_prepare,   &cli_tune,          &cli_circuit_info,
    &cli_circuit_digest,  &cli_witness_digest,   &cli_setup_r1cs,       &cli_prove_r1cs,    &cli_verify_r1cs,
    &cli_trace_compare,   &cli_bench_msm,        &cli_bench_masked_sum, &cli_bench_ntt,     &cli_bench_hash,
    &cli_bench_check,     &cli_bench_synthesize, &cli_bench_prove,      &cli_bench_request, &cli_bench_setup,
    &cli_bench_verify,    &cli_daemon,           &cli_submit,           &cli_await,         &cli_cancel,
    &cli_status,          &cli_metrics,          &cli_preload,          &cli_evict,         &cli_config_sample,
    &cli_config_check,    &cli_bench_single,     &cli_bench_batch,      &cli_bench_stress,
#ifdef CUZK_HAVE_ENGINE
    &cli_journal_salvage, &cli_worker,
#endif
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *out) {
    fputs("usage: cuzk COMMAND [arguments]\n\n"
          "A Groth16 prover over BLS12-381 for Filecoin proofs.\n\ncommands:\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++) fprintf(out, "  %-20s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`cuzk COMMAND --help` tells the arguments of a command.\n"
          "Exit codes: 0 success, 1 a check answered no, 2 wrong usage, 3 bad input, 4 failing machine, 130 "
          "interrupted.\n",
          out);
}

/* Number of leading arguments that spell the command's name, 0 if they do not. */
static int match(const cli_command *command, int argc, char **argv) {
    const char *rest = command->name;
    int n = 0;
    while (*rest) {
        size_t length = strcspn(rest, " ");
        if (n >= argc || strlen(argv[n]) != length || memcmp(argv[n], rest, length) != 0) return 0;
        n++;
        rest += length;
        while (*rest == ' ') rest++;
    }
    return n;
}

/* The commands that begin with this word, such as the benchmarks. Returns how many there are. */
static size_t print_group(FILE *out, const char *word) {
    size_t n = 0, length = strlen(word);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const cli_command *command = commands[i];
        if (strncmp(command->name, word, length) != 0 || command->name[length] != ' ') continue;
        if (n++ == 0) fprintf(out, "usage: cuzk %s COMMAND [arguments]\n\ncommands:\n", word);
        fprintf(out, "  %-20s %s\n", command->name, command->summary);
    }
    return n;
}

/* Code below takes a value it does not know for none: what was misspelt would be believed to hold. */
static bool check_environment(void) {
    static const struct {
        const char *name, *const *values;
        size_t n_values;
    } variables[] = {{"CUZK_CPU", zk_cpu_limit_names, ZK_CPU_BEST}, {"CUZK_NUMA", zk_numa_mode_names, ZK_NUMA_N_MODES}};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i].name), *const *values = variables[i].values;
        const size_t n = variables[i].n_values;
        bool known = !value || !*value;
        for (size_t k = 0; !known && k < n; k++) known = strcmp(value, values[k]) == 0;
        if (known) continue;
        fprintf(stderr, "cuzk: %s in the environment: found \"%s\", expected", variables[i].name, value);
        for (size_t k = 0; k < n; k++) fprintf(stderr, "%s%s", k == 0 ? " " : k + 1 < n ? ", " : " or ", values[k]);
        fputc('\n', stderr);
        return false;
    }
    return true;
}

/* Exit code of what has only printed. */
static int told(const char *word) { return cli_report(&(cli_command){.name = word}, CUZK_OK, NULL); }

int main(int argc, char **argv) {
    cli_session_start();
    if (argc < 2) {
        print_usage(stderr);
        return cuzk_status_exit_code(CUZK_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return told(argv[1]);
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("cuzk " CUZK_VERSION);
        return told(argv[1]);
    }
    if (!check_environment()) return cuzk_status_exit_code(CUZK_USAGE);
    const cli_command *best = NULL;
    int best_words = 0;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        int words = match(commands[i], argc - 1, argv + 1);
        if (words > best_words) {
            best = commands[i];
            best_words = words;
        }
    }
    if (!best) {
        bool help = argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0);
        if ((argc == 2 || help) && print_group(help ? stdout : stderr, argv[1]) > 0)
            return help ? told(argv[1]) : cuzk_status_exit_code(CUZK_USAGE);
        fprintf(stderr, "cuzk: unknown command \"%s\"; `cuzk --help` lists them\n", argv[1]);
        return cuzk_status_exit_code(CUZK_USAGE);
    }
    return best->run(best, argc - 1 - best_words, argv + 1 + best_words);
}
