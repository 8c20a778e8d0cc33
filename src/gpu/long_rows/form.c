/* Compile-time forms of long_rows_kernels.h, and the number of parts. */
#include "gpu/long_rows/form.h"

enum { LANES_LEAST = 4, LANES_MOST = 32, POSITIONS_USUAL = 4 };

/* Most reals of a lane that registers hold: of one row, and of all rows that share columns. */
static int64_t reals_most(tamis_type type) { return type == TAMIS_F64 ? 8 : 16; }
static int64_t all_most(tamis_type type) { return type == TAMIS_F64 ? 16 : 32; }
static int64_t rows_most(tamis_type type) { return type == TAMIS_F64 ? 4 : 8; }

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

bool tamis_gpu_long_rows_fits(tamis_type type, int64_t inner, int64_t width) {
    return larger(inner, width) <= LANES_MOST * reals_most(type);
}

/* Reals of a row for each of `team` lanes. */
static int64_t reals_of(int64_t length, int64_t team, int64_t unit) {
    return larger(tamis_gpu_ceiling(length, team * unit), 1) * unit;
}

/* Rows of a block: all that have the same columns, up to a limit. */
static int64_t rows_of(tamis_type type, int64_t alike) {
    int64_t rows = 1;
    while (rows < rows_most(type) && rows < alike) rows *= 2;
    return rows;
}

/* Estimate of a work-item's 32-bit registers. Rows of 16-bit numbers wait unconverted. */
static int64_t registers_of(const tamis_long_rows_form *form, tamis_type type) {
    enum { BESIDE = 44 };
    const int64_t both = form->inner_reals + form->width_reals, size = (int64_t)tamis_type_size(type);
    const int64_t real = type == TAMIS_F64 ? 2 : 1;
    return form->rows * both * real + form->positions * (both * size + 3) / 4 + form->rows * form->positions * real +
           BESIDE;
}

/* Resident groups of a multiprocessor. */
static int64_t groups_at_once(const tamis_gpu_device *device, const tamis_long_rows_form *form, tamis_type type) {
    enum { REGISTERS = 65536, MOST = 16 };
    if (device->limits.is_cpu) return 1;
    const int64_t groups = REGISTERS / (registers_of(form, type) * form->group);
    return larger(tamis_gpu_min(groups, MOST), 1);
}

void tamis_gpu_long_rows_form(const tamis_gpu_device *device, tamis_type type, int64_t inner, int64_t width,
                              int64_t unit, int64_t alike, tamis_long_rows_form *form) {
    enum { SHARED = 40 << 10 /* of the 48 KiB that a kernel may declare */ };
    const int64_t longer = larger(inner, width), real = (int64_t)tamis_gpu_real_size(type);
    const int64_t shared = tamis_gpu_min(device->limits.shared_most * 3 / 4, SHARED);
    int64_t team = LANES_LEAST;
    if (form->rows == 0) form->rows = rows_of(type, alike);
    if (form->positions == 0) form->positions = POSITIONS_USUAL;
    while (form->rows > rows_most(type) ||
           (form->rows > 1 && form->rows * tamis_gpu_ceiling(longer, LANES_MOST) > all_most(type)))
        form->rows /= 2;
    while (unit > 1 && form->rows * unit > all_most(type)) unit /= 2;
    while (team < LANES_MOST && team * unit < longer) team *= 2;
    if (team < form->team) team = form->team; /* a named value that is large enough is kept */
    while (form->rows > 1 && (form->rows > team || form->rows * reals_of(longer, team, unit) > all_most(type)))
        form->rows /= 2;
    while (form->positions > 1 && form->positions * reals_of(longer, team, unit) > all_most(type)) form->positions /= 2;
    form->team = team;
    form->unit = unit;
    form->inner_reals = reals_of(inner, team, unit);
    form->width_reals = reals_of(width, team, unit);
    while (form->group > team && (form->group > device->limits.group_most ||
                                  form->group * form->rows * (form->width_reals + 1) * real > shared))
        form->group /= 2;
    if (form->group < team) form->group = team;
}

void tamis_gpu_long_rows_define(tamis_gpu_definitions *definitions, const tamis_long_rows_form *form, int64_t inner,
                                int64_t width, bool exact) {
    tamis_gpu_define(definitions, "ROWS", form->rows);
    tamis_gpu_define(definitions, "POSITIONS", form->positions);
    tamis_gpu_define(definitions, "INNER_REALS", form->inner_reals);
    tamis_gpu_define(definitions, "WIDTH_REALS", form->width_reals);
    tamis_gpu_define(definitions, "WHOLE_UNITS", exact);
    tamis_gpu_define(definitions, "INNER_FULL", exact ? inner / (form->team * form->unit) : 0);
    tamis_gpu_define(definitions, "WIDTH_FULL", exact ? width / (form->team * form->unit) : 0);
}

int64_t tamis_gpu_long_rows_parts(const tamis_gpu_device *device, const tamis_long_rows_form *form, tamis_type type,
                                  int64_t blocks, int64_t longest, bool even) {
    enum { SHORTEST = 128 /* columns of a part */, ROUNDS = 4 };
    const int64_t at_once = device->limits.multiprocessors * groups_at_once(device, form, type);
    const int64_t step = form->group / form->team * form->positions;
    const int64_t most = larger(tamis_gpu_min(longest / larger(SHORTEST, 2 * step), TAMIS_LONG_ROWS_PARTS), 1);
    int64_t best = 1;
    double best_busy = 0;
    if (!even) return tamis_gpu_min(tamis_gpu_ceiling(ROUNDS * at_once, blocks), most);
    for (int64_t parts = 1; parts <= most && (parts == 1 || (parts - 1) * blocks < ROUNDS * at_once); parts++) {
        const int64_t rounds = tamis_gpu_ceiling(blocks * parts, at_once);
        const double busy = (double)(blocks * parts) / (double)(rounds * at_once);
        if (busy < 1.02 * best_busy) continue;
        best = parts;
        best_busy = busy;
    }
    return best;
}
