/* Shared by the methods: choices, memory that a plan owns, and the split of the nonzeros among threads. */
#include "cpu/method.h"

#include "base/memory.h"
#include "base/status.h"
#include "sparse/structure.h"

tamis_status tamis_cpu_keep(tamis_prepared *p, int64_t count, size_t size, const char *what, void **memory) {
    TRY(tamis_allocate(count, size, what, memory));
    p->kept[p->kept_count++] = *memory;
    p->prepared_bytes += (size_t)count * size;
    return TAMIS_OK;
}

int64_t tamis_cpu_chunk_bytes(const tamis_prepared *p, int64_t reals) {
    return ((reals + 8) * p->kernels->real_bytes + 63) / 64 * 64;
}

/* ------------------------------------------------------------------------------------------ choices */

/* Chosen by trials on a core of family 25 with AVX-512 (lab/notes/cpu.md). */
static const struct {
    double bytes;              /* prefetch distance in bytes of rows of B: SpMM */
    double dot_bytes;          /* SDDMM and fused, which also read rows of A */
    double far_bytes;          /* if L3 does not hold B */
    double least, short_least; /* prefetch if new bytes of B exceed this multiple of L2; short rows */
    double short_row;          /* rows of fewer bytes are short, in SpMM */
    double same_least;         /* the multiple for fused with D = B and mostly new rows */
    double long_row;           /* SDDMM: the hardware's prefetcher follows rows of as many bytes */
} prefetch = {10240, 8192, 16384, 4, 6, 256, 1.5, 1024};

/* Shares of L3 that C or E, or both with B or D, must exceed for non-temporal stores. */
static const double stream_output = 0.25, stream_all = 0.5;

/* Prefetching rows that are already in cache costs up to a quarter of the rate; rows from memory gain as much or more
   (lab/notes/cpu.md). So the rule asks how many bytes of B are new. */
int64_t tamis_cpu_choose_prefetch(const tamis_problem *problem) {
    const bool spmm = problem->operation == TAMIS_OP_SPMM;
    const double row_bytes = (double)(spmm ? problem->width : problem->inner) * (double)tamis_type_size(problem->type);
    const double fresh = problem->evidence->fresh_share, all = (double)problem->cols * row_bytes;
    /* with D = B a nonzero waits for its row of B, so prefetching pays from a few L2 of random rows on */
    const bool random = problem->d_is_b && fresh >= 0.5;
    const double least = random                                   ? prefetch.same_least
                         : spmm && row_bytes < prefetch.short_row ? prefetch.short_least
                                                                  : prefetch.least;
    if (problem->operation == TAMIS_OP_SDDMM && row_bytes >= prefetch.long_row) return 0;
    if (fresh < 0.25 || fresh * all < least * (double)problem->evidence->cache_l2) return 0;
    const bool far = all > (double)problem->evidence->cache_l3;
    const double bytes = spmm ? prefetch.bytes : far && !problem->d_is_b ? prefetch.far_bytes : prefetch.dot_bytes;
    const int64_t ahead = row_bytes > 0 ? (int64_t)(bytes / row_bytes) : 0;
    const int64_t most = spmm ? 48 : 64;
    return ahead < 8 ? 8 : ahead > most ? most : ahead;
}

/* Nonzeros of a chunk. If D is B, few enough that L1 still has the rows the second time; otherwise enough that B and D
   alternate rarely. If L3 cannot hold both, a thread goes through B for all its nonzeros, and then through D. */
int64_t tamis_cpu_choose_chunk(const tamis_problem *problem, int64_t fused) {
    enum { LONGEST = 1 << 20 };
    if (problem->operation != TAMIS_OP_FUSED) return TAMIS_CPU_CHUNK;
    const double row_bytes = (double)(problem->inner + problem->width) * (double)tamis_type_size(problem->type);
    const bool beyond = (double)problem->cols * row_bytes > (double)problem->evidence->cache_l3;
    const int64_t share = problem->nnz / problem->threads, longest = share < LONGEST ? share : LONGEST;
    const int64_t apart = beyond && longest > fused ? longest : fused;
    const int64_t most = problem->d_is_b ? TAMIS_CPU_SAME_ROWS_CHUNK : apart;
    return problem->nnz < most ? problem->nnz + 8 : most;
}

/* See lab/notes/cpu.md. */
bool tamis_cpu_choose_stream(const tamis_problem *problem) {
    const double row_bytes = (double)problem->width * (double)tamis_type_size(problem->type);
    const double out = (double)problem->rows * row_bytes, all = out + (double)problem->cols * row_bytes;
    const double l3 = (double)problem->evidence->cache_l3;
    return problem->operation != TAMIS_OP_SDDMM && out > stream_output * l3 && all > stream_all * l3;
}

void tamis_cpu_walk_defaults(tamis_prepared *p) {
    p->parameters[TAMIS_CPU_WALK_PREFETCH] = p->job.prefetch;
    p->parameters[TAMIS_CPU_WALK_CHUNK] = p->job.chunk;
    p->parameters[TAMIS_CPU_WALK_STREAM] = p->job.stream;
}

tamis_status tamis_cpu_walk_prepare(tamis_prepared *p) {
    p->job.prefetch = p->parameters[TAMIS_CPU_WALK_PREFETCH];
    p->job.chunk = p->parameters[TAMIS_CPU_WALK_CHUNK];
    p->job.stream = p->parameters[TAMIS_CPU_WALK_STREAM] != 0;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ threads */

/* Where a range ends: before nonzero z, in rows before `row`. `cut`: row - 1 has nonzeros after z. */
typedef struct boundary {
    int64_t z, row;
    bool cut;
} boundary;

static boundary boundary_at(const tamis_problem *problem, int ranges, int range, int64_t longest_whole) {
    const int64_t z = tamis_partition_even(problem->nnz, ranges, range);
    if (range == ranges) return (boundary){problem->nnz, problem->rows, false};
    /* empty rows at a boundary belong to the later range */
    const int64_t row = tamis_index_first(problem->offsets, problem->offset_type, 0, problem->rows, z);
    const int64_t end = tamis_cpu_offset(problem, row);
    if (end == z || row == 0) return (boundary){z, row, false};
    const int64_t begin = tamis_cpu_offset(problem, row - 1);
    if (end - begin > longest_whole) return (boundary){z, row, true};
    return end - z <= z - begin ? (boundary){end, row, false} : (boundary){begin, row - 1, false};
}

void tamis_cpu_partition(const tamis_prepared *p, tamis_cpu_range *ranges) {
    enum { WAIT = 32 }; /* a row of less than 1 / WAIT of a thread's nonzeros is not cut: others wait little for it */
    const tamis_problem *const problem = &p->problem;
    const int count = tamis_cpu_range_count(p);
    boundary begin = {0, 0, false};
    for (int i = 0; i < count; i++) {
        const boundary end = boundary_at(problem, count, i + 1, problem->nnz / p->threads / WAIT);
        ranges[i] = (tamis_cpu_range){.nonzero_begin = begin.z,
                                      .nonzero_end = end.z,
                                      .row_begin = begin.cut ? begin.row - 1 : begin.row,
                                      .row_end = end.row,
                                      .head_cut = begin.cut,
                                      .tail_cut = end.cut};
        begin = end;
    }
}

void tamis_cpu_split_whole(const tamis_prepared *p, int64_t together, tamis_cpu_range *ranges) {
    const tamis_problem *const problem = &p->problem;
    const int count = tamis_cpu_range_count(p);
    tamis_cpu_partition(p, ranges);
    int64_t row = 0;
    for (int i = 0; i < count; i++) {
        const int64_t near = (ranges[i].row_end + together / 2) / together * together;
        const int64_t end = i + 1 == count || near > problem->rows ? problem->rows : near < row ? row : near;
        tamis_cpu_whole_rows(problem, row, end, &ranges[i]);
        row = end;
    }
}

void tamis_cpu_whole_rows(const tamis_problem *problem, int64_t begin, int64_t end, tamis_cpu_range *range) {
    range->head_cut = range->tail_cut = false;
    range->row_begin = begin;
    range->row_end = end;
    range->nonzero_begin = tamis_cpu_offset(problem, begin);
    range->nonzero_end = tamis_cpu_offset(problem, end);
}
