#include "cli/machines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "cuzk_fleet_";

/* The value of `name` in {a="...",b="..."}; false: not there. */
static bool label_of(char *out, size_t n_out, const char *line, const char *name) {
    char start[32];
    size_t n = 0;
    snprintf(start, sizeof start, "%s=\"", name);
    const char *at = strstr(line, start);
    if (!at) return false;
    for (at += strlen(start); *at && *at != '"' && *at != '\n'; at++) {
        if (*at == '\\' && at[1]) at++;
        if (n + 1 < n_out) out[n++] = *at;
    }
    out[n] = 0;
    return true;
}

static cli_machine *machine_of(cli_machines *m, const char *line) {
    char id[sizeof m->list[0].id];
    if (!label_of(id, sizeof id, line, "id")) return NULL;
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->list[i].id, id) == 0) return &m->list[i];
    if (m->n == sizeof m->list / sizeof m->list[0]) return NULL;
    cli_machine *machine = &m->list[m->n++];
    *machine = (cli_machine){0};
    memcpy(machine->id, id, sizeof id);
    label_of(machine->name, sizeof machine->name, line, "machine");
    return machine;
}

static void take_line(cli_machines *m, const char *line, double value) {
    const char *what = line + sizeof prefix - 1;
    if (strncmp(what, "reachable ", 10) == 0) {
        m->fleet = true;
        m->reachable = value != 0;
        return;
    }
    cli_machine *machine = machine_of(m, line);
    if (!machine) return;
    if (strncmp(what, "machine_seen_seconds{", 21) == 0) machine->seen_s = value;
    if (strncmp(what, "machine_partitions{", 19) == 0) machine->n_partitions = (uint64_t)value;
    if (strncmp(what, "machine_proved_total{", 21) == 0) machine->n_proved = (uint64_t)value;
}

void cli_machines_parse(cli_machines *m, const char *metrics) {
    *m = (cli_machines){0};
    for (const char *line = metrics; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, prefix, sizeof prefix - 1) != 0) continue;
        char text[512];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        const char *value = strrchr(text, ' ');
        if (value) take_line(m, text, strtod(value, NULL));
    }
}

void cli_machines_print(const cli_machines *m) {
    if (!m->fleet) return;
    printf("\n%-24s %12s %8s %10s%s\n", "machine", "seen", "in hand", "proved",
           m->reachable ? "" : "   (the database is out of reach: as it was last)");
    for (size_t i = 0; i < m->n; i++)
        printf("%-24s %8.1f s ago %4" PRIu64 " %10" PRIu64 "\n", m->list[i].name, m->list[i].seen_s,
               m->list[i].n_partitions, m->list[i].n_proved);
}

void cli_machines_put(zk_json_writer *j, const cli_machines *m) {
    if (!m->fleet) {
        zk_json_put_null(j, "fleet");
        return;
    }
    zk_json_begin_object(j, "fleet");
    zk_json_put_bool(j, "reachable", m->reachable);
    zk_json_begin_array(j, "machines");
    for (size_t i = 0; i < m->n; i++) {
        zk_json_begin_object(j, NULL);
        zk_json_put_string(j, "name", m->list[i].name);
        zk_json_put_string(j, "id", m->list[i].id);
        zk_json_put_double(j, "seen_secs_ago", m->list[i].seen_s);
        zk_json_put_u64(j, "partitions_in_hand", m->list[i].n_partitions);
        zk_json_put_u64(j, "partitions_proved", m->list[i].n_proved);
        zk_json_end(j);
    }
    zk_json_end(j);
    zk_json_end(j);
}
