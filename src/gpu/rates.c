/* The table of the GPU's rates, and the profiles that are built in. */
#include "gpu/rates.h"

#include <assert.h>
#include <stddef.h>

#define RATE(name_)  TAMIS_RATE(tamis_gpu_rates, name_, TAMIS_RATE_FITTED)
#define FIXED(name_) TAMIS_RATE(tamis_gpu_rates, name_, TAMIS_RATE_FIXED)
static const tamis_rate_row rows[] = {
    FIXED(l2_gbs),
    RATE(launch),
    RATE(row_byte_ps),
    RATE(halves),
    RATE(chain_ps),
    RATE(nonzeros.issue.one),
    RATE(nonzeros.issue.byte),
    RATE(nonzeros.byte_new_ps),
    RATE(nonzeros.wide),
    RATE(nonzeros.begin),
    RATE(nonzeros.merge),
    RATE(panels.issue.one),
    RATE(panels.issue.byte),
    RATE(panels.gather_byte_ps),
    RATE(panels.steps),
    RATE(panels.waits),
    RATE(cells.fixed),
    RATE(cells.nonzero_ps),
    RATE(rows.nonzero.one),
    RATE(rows.nonzero.byte),
    RATE(rows.unlike),
    RATE(rows.merge),
    RATE(rows.order),
    RATE(rows.order_row),
    RATE(teams.begin),
    RATE(teams.whole),
    RATE(teams.hubs),
    RATE(teams.chain),
    RATE(fused_teams.nonzero.one),
    RATE(fused_teams.nonzero.byte),
    RATE(fused_teams.byte_new_ps),
    RATE(fused_teams.chain),
    RATE(one_pass.nonzero.one),
    RATE(one_pass.nonzero.byte),
    RATE(one_pass.softmax_ps),
    FIXED(long_rows.row.one),
    FIXED(long_rows.row.byte),
    FIXED(long_rows.column.one),
    FIXED(long_rows.column.byte),
    FIXED(long_rows.memory),
    FIXED(long_rows.step),
    FIXED(long_rows.merge),
    FIXED(long_rows.lists),
    RATE(tensor.cell.cell_ps),
    RATE(tensor.cell.column_ps),
    RATE(tensor.nonzero_ps),
    RATE(tensor.begin),
    RATE(mma),
    RATE(wgmma.cell[0].cell_ps),
    RATE(wgmma.cell[0].column_ps),
    RATE(wgmma.cell[1].cell_ps),
    RATE(wgmma.cell[1].column_ps),
    RATE(wgmma.nonzero_ps[0]),
    RATE(wgmma.nonzero_ps[1]),
    RATE(wgmma.gathered),
    RATE(wgmma.split),
    RATE(spmm_wgmma.column_ps),
    RATE(spmm_wgmma.nonzero_ps),
    RATE(spmm_wgmma.begin),
    RATE(fused_wgmma.cell.cell_ps),
    RATE(fused_wgmma.cell.column_ps),
    RATE(fused_wgmma.column_ps),
    RATE(fused_wgmma.begin),
    RATE(highs[0]),
    RATE(highs[1]),
    RATE(highs[2]),
    RATE(fused_narrow.cell_ps),
    RATE(fused_narrow.column_ps),
    RATE(fused_large.cell_ps),
    RATE(fused_large.column_ps),
    RATE(fused_begin),
    RATE(backward_wgmma.cell_ps),
    RATE(backward_wgmma.panel_ps),
    RATE(backward_wgmma.begin),
    RATE(backward_narrow.cell_ps),
    RATE(backward_narrow.column_ps),
    RATE(backward_begin),
    RATE(rounded_begin),
    RATE(softmax.nonzero_ps),
    RATE(softmax.begin),
    TAMIS_SURE(tamis_gpu_rates),
};
static_assert(sizeof(tamis_gpu_rates) <= TAMIS_RATES_MOST * sizeof(double), "evidence has room for the rates");
static_assert(sizeof(tamis_gpu_rates) == sizeof rows / sizeof rows[0] * sizeof(double), "each rate has a row");

static const tamis_gpu_rates h200 = {
#include "gpu/profiles/h200.def"
};

static const tamis_rate_profile profiles[] = {{"NVIDIA H200", (const double *)(const void *)&h200}};

const tamis_rate_table tamis_gpu_rate_table = {rows, sizeof rows / sizeof rows[0], profiles,
                                               sizeof profiles / sizeof profiles[0],
                                               offsetof(tamis_gpu_rates, sure) / sizeof(double)};
