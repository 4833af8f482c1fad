#include "engine/stall.h"

#include <stdio.h>
#include <string.h>

void zk_stall_begin(zk_stall *stall, uint64_t now_ns) { *stall = (zk_stall){.looked_ns = now_ns}; }

void zk_stall_look(zk_stall *stall, uint64_t now_ns, bool progress) {
    uint64_t since = now_ns > stall->looked_ns ? now_ns - stall->looked_ns : 0;
    stall->looked_ns = now_ns;
    stall->still_ns = progress ? 0 : stall->still_ns + (since < ZK_STALL_LOOK_NS ? since : ZK_STALL_LOOK_NS);
}

void zk_stall_pause(zk_stall *stall, uint64_t now_ns) { stall->looked_ns = now_ns; }

bool zk_process_is_held(int pid) {
    char path[64], line[128], state = 0;
    int tracer = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *in = fopen(path, "re");
    if (!in) return false;
    while (fgets(line, sizeof line, in)) {
        if (strncmp(line, "State:", 6) == 0) sscanf(line + 6, " %c", &state);
        if (strncmp(line, "TracerPid:", 10) == 0) sscanf(line + 10, "%d", &tracer);
    }
    fclose(in);
    return state == 'T' || state == 't' || tracer > 0;
}
