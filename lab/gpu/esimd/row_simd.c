/*
 * Host side of row_simd_*.simt (Zubair, Bauinger: Sparse Matrix Kernels on Intel Max Series GPU), members are teams of
 * lanes.
 */
#include <stdio.h>

#include "base/status.h"
#include "gpu/model.h"
#include "lab/gpu/methods.h"

enum { NT, VLC, TEAM_LANES };
enum { LANE_MOST = 16 /* reals of a vector */, MEMBERS_MOST = 16, GROUP_WANTED = 128 };

/* The most pieces of a vector that a lane holds. */
static int pieces_most(const tamis_prepared *p) {
    const int64_t pieces = LANE_MOST / tamis_gpu_piece(p->problem.type);
    return pieces < 4 ? (int)pieces : 4;
}

/* As many lanes as the longer of the two rows has pieces. */
static int64_t lanes_of(const tamis_problem *problem) {
    const int64_t longer = problem->inner > problem->width ? problem->inner : problem->width;
    int64_t team = 8;
    while (team < 32 && team * tamis_gpu_piece(problem->type) < longer) team *= 2;
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
static tamis_status choose(tamis_prepared *p, int64_t *rows) {
    int64_t *const v = p->parameters;
    if (p->problem.operation != TAMIS_OP_SDDMM) v[NT] = 1;
    if (v[NT] == 0) v[NT] = members_of(&p->problem, p->device, v[TEAM_LANES]);
    TRY(tamis_gpu_check_powers(p, NT, TEAM_LANES));
    const int64_t most = p->device->limits.group_most, wanted = tamis_gpu_min(most, GROUP_WANTED);
    while (can_shuffle(p) && v[NT] > 1 && v[NT] * v[TEAM_LANES] > most) v[NT] /= 2;
    const int64_t row = v[NT] * v[TEAM_LANES];
    *rows = can_shuffle(p) && row < wanted ? wanted / row : 1;
    p->launch.group_size = (int)(can_shuffle(p) ? *rows * row : v[TEAM_LANES]);
    return TAMIS_OK;
}

/* Pieces per lane of a vector of E, in the fused operation. */
static int wide_pieces_of(const tamis_prepared *p) {
    const int64_t one = p->parameters[TEAM_LANES] * tamis_gpu_piece(p->problem.type);
    int pieces = 1;
    while (pieces < pieces_most(p) && (!can_shuffle(p) || pieces * one < p->problem.width)) pieces *= 2;
    return pieces;
}

static tamis_status prepare(tamis_prepared *p) {
    const tamis_operation operation = p->problem.operation;
    const int64_t *const v = p->parameters, piece = tamis_gpu_piece(p->problem.type), one = v[TEAM_LANES] * piece;
    const int64_t width = p->problem.width, inner = p->problem.inner;
    int64_t rows = 1;
    tamis_gpu_definitions own = {.used = 0};
    TRY(choose(p, &rows));
    if (operation == TAMIS_OP_SDDMM ? p->problem.nnz == 0 : p->problem.rows == 0 || width == 0) return TAMIS_OK;
    const int pieces =
        tamis_gpu_define_inner(&own, p, operation == TAMIS_OP_SPMM ? width : inner, (int)v[TEAM_LANES], pieces_most(p));
    const int wide = operation == TAMIS_OP_FUSED ? wide_pieces_of(p) : pieces;
    const int64_t lane_bytes = tamis_gpu_max(pieces, wide) * piece * (int64_t)tamis_gpu_real_size(p->problem.type);
    const int64_t members = can_shuffle(p) ? 1 : v[NT];
    p->launch.groups[0] = tamis_gpu_min(tamis_gpu_ceiling(p->problem.rows, rows), p->device->limits.groups_most[0]);
    /* members, or parts of a row of C or E */
    p->launch.groups[1] = operation == TAMIS_OP_SDDMM ? members : tamis_gpu_ceiling(width, wide * one);
    tamis_gpu_define(&own, "ROWS", rows);
    tamis_gpu_define(&own, "SPREAD", !can_shuffle(p));
    /* a row of A stays in registers, and more or fewer vectors of B are in flight with it: fewer long ones */
    tamis_gpu_define(&own, "HELD", inner <= pieces * one);
    tamis_gpu_define(&own, "BATCH", lane_bytes > 32 ? 4 : 8);
    if (operation == TAMIS_OP_FUSED) tamis_gpu_define(&own, "WIDE_PIECES", wide);
    if (operation == TAMIS_OP_FUSED && p->problem.keep_softmax) tamis_gpu_define(&own, "KEEP_SOFTMAX", 1);
    return tamis_gpu_prepare_kernel(p, 0, p->launch.group_size, v[TEAM_LANES], &own);
}

/* The method of an operation, by its kernel. */
#define METHOD(kernel)                                                                                                 \
    &(const tamis_gpu_method) {                                                                                        \
        .name = "esimd-row-simd", .kernels = {{kernel ".simt", kernel, .split = true}},                                \
        .parameters = {{"nt", 0, 16}, {"vlc", 8, 32}, {"team", 4, 32}}, .defined = {[NT] = "NT", [VLC] = "VLC"},       \
        .defaults = defaults, .prepare = prepare, .execute = tamis_gpu_execute_prepared, .batches = true,              \
        .widens = true, .keeps = true                                                                                  \
    }

/* Fitted on an H200. */
static const struct {
    double times[3];  /* factor on the time of a row that is read, by operation */
    double sddmm_row; /* seconds per row of A, shared by each four nonzeros */
    double row;       /* SpMM and fused: seconds per row of the output */
    double begin[3];
} fitted = {.times = {0.95, 0.72, 0.92}, .sddmm_row = 5.5e-9, .row = 60e-12, .begin = {2e-6, 0, 6e-6}};

/* Groups take whole rows: fast if rows have similar lengths, and as slow as the longest row. */
static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    enum { CHUNK = 16 };
    const double bytes = tamis_gpu_row_bytes(p), longest = tamis_gpu_chain(p, (double)p->evidence->profile.max, CHUNK);
    const double each = tamis_gpu_row_each(p, bytes) * fitted.times[p->operation];
    const double row =
        p->operation == TAMIS_OP_SDDMM ? fitted.sddmm_row / (1 + p->evidence->profile.mean / 4) : fitted.row;
    prediction->call_seconds =
        tamis_gpu_launched(p, (double)p->nnz * each + (double)p->rows * row) + longest + fitted.begin[p->operation];
    if (p->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "whole rows by groups: the longest (%lld nonzeros) takes %.3g ms by itself",
             (long long)p->evidence->profile.max, 1e3 * longest);
}

const tamis_gpu_algorithm tamis_esimd_row_simd = {
    TAMIS_LAB_DESCRIBE(
        "esimd-row-simd", TAMIS_GPU_ALL, PAPER_ESIMD ", s.3 and 4", "nothing",
        "SpMM and fused of rows of similar length: several members of a group per row, chunks of nonzeros, explicit vectors",
        "nt (0 to 16): members per row, 0 by the paper's occupancy; vlc (8 to 32): nonzeros per chunk; team (4 to 32): lanes per member"),
    .methods = {[TAMIS_OP_SDDMM] = METHOD("row_simd_sddmm"),
                [TAMIS_OP_SPMM] = METHOD("row_simd_spmm"),
                [TAMIS_OP_FUSED] = METHOD("row_simd_fused")},
    .predict = predict,
};
