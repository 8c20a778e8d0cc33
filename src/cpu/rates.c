/* The table of the CPU's rates, and the profiles that `tamis tune-device` made. */
#include "cpu/rates.h"

#include <assert.h>

#define RATE(name_) TAMIS_RATE(tamis_cpu_rates, name_, TAMIS_RATE_FITTED)
static const tamis_rate_row rows[] = {
    RATE(call),          RATE(unhidden),          RATE(entry),          RATE(amx),
    RATE(setup),         RATE(dots.row),          RATE(dots.products),  RATE(sums.row),
    RATE(sums.products), RATE(panels.run),        RATE(panels.dots),    RATE(panels.sums),
    RATE(panels.alone),  RATE(tiles.segment),     RATE(tiles.entry),    RATE(cells.peak),
    RATE(cells.column),  RATE(tile_unit.product), RATE(tile_unit.cell), TAMIS_SURE(tamis_cpu_rates),
};
static_assert(sizeof(tamis_cpu_rates) <= TAMIS_RATES_MOST * sizeof(double), "evidence has room for the rates");
static_assert(sizeof(tamis_cpu_rates) == sizeof rows / sizeof rows[0] * sizeof(double), "each rate has a row");

static const tamis_cpu_rates epyc = {
#include "cpu/profiles/epyc.def"
};

static const tamis_cpu_rates xeon = {
#include "cpu/profiles/xeon.def"
};

static const tamis_cpu_rates xeon_avx2 = {
#include "cpu/profiles/xeon-avx2.def"
};

/* Panels live by registers, and AVX2 has half of AVX-512's. */
static const tamis_rate_profile profiles[] = {
    {"AMD EPYC", "", (const double *)(const void *)&epyc},
    {"Intel(R) Xeon(R)", "x86-64-v4", (const double *)(const void *)&xeon},
    {"Intel(R) Xeon(R)", "x86-64-v3", (const double *)(const void *)&xeon_avx2},
};

const tamis_rate_table tamis_cpu_rate_table = {rows, sizeof rows / sizeof rows[0], profiles,
                                               sizeof profiles / sizeof profiles[0],
                                               offsetof(tamis_cpu_rates, sure) / sizeof(double)};
