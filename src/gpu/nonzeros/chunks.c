/* Host side of chunks.simt: SpMM and fused in equal shares (merge path); rows that are cut are merged in order. */
#include "gpu/nonzeros/chunks.h"
#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/rows/cuts.h"

enum { TEAM_LANES, BATCH, LOADS, GROUP, ITEMS };
enum { MAIN, MERGE };                         /* kernels */
enum { TASK_SUMS = 1 };                       /* tasks of chunks.simt */
enum { ITEMS_LEAST = 64, ITEMS_MOST = 1024 }; /* rows and nonzeros of a chunk */

typedef struct chunks_state {
    int64_t chunks;
    int64_t out_span;      /* output columns of a team */
    void *starts;          /* int64, chunks + 1: the row in which each chunk begins */
    tamis_gpu_cuts chains; /* rows that are cut */
} chunks_state;

static bool is_fused(const tamis_prepared *p) { return p->problem.operation == TAMIS_OP_FUSED; }

static int64_t pieces_of(const tamis_problem *problem, int64_t elements) {
    const int64_t piece = 16 / (int64_t)tamis_type_size(problem->type);
    return (elements + piece - 1) / piece;
}

/* Lanes: as many as the wider of the two rows has pieces, up to a warp. Chunks: a few hundred per multiprocessor, but
   so long that partial rows are little traffic beside the inputs. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    const int64_t wider = problem->inner > problem->width ? problem->inner : problem->width;
    const int64_t piece = 16 / (int64_t)tamis_type_size(problem->type);
    const int64_t teams = (int64_t)device->limits.multiprocessors * 256;
    v[TEAM_LANES] = 4;
    while (v[TEAM_LANES] < 32 && v[TEAM_LANES] < pieces_of(problem, wider)) v[TEAM_LANES] *= 2;
    v[BATCH] = v[TEAM_LANES] < 8 ? 4 : 8;
    v[LOADS] = piece == 8 ? 2 : 4;
    v[GROUP] = device->limits.is_cpu ? 64 : 128;
    v[ITEMS] = (problem->nnz + problem->rows) / teams;
    if (v[ITEMS] < ITEMS_LEAST) v[ITEMS] = ITEMS_LEAST;
    if (v[ITEMS] > ITEMS_MOST) v[ITEMS] = ITEMS_MOST;
}

/* Defines WIDTH, WIDTH_PIECES and WIDTH_EXACT, a team's output columns; the analogues of K, PIECES and EXACT for dot
   products, except that WIDTH is only set if exact. */
static void define_width(tamis_gpu_definitions *definitions, tamis_prepared *p, int team, int pieces_most) {
    const int64_t piece = 16 / (int64_t)tamis_type_size(p->problem.type),
                  pieces = pieces_of(&p->problem, p->problem.width);
    const bool quick = tamis_gpu_compiles_fast(p);
    const int64_t lane = quick ? tamis_gpu_lane_pieces(pieces, team, pieces_most) : pieces_most;
    const bool exact = quick && p->problem.width % (team * piece * lane) == 0;
    tamis_gpu_define(definitions, "WIDTH", exact && p->problem.width <= 1024 ? p->problem.width : 0);
    tamis_gpu_define(definitions, "WIDTH_PIECES", lane);
    tamis_gpu_define(definitions, "WIDTH_EXACT", exact);
    ((chunks_state *)p->state)->out_span = team * lane * piece;
}

static tamis_status compile(tamis_prepared *p) {
    const int64_t *const v = p->parameters;
    const int team = (int)v[TEAM_LANES];
    const int64_t piece = 16 / (int64_t)tamis_type_size(p->problem.type);
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)v[GROUP], team);
    tamis_gpu_define_inner(&definitions, p, p->problem.inner, team, piece == 8 ? 2 : 4);
    define_width(&definitions, p, team, piece == 8 ? 1 : 2);
    tamis_gpu_define(&definitions, "BATCH", v[BATCH]);
    tamis_gpu_define(&definitions, "LOADS", v[LOADS]);
    tamis_gpu_define(&definitions, "TASK", TASK_SUMS);
    tamis_gpu_define(&definitions, "FUSED", is_fused(p));
    if (p->problem.keep_softmax) tamis_gpu_define(&definitions, "KEEP_SOFTMAX", 1);
    return tamis_gpu_add_split_kernel(p, MAIN, "chunks.simt", "chunks", &definitions, 0);
}

/* ------------------------------------------------------------------------------------------ the split */

static tamis_status launch_split(const tamis_prepared *p, const char *name, int64_t items,
                                 const tamis_gpu_named *arguments) {
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->problem.index_type, p->problem.offset_type};
    return tamis_gpu_utility(p->device, p->problem.stream, "chunks.simt", name, kinds, tamis_gpu_groups(items),
                             arguments);
}

static tamis_status split(tamis_prepared *p) {
    chunks_state *const s = p->state;
    TRY(tamis_gpu_add_kept(p, &s->starts, s->chunks + 1, 8, "the split into chunks"));
    return launch_split(
        p, "chunks_split", s->chunks + 1,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", p->problem.rows), tamis_gpu_integer("nnz", p->problem.nnz),
                            tamis_gpu_integer("items", p->parameters[ITEMS]),
                            tamis_gpu_integer("chunk_count", s->chunks),
                            tamis_gpu_memory("offsets", p->problem.offsets), tamis_gpu_memory("starts", s->starts)));
}

/* Finds chains on the host, from where the chunks begin: a chain is a row that is cut by chunk boundaries. */
static int64_t find_chains(const tamis_prepared *p, const int64_t *starts, const int64_t *row_begins, int64_t *chains) {
    const int64_t chunks = ((const chunks_state *)p->state)->chunks, items = p->parameters[ITEMS];
    int64_t count = 0;
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t row = starts[c + 1], t0 = c * items - starts[c], t1 = (c + 1) * items - row;
        if (c + 1 == chunks || row_begins[c + 1] >= t1 || row_begins[c + 1] < t0)
            continue; /* no row begins here and continues */
        int64_t last = c + 1;
        while (last + 1 < chunks && starts[last + 1] == row) last++;
        if (chains) {
            chains[3 * count] = c;
            chains[3 * count + 1] = last;
            chains[3 * count + 2] = row;
        }
        count++;
    }
    return count;
}

/* row_begins[c] = offsets[starts[c]], or nnz past the last row */
static tamis_status read_begins(const tamis_prepared *p, const int64_t *starts, int64_t *begins) {
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    const size_t size = tamis_index_size(problem->offset_type);
    void *offsets = NULL;
    TRY(tamis_allocate(problem->rows + 1, size, "a copy of the offsets", &offsets));
    TRY_GOTO(done, p->device->runtime->read(p->device, p->problem.stream, offsets,
                                            (tamis_place){(void *)(uintptr_t)problem->offsets, 0},
                                            (size_t)(problem->rows + 1) * size));
    for (int64_t c = 0; c <= ((const chunks_state *)p->state)->chunks; c++)
        begins[c] = size == 8 ? ((const int64_t *)offsets)[starts[c]] : ((const int32_t *)offsets)[starts[c]];
done:
    tamis_release(offsets);
    return status;
}

static tamis_status list_chains(tamis_prepared *p) {
    static const double USUAL = 1.2; /* ends of chunks in a row that is cut */
    tamis_status status = TAMIS_OK;
    chunks_state *const s = p->state;
    const tamis_gpu_runtime *const runtime = p->device->runtime;
    void *const stream = p->problem.stream;
    int64_t *starts = NULL, *begins = NULL, *chains = NULL;
    TRY_GOTO(done, tamis_allocate(s->chunks + 1, 8, "a copy of the split", (void **)&starts));
    TRY_GOTO(done, tamis_allocate(s->chunks + 1, 8, "beginnings of rows", (void **)&begins));
    TRY_GOTO(done, runtime->read(p->device, stream, starts, (tamis_place){s->starts, 0}, (size_t)(s->chunks + 1) * 8));
    TRY_GOTO(done, read_begins(p, starts, begins));
    const int64_t count = s->chains.count = find_chains(p, starts, begins, NULL);
    if (count == 0) goto done;
    s->chains.apart = (double)s->chunks > USUAL * (double)count;
    TRY_GOTO(done, tamis_allocate(3 * count, 8, "rows that are cut", (void **)&chains));
    find_chains(p, starts, begins, chains);
    TRY_GOTO(done, tamis_gpu_add_kept(p, &s->chains.rows, 3 * count, 8, "rows that are cut"));
    TRY_GOTO(done,
             runtime->write(p->device, stream, (tamis_place){s->chains.rows, 0}, chains, (size_t)(3 * count) * 8));
done:
    tamis_release(starts);
    tamis_release(begins);
    tamis_release(chains);
    return status;
}

/* For a single call: the list has a place for each chunk, filled on the device. */
static tamis_status list_unseen(tamis_prepared *p) {
    chunks_state *const s = p->state;
    TRY(tamis_gpu_add_kept(p, &s->chains.rows, 3 * s->chunks, 8, "rows that are cut"));
    s->chains.count = s->chunks;
    return launch_split(
        p, "chunks_chains", s->chunks,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", p->problem.rows), tamis_gpu_integer("nnz", p->problem.nnz),
                            tamis_gpu_integer("items", p->parameters[ITEMS]),
                            tamis_gpu_integer("chunk_count", s->chunks),
                            tamis_gpu_memory("offsets", p->problem.offsets), tamis_gpu_memory("starts", s->starts),
                            tamis_gpu_memory("chains", s->chains.rows)));
}

/* Bytes of two partial rows per chunk, with their softmax states. */
static int64_t scratch_of(const tamis_problem *problem, int64_t chunks) {
    return tamis_times(2 * chunks * (int64_t)tamis_gpu_real_size(problem->type), problem->width + 2);
}

/* A single call allocates, per chunk, partial rows, a start, and a place in the list. */
static tamis_call_bytes call_bytes(const tamis_problem *problem) {
    const int64_t item = (scratch_of(problem, 1) + 8 + 3 * 8 + ITEMS_LEAST - 1) / ITEMS_LEAST;
    return (tamis_call_bytes){.row = item, .entry = item};
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    chunks_state *const s = p->state;
    const int64_t total = p->problem.rows + p->problem.nnz;
    TRY(tamis_gpu_check_powers(p, TEAM_LANES, GROUP));
    if (v[LOADS] > v[BATCH]) v[LOADS] = v[BATCH];
    while (v[GROUP] > p->device->limits.group_most) v[GROUP] /= 2;
    const int64_t merged =
        TAMIS_GPU_MERGE_TEAM * tamis_gpu_merge_each(p->problem.width, tamis_gpu_real_size(p->problem.type));
    const int64_t slice = tamis_gpu_min(merged, v[TEAM_LANES] * 16 / (int64_t)tamis_type_size(p->problem.type));
    if (tamis_gpu_ceiling(p->problem.width, slice) > p->device->limits.groups_most[1])
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "width = %lld is more than gpu-nonzeros takes on %s: %lld",
                          (long long)p->problem.width, p->device->limits.name,
                          (long long)(p->device->limits.groups_most[1] * slice));
    if (v[GROUP] < v[TEAM_LANES] || p->device->limits.subgroup != 32) v[GROUP] = v[TEAM_LANES]; /* ONE_TEAM of simt.h */
    s->chunks = (total + v[ITEMS] - 1) / v[ITEMS];
    p->scratch_bytes = (size_t)scratch_of(&p->problem, s->chunks);
    if (p->problem.rows == 0 || p->problem.width == 0) return TAMIS_OK;
    TRY(compile(p));
    TRY(split(p));
    s->chains.chains = true;
    TRY(p->problem.once ? list_unseen(p) : list_chains(p));
    return tamis_gpu_cuts_add_merge(p, MERGE, &s->chains, is_fused(p) && p->problem.edge == TAMIS_EDGE_SOFTMAX, 2);
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status sum(const tamis_prepared *p, void *stream, const tamis_operands *x,
                        const tamis_gpu_common *common) {
    const chunks_state *const s = p->state;
    const int64_t teams = p->parameters[GROUP] / p->parameters[TEAM_LANES];
    const tamis_gpu_launch launch = {
        .groups = {(s->chunks + teams - 1) / teams, (p->problem.width + s->out_span - 1) / s->out_span},
        .group_size = (int)p->parameters[GROUP]};
    return tamis_gpu_launch_kernel(p, stream, MAIN, launch, common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("items", p->parameters[ITEMS]),
                                                       tamis_gpu_integer("chunk_count", s->chunks),
                                                       tamis_gpu_memory("starts", s->starts),
                                                       tamis_gpu_place("partials", x->scratch)));
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    tamis_operands y = *x;
    if (!is_fused(p)) y.d = x->b; /* the rows to sum: D for fused, B for SpMM */
    const tamis_gpu_common common = tamis_gpu_common_of(p, &y);
    TRY(sum(p, stream, x, &common));
    return tamis_gpu_cuts_merge(p, stream, MERGE, &common, &((const chunks_state *)p->state)->chains, x->scratch);
}

#define METHOD                                                                                                         \
    .name = "gpu-nonzeros",                                                                                            \
    .parameters = {{"team", 4, 32}, {"batch", 4, 8}, {"loads", 1, 8}, {"group", 32, 1024}, {"items", 4, 1 << 20}},     \
    .defaults = defaults, .prepare = prepare, .execute = execute, .call_bytes = call_bytes,                            \
    .state_bytes = sizeof(chunks_state), .batches = true, .widens = true

const tamis_gpu_method tamis_gpu_spmm_chunks = {METHOD};
const tamis_gpu_method tamis_gpu_fused_chunks = {METHOD, .keeps = true};
