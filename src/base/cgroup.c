#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

/* base/path and its ancestors up to and including base. */
static void visit_chain(const char *base, const char *path, bool v2, zk_cgroup_fn fn, void *ctx) {
    char folder[1280];
    size_t n_base = strlen(base);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", base, path) >= sizeof folder) return;
    for (;;) {
        fn(ctx, folder, v2);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < n_base) return;
        *slash = 0;
    }
}

/* Whether the comma-separated list names the controller. */
static bool lists(const char *list, const char *controller) {
    size_t n_controller = strlen(controller);
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        if (n == n_controller && memcmp(p, controller, n) == 0) return true;
        p += n + (p[n] == ',');
    }
    return false;
}

/* The mount of a hierarchy is named after its list of controllers, with a link to it for each where the system has
 * them. */
static void visit_v1(const char *cgroup_mount, const char *list, const char *controller, const char *path,
                     zk_cgroup_fn fn, void *ctx) {
    char base[256];
    const char *const names[] = {list, controller};
    size_t n_names = strcmp(list, controller) == 0 ? 1 : 2;
    for (size_t i = 0; i < n_names; i++)
        if ((size_t)snprintf(base, sizeof base, "%s/%s", cgroup_mount, names[i]) < sizeof base)
            visit_chain(base, path, false, fn, ctx);
}

void zk_cgroup_each(const char *cgroup_mount, const char *proc_cgroup, const char *controller, zk_cgroup_fn fn,
                    void *ctx) {
    FILE *in = fopen(proc_cgroup, "re");
    if (!in) return;
    char line[1024];
    while (fgets(line, sizeof line, in)) {
        /* hierarchy:controllers:path; version 2 is hierarchy 0 with an empty list. */
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path) continue;
        *list++ = 0;
        *path++ = 0;
        if (*list == 0)
            visit_chain(cgroup_mount, path, true, fn, ctx);
        else if (lists(list, controller))
            visit_v1(cgroup_mount, list, controller, path, fn, ctx);
    }
    fclose(in);
}
