/* Host side of one_pass.simt: fused with D = B; each row of B is read once. */
#include <math.h>
#include <stdio.h>

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/model.h"
#include "gpu/rows/cuts.h"

enum { TEAM_LANES, BATCH, GROUP, LIMIT, ORDERED };
enum { SUMS, MERGE }; /* kernels */
enum { LANES_MOST = 32, REALS_MOST = 16 /* a lane's part of a row */ };

typedef struct one_pass_state {
    tamis_gpu_cuts cuts;
} one_pass_state;

static int64_t piece_of(const tamis_problem *problem) { return 16 / (int64_t)tamis_type_size(problem->type); }

/* Most pieces of 16 bytes per lane of a row: registers hold BATCH + 2 of them. */
static int64_t pieces_most_of(const tamis_problem *problem) {
    return (problem->type == TAMIS_F64 ? REALS_MOST / 2 : REALS_MOST) / piece_of(problem);
}

static int64_t widest(const tamis_problem *problem) { return LANES_MOST * pieces_most_of(problem) * piece_of(problem); }

/* ------------------------------------------------------------------------------------------ choosing */

/* Lanes of a row: one piece each up to sixteen lanes, two each up to twice as many pieces, since an exchanged value
   then serves two loads; a full warp for longer rows. */
static int64_t usual_team(const tamis_problem *problem) {
    enum { LANES_USUAL = 16, PIECES_USUAL = 2 };
    const int64_t across = tamis_gpu_ceiling(problem->inner, piece_of(problem));
    int64_t team = 4;
    while (team < LANES_USUAL && team < across) team *= 2;
    return across > PIECES_USUAL * team ? LANES_MOST : team;
}

/* Pieces per lane; rounded to one of two numbers if compilation is slow. */
static int64_t lane_pieces(const tamis_prepared *p) {
    enum { FEW = 2 };
    const tamis_problem *const problem = &p->problem;
    const int64_t across = tamis_gpu_ceiling(problem->inner, piece_of(problem));
    const int64_t pieces = across > 0 ? tamis_gpu_ceiling(across, p->parameters[TEAM_LANES]) : 1,
                  most = pieces_most_of(problem);
    if (tamis_gpu_compiles_fast(p)) return pieces;
    return pieces <= FEW ? tamis_gpu_min(FEW, most) : most;
}

/* Rows of B in flight take 32 registers of a work-item, or 64 if they are long. */
static int64_t usual_batch(const tamis_problem *problem, int64_t team) {
    enum { SHORT = 6 /* nonzeros of a row */, REALS_FEW = 4 };
    const int64_t piece = piece_of(problem),
                  lane = tamis_gpu_ceiling(tamis_gpu_ceiling(problem->inner, piece), team) * piece;
    return lane > REALS_FEW || team < 8 || problem->evidence->profile.mean < SHORT ? 4 : 8;
}

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    v[TEAM_LANES] = usual_team(problem);
    v[BATCH] = usual_batch(problem, v[TEAM_LANES]);
    v[GROUP] = device->limits.is_cpu ? 64 : 128;
    v[LIMIT] = tamis_gpu_cuts_limit(problem, v[TEAM_LANES]);
    v[ORDERED] = tamis_gpu_cuts_ordered(problem);
}

static bool also(const tamis_problem *problem, char *reason, size_t bytes) {
    if (!problem->d_is_b) {
        snprintf(reason, bytes, "it multiplies with the rows of B that it has: it needs options.d_is_b");
        return false;
    }
    if (problem->inner > widest(problem)) {
        snprintf(reason, bytes, "K = %lld: registers hold rows of up to %lld", (long long)problem->inner,
                 (long long)widest(problem));
        return false;
    }
    return true;
}

static tamis_status check(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    TRY(tamis_gpu_check_powers(p, TEAM_LANES, GROUP));
    while (v[TEAM_LANES] < LANES_MOST &&
           tamis_gpu_ceiling(p->problem.inner, v[TEAM_LANES] * piece_of(&p->problem)) > pieces_most_of(&p->problem))
        v[TEAM_LANES] *= 2;
    if (v[BATCH] > v[TEAM_LANES]) v[BATCH] = v[TEAM_LANES];
    while (v[GROUP] > p->device->limits.group_most) v[GROUP] /= 2;
    if (v[GROUP] < v[TEAM_LANES] || p->device->limits.subgroup != 32) v[GROUP] = v[TEAM_LANES]; /* ONE_TEAM of simt.h */
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile_sums(tamis_prepared *p) {
    const int64_t *const v = p->parameters;
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)v[GROUP], (int)v[TEAM_LANES]);
    tamis_gpu_define_inner(&definitions, p, p->problem.inner, (int)v[TEAM_LANES], (int)lane_pieces(p));
    tamis_gpu_define(&definitions, "BATCH", v[BATCH]);
    tamis_gpu_define(&definitions, "ORDERED", v[ORDERED]);
    tamis_gpu_define(&definitions, "SOFTMAX", p->problem.edge == TAMIS_EDGE_SOFTMAX);
    if (p->problem.keep_softmax) tamis_gpu_define(&definitions, "KEEP_SOFTMAX", 1);
    if (tamis_gpu_cuts_counted(p, v[LIMIT])) tamis_gpu_define(&definitions, "COUNTED", 1);
    return tamis_gpu_add_split_kernel(p, SUMS, "one_pass.simt", "one_pass_sums", &definitions, 0);
}

static tamis_call_bytes call_bytes(const tamis_problem *problem) {
    return problem->d_is_b ? tamis_gpu_cuts_call_bytes(problem, problem->inner + 2) : (tamis_call_bytes){0, 0};
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    one_pass_state *const s = p->state;
    const bool cuts = tamis_gpu_cuts_any(p, v[LIMIT]);
    if (!cuts && p->problem.may_guess) v[LIMIT] = 1 << 30; /* the longest row is not known: no row is cut */
    TRY(check(p));
    if (cuts)
        p->scratch_bytes = tamis_bytes(tamis_times(tamis_gpu_cuts_pieces_most(p, v[LIMIT]), p->problem.inner + 2),
                                       tamis_gpu_real_size(p->problem.type));
    if (p->problem.rows == 0 || p->problem.inner == 0) return TAMIS_OK;
    TRY(compile_sums(p)); /* compiles while the lists are built */
    TRY(tamis_gpu_cuts_make(p, v[LIMIT], v[ORDERED], &s->cuts));
    return tamis_gpu_cuts_add_merge(p, MERGE, &s->cuts, p->problem.edge == TAMIS_EDGE_SOFTMAX, 2);
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_gpu_cuts *const cuts = &((const one_pass_state *)p->state)->cuts;
    const int64_t *const v = p->parameters;
    const int64_t groups = tamis_gpu_ceiling(cuts->pieces + p->problem.rows, v[GROUP] / v[TEAM_LANES]);
    const size_t size = tamis_type_size(p->problem.output_type), unit = (size_t)p->unit * size;
    const int whole = tamis_gpu_aligned(p->device, &x->out, size, unit < 16 ? unit : 16) ? 4 : 0;
    const tamis_gpu_launch launch = {.groups = {tamis_gpu_min(groups, p->device->limits.groups_most[0]), 1},
                                     .group_size = (int)v[GROUP]};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.wide |= whole;
    TRY(tamis_gpu_launch_kernel(
        p, stream, SUMS, launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("pieces", cuts->pieces),
                            tamis_gpu_place("pieces_counted", tamis_gpu_cuts_counted_pieces(p, cuts)),
                            tamis_gpu_integer("limit", v[LIMIT]), tamis_gpu_memory("piece_rows", cuts->piece_rows),
                            tamis_gpu_memory("order", cuts->order), tamis_gpu_place("partials", x->scratch))));
    return tamis_gpu_cuts_merge(p, stream, MERGE, &common, cuts, x->scratch);
}

static const tamis_gpu_method method = {
    .name = "gpu-one-pass",
    .parameters = {{"team", 4, 32}, {"batch", 4, 8}, {"group", 32, 1024}, {"limit", 1, 1 << 30}, {"order", 0, 1}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .call_bytes = call_bytes,
    .state_bytes = sizeof(one_pass_state),
    .batches = true,
    .widens = true,
    .keeps = true,
};

/* ------------------------------------------------------------------------------------------ the table's row */

/* Predicted as gpu-rows, with its own fitted cost of a nonzero. */
static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    static const double both = 4.0 / 3; /* a byte is multiplied twice, and read once */
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double bytes = (double)p->inner * (double)tamis_type_size(p->type);
    const double limit = (double)tamis_gpu_cuts_limit(p, usual_team(p));
    const double longest = fmin((double)p->evidence->profile.max, limit);
    const double softmax = p->edge == TAMIS_EDGE_SOFTMAX ? f->softmax_ps : 0;
    const double seconds =
        (double)p->nnz * tamis_gpu_issue(p, tamis_gpu_nonzero_ps(p, f->dot_ps, both * bytes) + softmax);
    const bool cuts = (double)p->evidence->profile.max > limit, ordered = p->evidence->profile.variation > 0.5;
    const double sums = cuts ? 2 * (double)p->nnz / limit * (double)p->inner * 4 : 0;
    prediction->call_seconds =
        fmax(tamis_gpu_launched(p, seconds), tamis_gpu_chain(p, longest, usual_batch(p, usual_team(p)))) +
        (cuts ? f->launch + sums / tamis_gpu_gather_rate(p, sums) : 0);
    prediction->setup_seconds = cuts || ordered ? f->order + (double)p->rows * f->order_row : 0;
    if (p->once) return; /* single calls report no reason */
    snprintf(
        prediction->reason, sizeof prediction->reason,
        "D is B: one row of %.3g bytes a nonzero for both products; rows of more than %.0f nonzeros in pieces: the "
        "longest has %lld",
        bytes, limit, (long long)p->evidence->profile.max);
}

const tamis_gpu_algorithm tamis_gpu_one_pass = {
    .common.description =
        {
            .name = "gpu-one-pass",
            .device = "gpu",
            .operations = TAMIS_GPU_FUSED,
            .source = "ours",
            .needs =
                "D that is B (options.d_is_b, or one call); K up to 512, fp64 256; lists of cut rows and an order of the rows, built by the plan on the device; scratch for the sums of pieces",
            .when =
                "factorisations, topic models, attention whose values are its keys: each row of B is read once, for the dot product and for the sum",
            .parameters =
                "team (4 to 32): lanes per row; batch (4, 8): rows of B in flight and reduced at once; group (32 to 1024): work-items; limit: nonzeros from which a row is cut; order (0, 1): rows by falling length, of at most 2^31 - 1 rows and nonzeros",
        },
    .methods = {[TAMIS_OP_FUSED] = &method},
    .predict = predict,
    .also = also,
};
