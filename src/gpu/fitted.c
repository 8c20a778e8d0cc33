/* Table of fitted numbers. To add a chip, fit its numbers to measurements with --algorithm all and add a row here. */
#include "gpu/fitted.h"

#include <string.h>

#include "gpu/runtime/runtime.h"

static const tamis_gpu_fitted h200 = {
    /* Fitted on 2026-11-21 (driver and NVRTC 13.0) to the cases of lab/results/nvidia-h200 and of lab/notes;
       SDDMM of gpu-nonzeros and gpu-panels again on 2026-11-24, as gpu-tensor below. */
    .chip = "NVIDIA H200",
    .l2_gbs = 8000,
    .launch = 5e-6,
    .alone = 4e-6,
    .sparse_times = 4,
    .row = {3.3, 0.0722},   /* 13.9 TB/s; the probe's L1 reads 13.2 */
    .halves = 1.38,         /* fitted on 2026-11-23: gpu-rows 1.27 to 1.62 on five matrices, gpu-nonzeros 1.2 to 1.6 */
    .seen_byte_ps = 0.0702, /* 14.2 TB/s */
    .beyond_share = 0.68,
    .chain = {20e3, 90},
    .nonzeros = {.issue = {5.1, 0.0615},
                 .issue_new_ps = 1.3,
                 .l1_byte_ps = 0.0615, /* 16.3 TB/s; new ones 8.8 */
                 .l1_byte_new_ps = 0.0527,
                 .a_byte_ps = 0.15,
                 .value_ps = 0.45,
                 .wide = 1.2,
                 .wide_bytes = 2048,
                 .beyond_share = 0.3,
                 .begin = 4e-6, /* on an H100 on 2026-11-25, as the next three: 34 matrices, K of 32 and 128 */
                 .times = {1, 2.0, 2.2},
                 .sums = 18e-6,
                 .merge = 2e-6},
    .panels = {.issue = {3.6, 0.0505}, /* 20 TB/s out of shared memory */
               .gather_byte_ps = 0.25,
               .a_byte_ps = 0.033,
               .value_ps = 1.4,
               .steps = 1.5,
               .busy = 0.91,
               .uneven = 0.25,
               .waits = 2.2,
               .begin = 1e-6},
    .cells = {.fixed = 0.6e-3, .nonzero_ps = 550},
    /* Fitted on an H100 on 2026-11-26 to widths of 32 and 128 on 16 matrices of 1.2 to 36 million nonzeros: within 9 %
       (rms). */
    .rows = {.nonzero = {2.43, 0.0413}, /* 24 TB/s */
             .new_share = 0.56,
             .beyond_share = 0.45,
             .unlike = 0.48,
             .row_ps = 41,
             .merge = 5e-6,
             .order = 0.1e-3,
             .order_row = 1e-9},
    /* Fitted on an H100 on 2026-11-26 to widths of 32 and 128 on 34 matrices: within 12 % (rms). */
    .teams = {.begin = 4.1e-6,
              .times = 0.99,
              .even = 1.0,
              .longs = 1.28,
              .large = 1.11,
              .hubs = 1.15,
              .whole = {1.06, 0.95},
              .chain = 0.63,
              .group = 256},
    /* As gpu-teams, to K = L of 32 and 128: within 14 % (rms). */
    .fused_teams = {.one_ps = 1.02,
                    .byte_ps = 0.0471,
                    .byte_new_ps = 0.0638,
                    .alone = 0.3,
                    .row_byte_ps = 0.26,
                    .beyond_share = 0.29,
                    .chain = 0.173,
                    .large = 1.07},
    /* On the H100 as well: graphs take longer than their steps at K = 128. */
    .two_steps_apart = 1.08,
    /* Derived, not fitted; twelve predictions were 0.92 to 1.43 of what was measured on 2026-11-23. `nonzero` is that
       of SDDMM by gpu-nonzeros, since loads dominate, plus the issue slots for exchanging a weight and one more
       multiplication; rows as in gpu-rows, and the same again for a row of A; one exponential each. */
    .one_pass = {.nonzero = {5.5, 0.064}, .softmax_ps = 2, .row_ps = 100, .row_lane_ps = 15},
    /* Derived from counted instructions, not fitted: 13 of a warp for a nonzero and 15 for a column of 256 numbers, of
       which the device issues 900 in a nanosecond. Decoding took 0.89 to 0.99 of this on an H100 on 2026-11-26, except
       for calls so short that host time dominated. */
    .long_rows =
        {.row = {2, 0.048}, .column = {3, 0.054}, .memory = 1.15, .step = 0.9e-6, .merge = 4e-6, .lists = 0.1e-3},
    .tensor = {.cell_ps = 14.8e3, .cell_column_ps = 626, .tf32 = 0.5, .nonzero_ps = 2.85, .begin = 6e-6},
    .mma = 1.26, /* on an H100: 30 cases of SpMM, SDDMM of 16 bits and attention, 0.98 to 2.0 */
    /* Fitted on 2026-11-25 to K of 32 to 256 on 13 matrices 1 to 30 % full: meshes, gene networks and documents. Within
       5 and 2.5 % (rms). value_ps and highs were fitted to K = 32 and 128 on three of them. */
    .wgmma = {{.cell_ps = 7700,
               .cell_column_ps = 117,
               .wide = 1.06,
               .gathered = 1.23,
               .split = 1.18,
               .nonzero_ps = 1.24,
               .value_ps = 2.4,
               .begin = 1.7e-6, /* this and the next on an H100 */
               .highs = 0.4},
              {.cell_ps = 1040,
               .cell_column_ps = 68,
               .wide = 1,
               .gathered = 1,
               .split = 1.18,
               .nonzero_ps = 2.65,
               .value_ps = 1.9,
               .begin = 1.7e-6,
               .highs = 0.5}},
    /* Fitted on 2026-11-22 to widths of 32 to 256 on 17 matrices, with gpu-rows' `nonzero`; `highs` on 2026-11-23 to
       widths of 32 and 128 on five. */
    .spmm_wgmma = {.cell_ps = 13.2e3,
                   .cell_column_ps = 88,
                   .nonzero_ps = 3.5,
                   .panel_ps = 40e3,
                   .highs = 0.8,
                   .gathered = 1.5,
                   .begin = 22e-6},
    /* Fitted on 2026-11-23 to K = L of 32, 64 and 128: matrices 3 to 30 % full, windows, R-MAT, a mesh, 16 heads. */
    .fused_wgmma = {.cell_ps = 2e3,
                    .inner_column_ps = 30,
                    .column_ps = 100,
                    .panel_ps = 21e3,
                    .highs = 0.7,
                    .gathered = 1.35,
                    .begin = 3e-6},
    /* Fitted on an H100 on 2026-11-26 to K = L = 64, 16 members: matrices 3 and 10 % full, and the mask of attn4096. */
    .backward_wgmma = {.cell_ps = 18e3, .panel_ps = 190e3, .highs = 0.7, .gathered = 1.2, .begin = 10e-6},
    /* Fitted on an H100, 2026-11-25, to K = L = 64 and 128, 16 members: a window of 256, blocks of 64, and both. */
    .fused_narrow = {.cell_ps = 1.8e3, .column_ps = 28, .gathered = 1.1, .begin = 4e-6},
    .fused_large = {.cell_ps = 7.6e3, .column_ps = 60, .gathered = 1.1, .begin = 4e-6},
    /* On 2026-11-26, with what the forward call has kept: matrices 3 and 10 % full, 16 members, K = L = 64 and 128. */
    .backward_narrow = {.cell_ps = 3.4e3, .column_ps = 12.5, .gathered = 1, .begin = 15e-6},
    /* Fitted on an H100 on 2026-11-25 to widths of 32 and 128 on 12 matrices of 0.9 to 36 million nonzeros. */
    .rounded = {.begin = 3e-6, .sddmm = 1, .spmm = 1.2},
    .softmax = {.nonzero_ps = 10.5, .row_ps = 460, .begin = 10e-6},
};

static const tamis_gpu_fitted *const chips[] = {&h200};

const tamis_gpu_fitted *tamis_gpu_fitted_for(const tamis_problem *problem) {
    const tamis_gpu_device *const device = problem->device;
    for (size_t i = 1; device && i < sizeof chips / sizeof chips[0]; i++)
        if (strcmp(device->limits.model, chips[i]->chip) == 0) return chips[i];
    return chips[0];
}
