/* Static masks and the compaction of assignments by them. */
#include "backend/cpu_impl.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/bytes.h"

cuzk_status zk_cpu_mask_init(cpu_mask *mask, const uint64_t *words, size_t n_bits, cuzk_err *err) {
    *mask = (cpu_mask){.n_bits = n_bits, .n_words = (n_bits + 63) / 64};
    mask->n_blocks = (mask->n_words + CPU_BLOCK_WORDS - 1) / CPU_BLOCK_WORDS;
    mask->words = zk_malloc(mask->n_words * sizeof *mask->words);
    mask->rank = zk_malloc((mask->n_blocks + 1) * sizeof *mask->rank);
    if (!mask->words || !mask->rank) {
        zk_cpu_mask_clear(mask);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "mask over %zu variables: out of memory", n_bits);
    }
    if (mask->n_words) memcpy(mask->words, words, mask->n_words * sizeof *words);
    if (n_bits % 64) mask->words[mask->n_words - 1] &= (UINT64_C(1) << n_bits % 64) - 1;
    for (size_t block = 0; block < mask->n_blocks; block++) {
        mask->rank[block] = mask->n_set;
        size_t end = zk_min_size((block + 1) * CPU_BLOCK_WORDS, mask->n_words);
        for (size_t i = block * CPU_BLOCK_WORDS; i < end; i++)
            mask->n_set += (size_t)__builtin_popcountll(mask->words[i]);
    }
    mask->rank[mask->n_blocks] = mask->n_set;
    return CUZK_OK;
}

void zk_cpu_mask_clear(cpu_mask *mask) {
    free(mask->words);
    free(mask->rank);
    *mask = (cpu_mask){0};
}

cuzk_status zk_cpu_selection_create(zk_selection **selection, zk_backend *backend, const uint64_t *bit_mask,
                                    size_t n_aux, const uint64_t *full_mask, size_t n_values, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    cpu_selection *s = zk_calloc(1, sizeof *s);
    if (!s) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "selection: out of memory");
    s->base.backend = backend;
    ZK_GOTO(zk_cpu_mask_init(&s->bit, bit_mask, n_aux, err));
    ZK_GOTO(zk_cpu_mask_init(&s->full, full_mask, n_values, err));
    s->base.n_aux = n_aux;
    s->base.n_values = n_values;
    s->base.n_bits = s->bit.n_set;
    s->base.n_full = s->full.n_set;
    zk_bitmap_count(s->full.words, n_values, &s->base.full_is_range, &s->base.full_first);
    *selection = &s->base;
    s = NULL;
out:
    if (s) zk_cpu_selection_destroy(&s->base);
    return status;
}

void zk_cpu_selection_destroy(zk_selection *selection) {
    cpu_selection *s = (cpu_selection *)selection;
    zk_cpu_mask_clear(&s->bit);
    zk_cpu_mask_clear(&s->full);
    free(s);
}

/* ---- bits ---- */

uint64_t zk_cpu_pext_portable(uint64_t word, uint64_t mask) {
    uint64_t r = 0;
    for (unsigned at = 0; mask; at++, mask &= mask - 1) r |= (word >> __builtin_ctzll(mask) & 1) << at;
    return r;
}

/* Appends fields of bits to a bitmap. The first and the last word may be shared with other threads. */
typedef struct bit_writer {
    uint64_t *out; /* word in progress */
    uint64_t word;
    unsigned n;  /* bits in it */
    bool shared; /* it began inside a word that somebody else begins */
} bit_writer;

static inline void bit_writer_put(bit_writer *w, uint64_t bits, unsigned n) {
    w->word |= bits << w->n;
    if (w->n + n < 64) {
        w->n += n;
        return;
    }
    if (w->shared) {
        atomic_fetch_or_explicit((_Atomic uint64_t *)w->out, w->word, memory_order_relaxed);
        w->shared = false;
    } else {
        *w->out = w->word;
    }
    w->out++;
    unsigned used = 64 - w->n;
    w->word = used < 64 ? bits >> used : 0;
    w->n = n - used;
}

static inline void bit_writer_flush(bit_writer *w) {
    if (w->n) atomic_fetch_or_explicit((_Atomic uint64_t *)w->out, w->word, memory_order_relaxed);
}

static inline bit_writer bit_writer_at(uint64_t *out, size_t position) {
    unsigned n = (unsigned)(position % 64);
    return (bit_writer){.out = out + position / 64, .n = n, .shared = n != 0};
}

static void compact_portable(uint64_t *out, const cpu_mask *mask, const uint64_t *words, size_t first, size_t last) {
    bit_writer w = bit_writer_at(out, mask->rank[first]);
    size_t end = zk_min_size(last * CPU_BLOCK_WORDS, mask->n_words);
    for (size_t i = first * CPU_BLOCK_WORDS; i < end; i++) {
        uint64_t m = mask->words[i];
        if (m) bit_writer_put(&w, zk_cpu_pext_portable(words[i], m), (unsigned)__builtin_popcountll(m));
    }
    bit_writer_flush(&w);
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("bmi2,popcnt"))) static void compact_bmi2(uint64_t *out, const cpu_mask *mask,
                                                                const uint64_t *words, size_t first, size_t last) {
    bit_writer w = bit_writer_at(out, mask->rank[first]);
    size_t end = zk_min_size(last * CPU_BLOCK_WORDS, mask->n_words);
    for (size_t i = first * CPU_BLOCK_WORDS; i < end; i++) {
        uint64_t m = mask->words[i];
        if (m) bit_writer_put(&w, _pext_u64(words[i], m), (unsigned)__builtin_popcountll(m));
    }
    bit_writer_flush(&w);
}

bool zk_cpu_pext_bmi2_usable(void) { return __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"); }
#else
static void compact_bmi2(uint64_t *out, const cpu_mask *mask, const uint64_t *words, size_t first, size_t last) {
    compact_portable(out, mask, words, first, last);
}

bool zk_cpu_pext_bmi2_usable(void) { return false; }
#endif

void zk_cpu_compact_blocks(uint64_t *out, const cpu_mask *mask, const uint64_t *words, size_t first, size_t last,
                           bool bmi2) {
    (bmi2 ? compact_bmi2 : compact_portable)(out, mask, words, first, last);
}

typedef struct compact_job {
    const cpu_mask *mask;
    const void *in;
    void *out;
    bool bmi2;
} compact_job;

static void compact_bits_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const compact_job *job = ctx;
    (void)thread;
    zk_cpu_compact_blocks(job->out, job->mask, job->in, begin, end, job->bmi2);
}

cuzk_status zk_cpu_compact_bits(zk_stream *stream, const zk_selection *selection, const zk_buffer *bits, zk_buffer *out,
                                cuzk_err *err) {
    const cpu_mask *mask = &((const cpu_selection *)selection)->bit;
    compact_job job = {mask, bits->host, out->host, zk_cpu_pext_bmi2_usable()};
    (void)stream, (void)err;
    if (mask->n_set) memset(out->host, 0, (mask->n_set + 63) / 64 * 8);
    zk_pool_for(zk_cpu_pool(selection->backend), mask->n_blocks, 64, compact_bits_range, &job);
    return CUZK_OK;
}

/* ---- full values ---- */

static void compact_full_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const compact_job *job = ctx;
    const zk_fr *in = job->in;
    zk_fr *out = (zk_fr *)job->out + job->mask->rank[begin];
    size_t last = zk_min_size(end * CPU_BLOCK_WORDS, job->mask->n_words);
    (void)thread;
    for (size_t i = begin * CPU_BLOCK_WORDS; i < last; i++)
        for (uint64_t m = job->mask->words[i]; m; m &= m - 1) *out++ = in[i * 64 + (size_t)__builtin_ctzll(m)];
}

cuzk_status zk_cpu_compact_full(zk_stream *stream, const zk_selection *selection, const zk_buffer *full, zk_buffer *out,
                                cuzk_err *err) {
    const cpu_mask *mask = &((const cpu_selection *)selection)->full;
    compact_job job = {.mask = mask, .in = full->host, .out = out->host};
    (void)stream, (void)err;
    zk_pool_for(zk_cpu_pool(selection->backend), mask->n_blocks, 4, compact_full_range, &job);
    return CUZK_OK;
}
