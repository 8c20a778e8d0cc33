/*
 * Host side of row_simd_*.simt (Zubair, Bauinger: Sparse Matrix Kernels on Intel Max Series GPU), members are teams of
 * lanes.
 */
#include <stdio.h>

#include "base/papers.h"
#include "base/status.h"
#include "gpu/model.h"
#include "lab/gpu/methods.h"

enum { NT, VLC, TEAM_LANES };
enum { LANE_MOST = 16 /* reals of a vector */, MEMBERS_MOST = 16, GROUP_WANTED = 128 };

typedef struct simd_state {
    int64_t rows, group; /* rows and work-items of a group */
    int64_t slices;      /* parts of a row of C or E, along y */
} simd_state;

static int64_t piece_of(const tamis_problem *problem) { return 16 / (int64_t)tamis_type_size(problem->type); }

/* The most pieces of a vector that a lane holds. */
static int pieces_most(const tamis_prepared *p) {
    const int64_t pieces = LANE_MOST / piece_of(&p->problem);
    return pieces < 4 ? (int)pieces : 4;
}

/* As many lanes as the longer of the two rows has pieces. */
static int64_t lanes_of(const tamis_problem *problem) {
    const int64_t longer = problem->inner > problem->width ? problem->inner : problem->width;
    int64_t team = 8;
    while (team < 32 && team * piece_of(problem) < longer) team *= 2;
    return team;
}

/* The fewest members per row, up to 16, with which the last wave of members fills the device best. */
static int64_t members_of(const tamis_problem *problem, const tamis_gpu_device *device, int64_t team) {
    const double resident = (double)device->limits.multiprocessors * (double)device->limits.threads_most / (double)team;
    double best = 0;
    int64_t chosen = 1;
    for (int64_t nt = 1; nt <= MEMBERS_MOST && resident >= 1; nt *= 2) {
        const double waves = (double)problem->rows * (double)nt / resident;
        const double whole = (double)(int64_t)waves < waves ? (double)((int64_t)waves + 1) : (double)(int64_t)waves;
        const double occupancy = whole > 0 ? waves / whole : 0;
        if (occupancy > best * (1 + 1e-9)) {
            best = occupancy;
            chosen = nt;
        }
    }
    return chosen;
}

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)device;
    parameters[NT] = 0; /* by the paper's formula; one member per row if the row is the result */
    parameters[VLC] = 32;
    parameters[TEAM_LANES] = lanes_of(problem);
}

static bool can_shuffle(const tamis_prepared *p) { return p->device->limits.subgroup == 32; }

/* Sets the parameters, then groups of whole rows. If a team is a group, members are groups. */
static tamis_status choose(tamis_prepared *p) {
    simd_state *const s = p->state;
    int64_t *const v = p->parameters;
    if (p->problem.operation != TAMIS_OP_SDDMM) v[NT] = 1;
    if (v[NT] == 0) v[NT] = members_of(&p->problem, p->device, v[TEAM_LANES]);
    TRY(tamis_gpu_check_powers(p, NT, TEAM_LANES));
    const int64_t most = p->device->limits.group_most, wanted = most < GROUP_WANTED ? most : GROUP_WANTED;
    while (can_shuffle(p) && v[NT] > 1 && v[NT] * v[TEAM_LANES] > most) v[NT] /= 2;
    const int64_t row = v[NT] * v[TEAM_LANES];
    s->rows = can_shuffle(p) && row < wanted ? wanted / row : 1;
    s->group = can_shuffle(p) ? s->rows * row : v[TEAM_LANES];
    return TAMIS_OK;
}

/* `length`: elements of the rows whose vectors PIECES describes. */
static int define(const tamis_prepared *p, int64_t length, tamis_gpu_definitions *definitions) {
    const simd_state *const s = p->state;
    const int64_t *const v = p->parameters;
    tamis_gpu_define_problem(definitions, p, (int)s->group, (int)v[TEAM_LANES]);
    const int pieces = tamis_gpu_define_inner(definitions, p, length, (int)v[TEAM_LANES], pieces_most(p));
    tamis_gpu_define(definitions, "VLC", v[VLC]);
    tamis_gpu_define(definitions, "NT", v[NT]);
    tamis_gpu_define(definitions, "ROWS", s->rows);
    tamis_gpu_define(definitions, "SPREAD", !can_shuffle(p));
    return pieces;
}

/* Defines whether a row of A stays in registers, and how many vectors of B may be in flight with it: fewer long ones.
   `longest`: pieces per lane of the longest vector. */
static void define_vectors(const tamis_prepared *p, int pieces, int longest, tamis_gpu_definitions *definitions) {
    const int64_t piece = piece_of(&p->problem), vector = pieces * p->parameters[TEAM_LANES] * piece;
    tamis_gpu_define(definitions, "HELD", p->problem.inner <= vector);
    const int64_t lane = longest * piece * (int64_t)tamis_gpu_real_size(p->problem.type);
    tamis_gpu_define(definitions, "BATCH", lane > 32 ? 4 : 8);
}

static int64_t rows_of_grid(const tamis_prepared *p) {
    const int64_t rows = ((const simd_state *)p->state)->rows, groups = (p->problem.rows + rows - 1) / rows;
    return groups < p->device->limits.groups_most[0] ? groups : p->device->limits.groups_most[0];
}

/* ------------------------------------------------------------------------------------------ SDDMM */

static tamis_status prepare_sddmm(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(choose(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    const int pieces = define(p, p->problem.inner, &definitions);
    define_vectors(p, pieces, pieces, &definitions);
    return tamis_gpu_add_split_kernel(p, 0, "row_simd_sddmm.simt", "row_simd_sddmm", &definitions, 0);
}

static tamis_status launch(const tamis_prepared *p, void *stream, const tamis_operands *x, int64_t groups_y) {
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch grid = {.groups = {rows_of_grid(p), groups_y},
                                   .group_size = (int)((const simd_state *)p->state)->group};
    return tamis_gpu_launch_kernel(p, stream, 0, grid, &common, NULL);
}

static tamis_status execute_sddmm(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    return launch(p, stream, x, can_shuffle(p) ? 1 : p->parameters[NT]);
}

/* ------------------------------------------------------------------------------------------ SpMM and fused */

static bool nothing(const tamis_prepared *p) { return p->problem.rows == 0 || p->problem.width == 0; }

static void count_slices(tamis_prepared *p, int pieces) {
    const int64_t vector = pieces * p->parameters[TEAM_LANES] * piece_of(&p->problem);
    ((simd_state *)p->state)->slices = (p->problem.width + vector - 1) / vector;
}

static tamis_status prepare_spmm(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(choose(p));
    if (nothing(p)) return TAMIS_OK;
    const int pieces = define(p, p->problem.width, &definitions);
    count_slices(p, pieces);
    define_vectors(p, pieces, pieces, &definitions);
    return tamis_gpu_add_split_kernel(p, 0, "row_simd_spmm.simt", "row_simd_spmm", &definitions, 0);
}

static tamis_status execute_slices(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    return launch(p, stream, x, ((const simd_state *)p->state)->slices);
}

static tamis_status prepare_fused(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    int wide_pieces = 1;
    TRY(choose(p));
    if (nothing(p)) return TAMIS_OK;
    while (wide_pieces < pieces_most(p) &&
           (!can_shuffle(p) || wide_pieces * p->parameters[TEAM_LANES] * piece_of(&p->problem) < p->problem.width))
        wide_pieces *= 2;
    const int pieces = define(p, p->problem.inner, &definitions);
    define_vectors(p, pieces, pieces > wide_pieces ? pieces : wide_pieces, &definitions);
    count_slices(p, wide_pieces);
    tamis_gpu_define(&definitions, "WIDE_PIECES", wide_pieces);
    if (p->problem.keep_softmax) tamis_gpu_define(&definitions, "KEEP_SOFTMAX", 1);
    return tamis_gpu_add_split_kernel(p, 0, "row_simd_fused.simt", "row_simd_fused", &definitions, 0);
}

#define PARAMETERS                                                                                                     \
    {                                                                                                                  \
        {"nt", 0, 16}, {"vlc", 8, 32}, { "team", 4, 32 }                                                               \
    }

static const tamis_gpu_method sddmm = {
    .name = "esimd-row-simd",
    .parameters = PARAMETERS,
    .defaults = defaults,
    .prepare = prepare_sddmm,
    .execute = execute_sddmm,
    .state_bytes = sizeof(simd_state),
    .batches = true,
    .widens = true,
};

static const tamis_gpu_method spmm = {
    .name = "esimd-row-simd",
    .parameters = PARAMETERS,
    .defaults = defaults,
    .prepare = prepare_spmm,
    .execute = execute_slices,
    .state_bytes = sizeof(simd_state),
    .batches = true,
    .widens = true,
};

static const tamis_gpu_method fused = {
    .name = "esimd-row-simd",
    .parameters = PARAMETERS,
    .defaults = defaults,
    .prepare = prepare_fused,
    .execute = execute_slices,
    .state_bytes = sizeof(simd_state),
    .batches = true,
    .widens = true,
    .keeps = true,
};

/* Fitted on an H200, as src/gpu/fitted.c. */
static const struct {
    double times[3];  /* factor on the time of a row that is read, by operation */
    double sddmm_row; /* seconds per row of A, shared by each four nonzeros */
    double row;       /* SpMM and fused: seconds per row of the output */
    double begin[3];
} fitted = {.times = {1.45, 1.1, 1.4}, .sddmm_row = 5.5e-9, .row = 60e-12, .begin = {2e-6, 0, 6e-6}};

/* Groups take whole rows: fast if rows have similar lengths, and as slow as the longest row. */
static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    const double bytes = tamis_gpu_row_bytes(p), longest = tamis_gpu_chain(p, (double)p->evidence->profile.max, bytes);
    const double each = tamis_gpu_row_each(p, bytes) * fitted.times[p->operation];
    const double row =
        p->operation == TAMIS_OP_SDDMM ? fitted.sddmm_row / (1 + p->evidence->profile.mean / 4) : fitted.row;
    prediction->call_seconds =
        tamis_gpu_filling(p, (double)p->nnz * each + (double)p->rows * row) + longest + fitted.begin[p->operation];
    if (p->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "whole rows by groups: the longest (%lld nonzeros) takes %.3g ms by itself",
             (long long)p->evidence->profile.max, 1e3 * longest);
}

const tamis_gpu_algorithm tamis_esimd_row_simd = {
    .common.description =
        {
            .name = "esimd-row-simd",
            .device = "gpu",
            .operations = TAMIS_GPU_ALL,
            .source = PAPER_ESIMD ", s.3 and 4",
            .needs = "nothing",
            .when =
                "SpMM and fused of rows of similar length: several members of a group per row, chunks of nonzeros, explicit vectors",
            .parameters =
                "nt (0 to 16): members per row, 0 by the paper's occupancy; vlc (8 to 32): nonzeros per chunk; team (4 to 32): lanes per member",
        },
    .methods = {[TAMIS_OP_SDDMM] = &sddmm, [TAMIS_OP_SPMM] = &spmm, [TAMIS_OP_FUSED] = &fused},
    .predict = predict,
};
