/* The table of the GPU's rates, and the profiles that are built in. */
#include "gpu/rates.h"

#include <assert.h>
#include <stddef.h>

#define RATE(name_)  TAMIS_RATE(tamis_gpu_rates, name_, TAMIS_RATE_FITTED)
#define FIXED(name_) TAMIS_RATE(tamis_gpu_rates, name_, TAMIS_RATE_FIXED)
static const tamis_rate_row rows[] = {
    FIXED(l2_gbs),
    RATE(launch),
    RATE(begin),
    RATE(teams_begin),
    RATE(step),
    RATE(byte_ps),
    RATE(dot_ps),
    RATE(sum_ps),
    RATE(fused_ps),
    RATE(softmax_ps),
    RATE(order),
    RATE(order_row),
    RATE(cell.cell_ps),
    RATE(cell.column_ps),
    RATE(cell_nonzero_ps),
    RATE(fused_cell.cell_ps),
    RATE(fused_cell.column_ps),
    RATE(fused_column_ps),
    RATE(narrow_cell.cell_ps),
    RATE(narrow_cell.column_ps),
    TAMIS_SURE(tamis_gpu_rates),
};
static_assert(sizeof(tamis_gpu_rates) <= TAMIS_RATES_MOST * sizeof(double), "evidence has room for the rates");
static_assert(sizeof(tamis_gpu_rates) == sizeof rows / sizeof rows[0] * sizeof(double), "each rate has a row");

static const tamis_gpu_rates h200 = {
#include "gpu/profiles/h200.def"
};

static const tamis_rate_profile profiles[] = {{"NVIDIA H200", "", (const double *)(const void *)&h200}};

const tamis_rate_table tamis_gpu_rate_table = {rows, sizeof rows / sizeof rows[0], profiles,
                                               sizeof profiles / sizeof profiles[0],
                                               offsetof(tamis_gpu_rates, sure) / sizeof(double)};
