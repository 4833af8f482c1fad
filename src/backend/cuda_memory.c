/* How much device memory proofs take, and where points lie so that they have it. docs/internals/device-memory.md.
 *
 * A proof holds its assignment throughout. While it runs alone its other memory comes and goes:
 *
 *   witness    hints
 *   evaluate   all vectors over the domain: a, b, c; or a, b where c comes later
 *   h          these, and the temporary vector of a transform where there is one
 *   h msm      the first vector and a workspace
 *   other sums the compacted assignment and a workspace
 *
 * The largest of these has to be free in one piece. Provers on several streams keep their vectors and workspaces. */
#include <inttypes.h>
#include <string.h>

#include "backend/cuda_impl.h"

typedef struct workspace {
    size_t best, least;
} workspace;

/* Of one sum, wherever its points will lie. */
static workspace workspace_of_sum(const cuda_backend *cuda, zk_group group, size_t n, bool masked) {
    workspace w = {0, 0};
    size_t best, least;
    if (n == 0) return w;
    if (masked) {
        zk_cuda_masked_sum_bytes(&w.best, &w.least, cuda->device, (int)group, n);
    } else {
        zk_cuda_bases bases;
        zk_cuda_bases_plan(&bases, (int)group, n, 0);
        zk_cuda_msm_bytes(&w.best, &w.least, cuda->device, &bases);
    }
    zk_cuda_streamed_bytes(&best, &least, cuda->device, (int)group, masked, n);
    return (workspace){zk_cuda_alloc_bytes(w.best), zk_cuda_alloc_bytes(zk_max_size(w.least, least))};
}

/* What a queue has for a sum when large MSMs take turns in a common workspace. Sums over bits lose nothing in a quarter
 * of what they could use at most, and short MSMs want little. */
static size_t own_of_sum(bool masked, workspace w, workspace largest) {
    size_t most = masked ? w.best / 4 : largest.best / 8;
    return zk_max_size(w.least, zk_min_size(w.best, most));
}

static void needs_of(cuda_needs *needs, const cuda_backend *cuda, const zk_proof_shape *shape, size_t witness_bytes) {
    const zk_program *p = shape->program;
    size_t vector = zk_cuda_alloc_bytes(sizeof(zk_fr) << shape->log2_n), vectors = shape->n_vectors * vector;
    size_t some = zk_cuda_alloc_bytes(shape->some_bits) + zk_cuda_alloc_bytes(shape->some_full);
    size_t tables, temporary, least_word = zk_cuda_alloc_bytes(1);
    zk_cuda_ntt_bytes(&tables, &temporary, shape->log2_n);
    size_t others = zk_max_size(witness_bytes, zk_max_size(temporary, least_word));
    workspace largest = {0, 0}; /* of h, which comes first */
    *needs = (cuda_needs){
        .selections =
            shape->n_selections * (zk_cuda_mask_bytes(p->n_aux) + zk_cuda_mask_bytes((size_t)p->n_inputs + p->n_wide)),
        .kept = zk_cuda_alloc_bytes(zk_witness_bits_bytes(p)) + zk_cuda_alloc_bytes(zk_witness_full_bytes(p)),
        .vectors = vectors + some,
        .queue_best = others,
        .queue_least = others,
        .queue_own = others,
    };
    needs->best = needs->least = zk_max_size(witness_bytes, vectors + zk_max_size(temporary, least_word));
    for (unsigned i = 0; i < shape->n_sums; i++) {
        workspace w = workspace_of_sum(cuda, shape->sum[i].group, shape->sum[i].n, shape->sum[i].masked);
        size_t held = i == 0 ? vector : some;
        needs->best = zk_max_size(needs->best, held + w.best);
        needs->least = zk_max_size(needs->least, held + w.least);
        needs->queue_best = zk_max_size(needs->queue_best, w.best);
        needs->queue_least = zk_max_size(needs->queue_least, w.least);
        needs->queue_own = zk_max_size(needs->queue_own, own_of_sum(shape->sum[i].masked, w, largest));
        if (i == 0) largest = w;
    }
    needs->queue_own += tables;
    needs->queue_best += tables;
    needs->queue_least += tables;
}

/* Where `there` bytes are: *needs with as many vectors as have room, which are returned. Two for three cost an
 * evaluation of c by itself, and that unsatisfied rows are seen late. */
static unsigned needs_in(cuda_needs *needs, const cuda_backend *cuda, const zk_proof_shape *shape, size_t witness_bytes,
                         size_t there) {
    zk_proof_shape fewer = *shape;
    needs_of(needs, cuda, shape, witness_bytes);
    if (shape->n_vectors != 3 || there >= needs->selections + needs->kept + needs->least) return shape->n_vectors;
    fewer.n_vectors = 2;
    needs_of(needs, cuda, &fewer, witness_bytes);
    return 2;
}

/* The device has the tables of one size of transforms, so those of circuits that take turns are made in a proof. */
static size_t tables_in_turn(const cuda_backend *cuda) {
    size_t most = 0, tables, temporary;
    bool differ = false;
    for (const cuda_program *p = cuda->programs; p; p = p->next) {
        zk_cuda_ntt_bytes(&tables, &temporary, p->base.log2_n);
        most = zk_max_size(most, tables);
        differ = differ || p->base.log2_n != cuda->programs->base.log2_n;
    }
    return differ ? most : 0;
}

void zk_cuda_needs_default(cuda_program *program) {
    zk_proof_shape shape = {.program = program->base.program, .log2_n = program->base.log2_n, .n_vectors = 3};
    needs_of(&program->needs, cuda_of(program->base.backend), &shape, zk_cuda_witness_bytes(program->tables));
    program->keep = program->needs.least;
}

void zk_cuda_proof_plan(const zk_backend *backend, const zk_proof_shape *shape, zk_memory_plan *plan) {
    const zk_program *p = shape->program;
    cuda_needs needs;
    size_t words = shape->n_selections *
                   (zk_witness_bits_bytes(p) + ((size_t)p->n_inputs + p->n_wide) / 8); /* counted with the key */
    needs_of(&needs, cuda_of(backend), shape, zk_cuda_alloc_bytes((size_t)p->n_hints * sizeof(zk_fr)));
    zk_memory_plan_add(plan, "ranks of selections", 1, needs.selections > words ? needs.selections - words : 0);
    zk_memory_plan_add(plan, "workspaces beside rows", 1,
                       needs.least > needs.vectors ? needs.least - needs.vectors : 0);
}

unsigned zk_cuda_proof_vectors(const zk_backend *backend, const zk_proof_shape *shape) {
    const cuda_backend *cuda = cuda_of(backend);
    size_t tables, temporary, there = zk_cuda_bytes_limit(cuda->device);
    cuda_needs needs;
    for (const cuda_program *p = cuda->programs; p; p = p->next)
        if (p->base.program == shape->program && p->n_asked == shape->n_vectors) return p->n_vectors;
    zk_cuda_ntt_bytes(&tables, &temporary, shape->log2_n);
    tables += zk_cuda_program_bytes(shape->program, shape->log2_n);
    return needs_in(&needs, cuda, shape, zk_cuda_alloc_bytes((size_t)shape->program->n_hints * sizeof(zk_fr)),
                    there > tables ? there - tables : 0);
}

/* ---- where points lie ---- */

/* Of the points of a sum, or of signed sums of so many of them. */
static size_t points_bytes(const zk_proof_shape *shape, unsigned sum, unsigned together) {
    zk_group group = shape->sum[sum].group;
    size_t n = shape->sum[sum].n;
    return zk_cuda_alloc_bytes(together > 1 ? zk_cuda_signs_bytes((int)group, n, together)
                                            : n * cuda_point_bytes(group));
}

static size_t key_bytes(const zk_proof_shape *shape) {
    size_t bytes = 0;
    for (unsigned i = 0; i < shape->n_sums; i++) bytes += points_bytes(shape, i, 1);
    return bytes;
}

/* Additions of a masked sum, in those of G1. About half of the bits of long lists are set: 0.478 to 0.503 of those of
 * PoRep and empty sector updates; lists of the other circuits, 0.36 to 0.48, are short. */
static double additions(const zk_proof_shape *shape, unsigned sum, unsigned together) {
    const double in_g2 = 3.5;
    double weight = shape->sum[sum].group == ZK_G1 ? 1 : in_g2;
    return weight * (double)shape->sum[sum].n / (together > 1 ? together : 2);
}

/* Which lists of bit points become signed sums of how many: each time what saves most additions a byte. More than three
 * together save little, so that they may take half of what is left. */
static void choose_signs(unsigned together[ZK_PROOF_MAX_SUMS], const zk_proof_shape *shape, size_t room) {
    enum { USUAL = 3 };
    for (unsigned i = 0; i < shape->n_sums; i++) together[i] = 1;
    for (;;) {
        double best = 0;
        unsigned best_sum = 0, best_k = 0;
        for (unsigned i = 0; i < shape->n_sums; i++)
            for (unsigned k = together[i] < USUAL ? USUAL : together[i] + 1; k <= ZK_CUDA_SIGNS_MOST; k++) {
                if (!shape->sum[i].masked || !zk_cuda_signs_pay(shape->sum[i].n, k)) continue;
                size_t more = points_bytes(shape, i, k) - points_bytes(shape, i, together[i]);
                double saves = additions(shape, i, together[i]) - additions(shape, i, k);
                if (more > (k > USUAL ? room / 2 : room) || saves <= best * (double)more) continue;
                best = saves / (double)more;
                best_sum = i;
                best_k = k;
            }
        if (!best_k) return;
        room -= points_bytes(shape, best_sum, best_k) - points_bytes(shape, best_sum, together[best_sum]);
        together[best_sum] = best_k;
    }
}

/* Copies of bit points are never hidden behind the work on them, those of full points are: so bit points first, in the
 * order in which they come, then the smaller lists of full points. */
static void place_points(cuda_program *program, const zk_proof_shape *shape, const unsigned together[ZK_PROOF_MAX_SUMS],
                         size_t room) {
    bool seen[ZK_PROOF_MAX_SUMS] = {false};
    program->n_placed = 0;
    for (unsigned turn = 0; turn < shape->n_sums; turn++) {
        unsigned best = shape->n_sums;
        for (unsigned i = 0; i < shape->n_sums; i++) {
            if (seen[i]) continue;
            bool better = best == shape->n_sums || shape->sum[i].masked > shape->sum[best].masked ||
                          (!shape->sum[i].masked && !shape->sum[best].masked && shape->sum[i].n < shape->sum[best].n);
            if (better) best = i;
        }
        seen[best] = true;
        size_t bytes = points_bytes(shape, best, together[best]);
        if (bytes > room) continue;
        room -= bytes;
        program->placed[program->n_placed].name = shape->sum[best].name;
        program->placed[program->n_placed].together = together[best];
        program->placed[program->n_placed++].masked = shape->sum[best].masked;
    }
}

static cuda_program *find_program(const zk_resident_program *resident) {
    cuda_program *p = cuda_of(resident->backend)->programs;
    while (p && &p->base != resident) p = p->next;
    return p;
}

/* The large table of twiddles saves a twentieth of the quotient. It may take a quarter of what a proof and its key
 * leave: the rest makes the workspaces of a second prover, whose MSMs gain more from it. */
static cuzk_status make_twiddles(cuda_program *program, const zk_proof_shape *shape, cuzk_err *err) {
    const cuda_backend *cuda = cuda_of(program->base.backend);
    size_t bytes = zk_cuda_alloc_bytes(sizeof(zk_fr) << shape->log2_n), there = zk_cuda_bytes_in_a_row(cuda->device);
    size_t used = program->needs.selections + program->needs.kept + program->needs.best + key_bytes(shape);
    cuzk_err none = {0};
    if (program->twiddles || there < used || (there - used) / 4 < bytes) return CUZK_OK;
    cuzk_status status = zk_cuda_ntt_twiddles(&program->twiddles, cuda->device, shape->log2_n, &none);
    if (status == CUZK_OK || status == CUZK_OUT_OF_MEMORY) return CUZK_OK;
    if (err) *err = none;
    return status;
}

cuzk_status zk_cuda_proof_reserve(const zk_resident_program *resident, const zk_proof_shape *shape, cuzk_err *err) {
    cuda_backend *cuda = cuda_of(resident->backend);
    cuda_program *program = find_program(resident);
    if (!program) return ZK_FAIL(err, CUZK_INTERNAL, "circuit %s is not loaded", shape->program->name);
    size_t there = zk_cuda_bytes_in_a_row(cuda->device), turn = tables_in_turn(cuda);
    unsigned n_vectors =
        needs_in(&program->needs, cuda, shape, zk_cuda_witness_bytes(program->tables), there > turn ? there - turn : 0);
    program->n_asked = 0;
    ZK_TRY(make_twiddles(program, shape, err));
    const cuda_needs *needs = &program->needs;
    size_t held = needs->selections + needs->kept + turn;
    there = zk_cuda_bytes_in_a_row(cuda->device);
    if (there < held + needs->least)
        return ZK_FAIL(
            err, CUZK_OUT_OF_MEMORY,
            "circuit %s: a proof takes %zu bytes of device memory beside the key: %zu for selections and "
            "assignment, %zu for %u vectors of 2^%u or what takes their place; %s has %zu free in one piece, "
            "of %zu",
            shape->program->name, held + needs->least, held, needs->least, n_vectors, shape->log2_n,
            cuda->base.caps.device, there, zk_cuda_bytes_limit(cuda->device));
    /* Points are worth more than the last tenth of an MSM's speed. */
    size_t room = there - held - needs->least, points = key_bytes(shape);
    program->keep = points > room ? needs->least : zk_min_size(needs->best, needs->least + (room - points));
    /* Signed sums are worth less than the speed of the MSMs of two provers side by side. */
    size_t workspaces = zk_min_size(2 * needs->queue_best, needs->queue_best + 2 * needs->queue_own);
    size_t provers = zk_max_size(needs->best, 2 * needs->vectors + workspaces + needs->kept);
    unsigned together[ZK_PROOF_MAX_SUMS];
    choose_signs(together, shape, room + needs->least > points + provers ? room + needs->least - points - provers : 0);
    place_points(program, shape, together, there - held - program->keep);
    program->n_asked = shape->n_vectors;
    program->n_vectors = n_vectors;
    cuda->loading = program;
    return CUZK_OK;
}

size_t zk_cuda_keep_bytes(const cuda_backend *cuda) {
    size_t keep = cuda->loading ? cuda->loading->keep : 0;
    for (const cuda_program *p = cuda->programs; p; p = p->next) keep = zk_max_size(keep, p->needs.least);
    return keep + (cuda->loading ? cuda->loading->needs.kept : 0) + tables_in_turn(cuda);
}

bool zk_cuda_wants_points(unsigned *together, const cuda_backend *cuda, const char *name, bool masked) {
    const cuda_program *p = cuda->loading;
    *together = 1;
    if (!p) return true;
    for (unsigned i = 0; i < p->n_placed; i++) {
        if (p->placed[i].masked != masked || strcmp(p->placed[i].name, name) != 0) continue;
        *together = p->placed[i].together;
        return true;
    }
    return false;
}

/* ---- provers ---- */

cuzk_status zk_cuda_proof_check(const zk_resident_program *resident, size_t lent, cuzk_err *err) {
    cuda_backend *cuda = cuda_of(resident->backend);
    const cuda_program *program = find_program(resident);
    if (!program) return ZK_FAIL(err, CUZK_INTERNAL, "circuit %s is not loaded", resident->program->name);
    const cuda_needs *needs = &program->needs;
    bool alone = atomic_load(&cuda->n_streams) == 0;
    size_t piece = (alone ? needs->least : needs->queue_least) + tables_in_turn(cuda) + lent;
    size_t all = alone ? piece : needs->vectors + piece;
    size_t there = zk_cuda_bytes_in_a_row(cuda->device), free_bytes = zk_cuda_bytes_free(cuda->device);
    cuda->loading = NULL;
    if (there >= piece && free_bytes >= all) return CUZK_OK;
    return ZK_FAIL(
        err, CUZK_OUT_OF_MEMORY,
        "circuit %s: the stages of a proof take %zu bytes of device memory, %zu in one piece; %s has %zu free, "
        "%zu in one piece",
        resident->program->name, all, piece, cuda->base.caps.device, free_bytes, there);
}

cuzk_status zk_cuda_queue_bytes(size_t *bytes, size_t *common, const cuda_backend *cuda, cuzk_err *err) {
    size_t provers = 0, best = 0, least = 0, own = 0, there = zk_cuda_bytes_free(cuda->device);
    for (const cuda_program *p = cuda->programs; p; p = p->next) {
        provers = zk_max_size(provers, 2 * p->needs.vectors + p->needs.kept);
        best = zk_max_size(best, p->needs.queue_best);
        least = zk_max_size(least, p->needs.queue_least);
        own = zk_max_size(own, p->needs.queue_own);
    }
    size_t room = there > provers ? there - provers : 0;
    *common = 0;
    if (room / 2 < least)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY,
                       "stream: two provers side by side take %zu bytes and workspaces of %zu each, %zu are free",
                       provers, least, there);
    *bytes = zk_min_size(room / 2, best);
    if (*bytes < best && room > 2 * own && room - 2 * own > *bytes) {
        *bytes = own;
        *common = zk_min_size(room - 2 * own, best);
    }
    return CUZK_OK;
}
