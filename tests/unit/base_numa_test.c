/* Nodes: the system's files in fake trees, threads over nodes, and what is asked of the kernel. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/mem.h"
#include "base/numa.h"
#include "base/pool.h"
#include "numa_split.h"
#include "zk_test.h"

/* ---- trees ---- */

static char root[64];

static void tree_begin(void) {
    snprintf(root, sizeof root, "/tmp/zk-numa-XXXXXX");
    ZK_CHECK(mkdtemp(root));
}

static void tree_write(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    ZK_CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    *slash = '/';
    FILE *out = fopen(path, "w");
    ZK_CHECK(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

static void tree_end(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    ZK_CHECK(system(command) == 0);
}

typedef struct tree_file {
    const char *name, *text;
} tree_file;

static zk_numa_topology found; /* large */

static cuzk_status read_tree(const tree_file *files, zk_cpu_mask allowed, cuzk_err *err) {
    tree_begin();
    for (; files->name; files++) tree_write(files->name, files->text);
    memset(&found, 0xaa, sizeof found);
    cuzk_status status = zk_numa_read(&found, root, &allowed, err);
    tree_end();
    return status;
}

static bool node_is(unsigned k, unsigned id, bool has_memory, zk_cpu_mask cpus) {
    const zk_numa_node *node = &found.nodes[k];
    unsigned n = 0;
    for (unsigned i = 0; i < ZK_NUMA_MAX_CPUS; i++) n += cpus.words[i / 64] >> i % 64 & 1;
    return node->id == id && node->has_memory == has_memory && node->n_cpus == n &&
           memcmp(&node->cpus, &cpus, sizeof cpus) == 0;
}

static void test_trees(void) {
    cuzk_err err = {0};
    /* one node */
    static const tree_file one[] = {{"online", "0\n"}, {"has_memory", "0\n"}, {"node0/cpulist", "0-1\n"}, {NULL, NULL}};
    ZK_CHECK_OK(read_tree(one, mask_of(0, 1), &err), err);
    ZK_CHECK(found.n_nodes == 1 && node_is(0, 0, true, mask_of(0, 1)));
    /* two sockets with hyperthreads numbered behind all cores, and without an end of line */
    static const tree_file two[] = {{"online", "0-1\n"},
                                    {"has_memory", "0-1"},
                                    {"node0/cpulist", "0-3,8-11\n"},
                                    {"node1/cpulist", "4-7,12-15"},
                                    {NULL, NULL}};
    ZK_CHECK_OK(read_tree(two, mask_of(0, 15), &err), err);
    zk_cpu_mask a = mask_of(0, 3), b = mask_of(4, 7);
    mask_set(&a, 8, 11);
    mask_set(&b, 12, 15);
    ZK_CHECK(found.n_nodes == 2 && node_is(0, 0, true, a) && node_is(1, 1, true, b));
    /* CPUs 2, 9 and 10 are offline or not ours */
    zk_cpu_mask allowed = mask_of(0, 1), c = allowed;
    mask_set(&allowed, 3, 8);
    mask_set(&c, 3, 3);
    mask_set(&c, 8, 8);
    mask_set(&allowed, 11, 15);
    mask_set(&c, 11, 11);
    ZK_CHECK_OK(read_tree(two, allowed, &err), err);
    ZK_CHECK(found.n_nodes == 2 && node_is(0, 0, true, c) && node_is(1, 1, true, b));
    /* the mask leaves one node; or nothing, which a kernel never says */
    ZK_CHECK_OK(read_tree(two, mask_of(5, 6), &err), err);
    ZK_CHECK(found.n_nodes == 1 && node_is(0, 1, true, mask_of(5, 6)));
    ZK_CHECK_OK(read_tree(two, (zk_cpu_mask){{0}}, &err), err);
    ZK_CHECK(found.n_nodes == 0);
    /* memory without CPUs (CXL), CPUs without memory, holes in the numbers, high numbers */
    static const tree_file holes[] = {{"online", "0,4,7-8,1023\n"},
                                      {"has_memory", "0,7-8,1023\n"},
                                      {"node0/cpulist", "0\n"},
                                      {"node4/cpulist", "1-2,64\n"},
                                      {"node7/cpulist", "\n"},
                                      {"node8/cpulist", "3,5,63,65\n"},
                                      {"node5/cpulist", "broken\n"},
                                      {"node1023/cpulist", "8190-8191\n"},
                                      {NULL, NULL}};
    zk_cpu_mask all = mask_of(0, 3), n4 = mask_of(1, 2), n8 = mask_of(3, 3);
    mask_set(&all, 5, 5), mask_set(&all, 63, 65), mask_set(&all, 8190, 8191);
    mask_set(&n4, 64, 64);
    mask_set(&n8, 5, 5), mask_set(&n8, 63, 63), mask_set(&n8, 65, 65);
    ZK_CHECK_OK(read_tree(holes, all, &err), err);
    ZK_CHECK(found.n_nodes == 4 && node_is(0, 0, true, mask_of(0, 0)) && node_is(1, 4, false, n4) &&
             node_is(2, 8, true, n8) && node_is(3, 1023, true, mask_of(8190, 8191)));
    /* older kernels: another name, or no such file */
    static const tree_file normal[] = {
        {"online", "0-1"}, {"has_normal_memory", "1"}, {"node0/cpulist", "0"}, {"node1/cpulist", "1"}, {NULL, NULL}};
    ZK_CHECK_OK(read_tree(normal, mask_of(0, 1), &err), err);
    ZK_CHECK(found.n_nodes == 2 && !found.nodes[0].has_memory && found.nodes[1].has_memory);
    static const tree_file untold[] = {{"online", "0-1"}, {"node0/cpulist", "0"}, {"node1/cpulist", "1"}, {NULL, NULL}};
    ZK_CHECK_OK(read_tree(untold, mask_of(0, 1), &err), err);
    ZK_CHECK(found.n_nodes == 2 && found.nodes[0].has_memory && found.nodes[1].has_memory);
}

static void test_many_nodes(void) {
    cuzk_err err = {0};
    for (unsigned n = ZK_NUMA_MAX_NODES; n <= ZK_NUMA_MAX_NODES + 1; n++) {
        tree_begin();
        char text[64], name[64];
        snprintf(text, sizeof text, "0-%u\n", n - 1);
        tree_write("online", text);
        for (unsigned i = 0; i < n; i++) {
            snprintf(name, sizeof name, "node%u/cpulist", i);
            snprintf(text, sizeof text, "%u\n", i);
            tree_write(name, text);
        }
        zk_cpu_mask allowed = mask_of(0, n - 1);
        cuzk_status status = zk_numa_read(&found, root, &allowed, &err);
        tree_end();
        if (n == ZK_NUMA_MAX_NODES) ZK_CHECK(status == CUZK_OK && found.n_nodes == n && found.nodes[n - 1].id == n - 1);
        if (n > ZK_NUMA_MAX_NODES) ZK_CHECK(status == CUZK_UNSUPPORTED && found.n_nodes == 0);
    }
}

static void test_malformed(void) {
    static const char *const lists[] = {"",      "x\n",     "0-\n",     "-1\n",         "1-0\n",
                                        "0,\n",  ",0\n",    "0 \n",     " 0\n",         "0\n\n",
                                        "0\n1",  "0-1-2\n", "0,0\n",    "1,0\n",        "0-1:2\n",
                                        "0x0\n", "8192\n",  "0-8192\n", "4294967296\n", "0-18446744073709551616\n",
                                        "\n\n"};
    cuzk_err err = {0};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const tree_file files[] = {
            {"online", "0-1\n"}, {"node0/cpulist", "0\n"}, {"node1/cpulist", lists[i]}, {NULL, NULL}};
        zk_err_reset(&err);
        ZK_CHECKF(read_tree(files, mask_of(0, 1), &err) == CUZK_BAD_INPUT && found.n_nodes == 0, "list \"%s\"",
                  lists[i]);
        ZK_CHECK(strstr(err.message, "node1/cpulist"));
        const tree_file nodes[] = {{"online", lists[i]}, {"node0/cpulist", "0\n"}, {NULL, NULL}};
        ZK_CHECKF(read_tree(nodes, mask_of(0, 0), NULL) == CUZK_BAD_INPUT, "online \"%s\"", lists[i]);
        const tree_file memory[] = {
            {"online", "0\n"}, {"has_memory", lists[i]}, {"node0/cpulist", "0\n"}, {NULL, NULL}};
        ZK_CHECKF(read_tree(memory, mask_of(0, 0), NULL) == CUZK_BAD_INPUT, "has_memory \"%s\"", lists[i]);
    }
    static char zeros[40000]; /* too long for any kernel */
    for (size_t i = 0; i + 2 < sizeof zeros; i++) zeros[i] = '0';
    const tree_file longer[] = {{"online", zeros}, {NULL, NULL}};
    ZK_CHECK(read_tree(longer, mask_of(0, 0), NULL) == CUZK_BAD_INPUT);
    static const tree_file twice[] = {
        {"online", "0-1\n"}, {"node0/cpulist", "0-2\n"}, {"node1/cpulist", "2-3\n"}, {NULL, NULL}};
    zk_err_reset(&err);
    ZK_CHECK(read_tree(twice, mask_of(0, 3), &err) == CUZK_BAD_INPUT && strstr(err.message, "CPU 2 "));
    static const tree_file nowhere[] = {{"online", "0\n"}, {"node0/cpulist", "0-2\n"}, {NULL, NULL}};
    zk_err_reset(&err);
    ZK_CHECK(read_tree(nowhere, mask_of(0, 3), &err) == CUZK_BAD_INPUT && strstr(err.message, "CPU 3 "));
    static const tree_file missing[] = {{"online", "0-1\n"}, {"node0/cpulist", "0-2\n"}, {NULL, NULL}};
    ZK_CHECK(read_tree(missing, mask_of(0, 2), NULL) == CUZK_UNSUPPORTED && found.n_nodes == 0);
    static const tree_file nothing[] = {{"possible", "0\n"}, {NULL, NULL}};
    ZK_CHECK(read_tree(nothing, mask_of(0, 0), NULL) == CUZK_UNSUPPORTED && found.n_nodes == 0);
}

/* ---- threads over nodes ---- */

static void topology_of(zk_numa_topology *t, unsigned n, const unsigned *n_cpus) {
    memset(t, 0, sizeof *t);
    t->n_nodes = n;
    for (unsigned k = 0, cpu = 0; k < n; cpu += n_cpus[k++])
        t->nodes[k] = (zk_numa_node){k, n_cpus[k], true, mask_of(cpu, cpu + n_cpus[k] - 1)};
}

static void test_spread(void) {
    static zk_numa_topology t;
    unsigned node_of[512];
    topology_of(&t, 1, (unsigned[]){3});
    zk_numa_spread(node_of, 5, &t);
    for (unsigned i = 0; i < 5; i++) ZK_CHECK(node_of[i] == 0);
    topology_of(&t, 2, (unsigned[]){2, 2});
    zk_numa_spread(node_of, 6, &t);
    ZK_CHECK_MEM(node_of, ((unsigned[]){0, 1, 0, 1, 0, 1}), 6 * sizeof *node_of);
    topology_of(&t, 2, (unsigned[]){4, 2});
    zk_numa_spread(node_of, 7, &t);
    ZK_CHECK_MEM(node_of, ((unsigned[]){0, 0, 1, 0, 0, 1, 0}), 7 * sizeof *node_of);
    topology_of(&t, 3, (unsigned[]){1, 64, 3});
    zk_numa_spread(node_of, 1, &t);
    ZK_CHECK(node_of[0] == 1);
    /* whole rounds give each node its CPUs, and no node is ever a round ahead */
    static const unsigned shapes[][4] = {{1, 1, 1, 1}, {1, 64, 3, 12}, {96, 96, 0, 0}, {5, 4, 3, 0}, {2, 1, 0, 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        unsigned n_nodes = 0, total = 0, n_on[4] = {0};
        while (n_nodes < 4 && shapes[s][n_nodes]) total += shapes[s][n_nodes++];
        topology_of(&t, n_nodes, shapes[s]);
        zk_numa_spread(node_of, 2 * total, &t);
        for (unsigned i = 0; i < 2 * total; i++) {
            n_on[node_of[i]]++;
            for (unsigned k = 0; k < n_nodes; k++)
                ZK_CHECKF(i + 1 != total || n_on[k] == shapes[s][k], "shape %zu node %u", s, k);
            ZK_CHECKF(n_on[node_of[i]] <= (i / total + 1) * shapes[s][node_of[i]], "shape %zu thread %u", s, i);
        }
    }
}

static void test_mode(void) {
    ZK_CHECK(zk_numa_mode_of(NULL) == ZK_NUMA_AUTO && zk_numa_mode_of("auto") == ZK_NUMA_AUTO &&
             zk_numa_mode_of("") == ZK_NUMA_AUTO && zk_numa_mode_of("Off") == ZK_NUMA_AUTO);
    ZK_CHECK(zk_numa_mode_of("off") == ZK_NUMA_OFF && zk_numa_mode_of("interleave") == ZK_NUMA_INTERLEAVE);
}

/* ---- what is asked of the kernel ---- */

enum { N_THREADS = 4 };

typedef struct look {
    atomic_uint n_inside;
    zk_cpu_mask of[N_THREADS];
    atomic_uint n_seen;
} look;

/* Every thread takes one index, and none leaves before all have. */
static void look_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    look *l = ctx;
    (void)begin, (void)end;
    atomic_fetch_add(&l->n_inside, 1);
    while (atomic_load(&l->n_inside) < N_THREADS) usleep(100);
    if (zk_numa_affinity(&l->of[thread])) atomic_fetch_add(&l->n_seen, 1);
}

static zk_numa_counts look_at_pool(look *l) {
    zk_pool *pool;
    cuzk_err err = {0};
    memset(l, 0, sizeof *l);
    ZK_CHECK_OK(zk_pool_create(&pool, N_THREADS, &err), err);
    zk_pool_for(pool, N_THREADS, 1, look_range, l);
    zk_pool_destroy(pool);
    ZK_CHECK(l->n_seen == N_THREADS);
    return zk_numa_get_counts();
}

static bool same_mask(const zk_cpu_mask *a, const zk_cpu_mask *b) { return memcmp(a, b, sizeof *a) == 0; }

static void test_binding(void) {
    static zk_numa_topology t;
    static look l;
    zk_cpu_mask all;
    zk_numa_counts n;
    unsigned node_of[N_THREADS];
    ZK_CHECK(zk_numa_affinity(&all));
    unsigned n_cpus = 0;
    for (unsigned i = 0; i < ZK_NUMA_MAX_CPUS; i++) n_cpus += all.words[i / 64] >> i % 64 & 1;
    split_here(&t, 0, 1);
    zk_numa_spread(node_of, N_THREADS, &t);

    zk_numa_replace(&t, ZK_NUMA_AUTO);
    ZK_CHECK(zk_numa_n_nodes() == 2 && zk_numa_here()->n_nodes == 2);
    n = look_at_pool(&l);
    ZK_CHECK(same_mask(&l.of[0], &all)); /* the caller */
    ZK_CHECK(n.n_bound + n.n_bind_refused == N_THREADS - 1 && (n_cpus < 2 || n.n_bind_refused == 0));
    for (unsigned i = 1; i < N_THREADS && n_cpus > 1; i++) ZK_CHECK(same_mask(&l.of[i], &t.nodes[node_of[i]].cpus));
    zk_numa_bind(2); /* no such node */
    ZK_CHECK(zk_numa_get_counts().n_bound == n.n_bound);

    /* nothing at all: one node, and the other modes */
    for (int k = 0; k < 3; k++) {
        split_here(&t, 0, 1);
        if (k == 0) {
            t.n_nodes = 1;
            t.nodes[0].cpus = all;
        }
        zk_numa_replace(&t, k == 0 ? ZK_NUMA_AUTO : k == 1 ? ZK_NUMA_OFF : ZK_NUMA_INTERLEAVE);
        ZK_CHECK(zk_numa_n_nodes() == (k == 2 ? 2 : 1));
        n = look_at_pool(&l);
        ZK_CHECK(n.n_bound + n.n_bind_refused == 0);
        for (unsigned i = 0; i < N_THREADS; i++) ZK_CHECK(same_mask(&l.of[i], &all));
    }

    /* CPUs that are not there: the kernel refuses, threads stay where they are */
    split_here(&t, 0, 1);
    t.nodes[0].cpus = t.nodes[1].cpus = mask_of(ZK_NUMA_MAX_CPUS - 1, ZK_NUMA_MAX_CPUS - 1);
    zk_numa_replace(&t, ZK_NUMA_AUTO);
    n = look_at_pool(&l);
    ZK_CHECK(n.n_bound == 0 && n.n_bind_refused == N_THREADS - 1);
    for (unsigned i = 0; i < N_THREADS; i++) ZK_CHECK(same_mask(&l.of[i], &all));
    zk_numa_replace(NULL, ZK_NUMA_AUTO);
}

static int policy_at(void *p) {
    int policy = -1;
    if (syscall(SYS_get_mempolicy, &policy, NULL, 0ul, p, (unsigned long)MPOL_F_ADDR) != 0) return -1;
    return policy;
}

/* A block of each kind; how many were placed, or refused. Contents are as promised in any case. */
static void place_blocks(zk_numa_counts *n, int *shared_policy, int *plain_policy) {
    void *blocks[3];
    cuzk_err err = {0};
    const size_t mapped = (size_t)3 << 20, small = 1000;
    ZK_CHECK_OK(zk_mem_alloc_shared(&blocks[0], "numa", mapped, &err), err);
    ZK_CHECK_OK(zk_mem_alloc(&blocks[1], "numa", mapped, &err), err);
    ZK_CHECK_OK(zk_mem_alloc_shared(&blocks[2], "numa", small, &err), err);
    for (int i = 0; i < 3; i++) {
        uint8_t *p = blocks[i], any = 0;
        for (size_t k = 0; k < (i < 2 ? mapped : small); k++) any |= p[k];
        ZK_CHECK(!any);
        memset(p, 1, i < 2 ? mapped : small);
    }
    *shared_policy = policy_at(blocks[0]);
    *plain_policy = policy_at(blocks[1]);
    *n = zk_numa_get_counts();
    for (int i = 0; i < 3; i++) zk_mem_free(blocks[i]);
}

static void test_placing(void) {
    static zk_numa_topology t;
    zk_numa_counts n;
    int shared, plain;
    split_here(&t, 0, 1);
    zk_numa_replace(&t, ZK_NUMA_AUTO);
    place_blocks(&n, &shared, &plain);
    ZK_CHECK(n.n_placed + n.n_place_refused == 1);
    if (n.n_placed && shared >= 0) ZK_CHECK(shared == MPOL_INTERLEAVE && plain == MPOL_DEFAULT);

    zk_numa_replace(&t, ZK_NUMA_INTERLEAVE);
    place_blocks(&n, &shared, &plain);
    ZK_CHECK(n.n_placed + n.n_place_refused == 2);
    if (n.n_placed && shared >= 0) ZK_CHECK(shared == MPOL_INTERLEAVE && plain == MPOL_INTERLEAVE);

    /* nodes that are not there */
    split_here(&t, ZK_NUMA_MAX_IDS - 2, ZK_NUMA_MAX_IDS - 1);
    zk_numa_replace(&t, ZK_NUMA_AUTO);
    place_blocks(&n, &shared, &plain);
    ZK_CHECK(n.n_placed == 0 && n.n_place_refused == 1 && (shared < 0 || shared == plain));

    /* a policy that somebody has set is not overruled */
    split_here(&t, 0, 1);
    unsigned long node0 = 1;
    if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, &node0, 64ul) == 0) {
        zk_numa_replace(&t, ZK_NUMA_INTERLEAVE);
        place_blocks(&n, &shared, &plain);
        ZK_CHECK(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul) == 0);
        ZK_CHECK(n.n_placed + n.n_place_refused == 0);
    }

    /* no call at all: off, one node, one node with memory */
    for (int k = 0; k < 3; k++) {
        split_here(&t, 0, 1);
        if (k == 1) t.n_nodes = 1;
        if (k == 2) t.nodes[1].has_memory = false;
        zk_numa_replace(&t, k == 0 ? ZK_NUMA_OFF : ZK_NUMA_INTERLEAVE);
        place_blocks(&n, &shared, &plain);
        ZK_CHECK(n.n_placed + n.n_place_refused == 0);
    }
    zk_numa_replace(NULL, ZK_NUMA_AUTO);
}

/* What this machine and the environment say. */
static void test_here(void) {
    zk_cpu_mask all;
    ZK_CHECK(zk_numa_affinity(&all));
    unsigned n_cpus = 0, n_known = 0;
    for (unsigned i = 0; i < ZK_NUMA_MAX_CPUS; i++) n_cpus += all.words[i / 64] >> i % 64 & 1;
    ZK_CHECK(n_cpus >= zk_cpus_usable());
    zk_numa_replace(NULL, ZK_NUMA_AUTO);
    ZK_CHECK(unsetenv("CUZK_NUMA") == 0);
    const zk_numa_topology *here = zk_numa_here();
    for (unsigned k = 0; k < here->n_nodes; k++) n_known += here->nodes[k].n_cpus;
    ZK_CHECK(n_known == (here->n_nodes ? n_cpus : 0));
    zk_numa_replace(NULL, ZK_NUMA_AUTO);
    ZK_CHECK(setenv("CUZK_NUMA", "off", 1) == 0);
    ZK_CHECK(zk_numa_here()->n_nodes == 0 && zk_numa_n_nodes() == 1);
    ZK_CHECK(unsetenv("CUZK_NUMA") == 0);
    zk_numa_replace(NULL, ZK_NUMA_AUTO);
}

/* ---- a kernel that forbids ---- */

static void forbid(int error) {
#define REFUSE(name)                                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (name), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error)
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 REFUSE(SYS_mbind), REFUSE(SYS_sched_setaffinity), REFUSE(SYS_get_mempolicy),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    ZK_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(77); /* cannot be tried here */
}

static void test_forbidden(void) {
    static const int errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        fflush(NULL);
        pid_t child = fork();
        ZK_CHECK(child >= 0);
        if (child == 0) {
            static zk_numa_topology t;
            static look l;
            zk_numa_counts n, placed;
            int shared, plain;
            split_here(&t, 0, 1);
            forbid(errors[i]);
            zk_numa_replace(&t, ZK_NUMA_AUTO);
            n = look_at_pool(&l);
            place_blocks(&placed, &shared, &plain);
            _exit(n.n_bind_refused == N_THREADS - 1 && n.n_bound == 0 && placed.n_place_refused == 1 &&
                          placed.n_placed == 0
                      ? 0
                      : 1);
        }
        int result;
        ZK_CHECK(waitpid(child, &result, 0) == child);
        if (WIFEXITED(result) && WEXITSTATUS(result) == 77) printf("(no seccomp filters here)\n");
        ZK_CHECK(WIFEXITED(result) && (WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 77));
    }
}

ZK_TEST_MAIN(ZK_CASE(test_trees), ZK_CASE(test_many_nodes), ZK_CASE(test_malformed), ZK_CASE(test_spread),
             ZK_CASE(test_mode), ZK_CASE(test_binding), ZK_CASE(test_placing), ZK_CASE(test_here),
             ZK_CASE(test_forbidden))
