/* Host side of sum_kernels.h. */
#include "gpu/rows/lanes.h"

#include <math.h>

#include "base/status.h"
#include "gpu/model.h"

enum { LANES_MOST = 32, REALS_MOST = 16 /* a lane's sums */ };

int64_t tamis_gpu_lanes_piece(const tamis_problem *problem) { return 16 / (int64_t)tamis_type_size(problem->type); }

int64_t tamis_gpu_lanes_pieces_most(const tamis_problem *problem) {
    return (problem->type == TAMIS_F64 ? REALS_MOST / 2 : REALS_MOST) / tamis_gpu_lanes_piece(problem);
}

int64_t tamis_gpu_lanes_slice(const tamis_problem *problem, int64_t bytes) {
    enum { LINE = 128 };
    const int64_t size = (int64_t)tamis_type_size(problem->type), row = problem->width * size;
    const int64_t piece = tamis_gpu_lanes_piece(problem),
                  widest = LANES_MOST * tamis_gpu_lanes_pieces_most(problem) * piece;
    /* half as long again is no worse than two slices */
    const int64_t count = tamis_gpu_max((row + bytes / 2 - 1) / bytes, tamis_gpu_ceiling(problem->width, widest));
    if (count <= 1) return tamis_gpu_max(1, tamis_gpu_ceiling(problem->width, piece)) * piece;
    return tamis_gpu_ceiling(tamis_gpu_ceiling(problem->width, count), LINE / size) * (LINE / size);
}

int64_t tamis_gpu_lanes_usual(const tamis_problem *problem, int64_t slice, int64_t *pieces) {
    enum { LANES_USUAL = 16 };
    const int64_t across =
        tamis_gpu_ceiling(tamis_gpu_min(slice, tamis_gpu_max(problem->width, 1)), tamis_gpu_lanes_piece(problem));
    int64_t lanes = 1;
    while (lanes < LANES_USUAL && lanes < across) lanes *= 2;
    if (across > tamis_gpu_lanes_pieces_most(problem) * lanes) lanes = LANES_MOST;
    *pieces = tamis_gpu_ceiling(across, lanes);
    return lanes;
}

double tamis_gpu_new_rows(const tamis_problem *problem) {
    enum { DRIFT = 2 }; /* rows of different length drift apart in the columns */
    const tamis_evidence *const e = problem->evidence;
    const double together = fmin(e->panel_fresh[0], e->fresh_share), differ = fmin(1, e->profile.variation);
    return together + DRIFT * differ * (e->fresh_share - together);
}

double tamis_gpu_lanes_nonzero(const tamis_problem *problem, double bytes) {
    return tamis_gpu_issue(problem, tamis_gpu_nonzero_ps(problem, tamis_gpu_rates_of(problem)->sum_ps, bytes));
}

int64_t tamis_gpu_lanes_pieces(const tamis_prepared *p) {
    const int64_t *const v = p->parameters;
    const int64_t lanes = v[TAMIS_LANES_TEAM] / v[TAMIS_LANES_SPLIT];
    if (!tamis_gpu_compiles_fast(p)) return 2;
    return tamis_gpu_min(tamis_gpu_lanes_pieces_most(&p->problem),
                         tamis_gpu_ceiling(v[TAMIS_LANES_SLICE], lanes * tamis_gpu_lanes_piece(&p->problem)));
}

bool tamis_gpu_lanes_packed(const tamis_prepared *p) {
    return tamis_type_size(p->problem.type) == 2 && p->unit == tamis_gpu_lanes_piece(&p->problem);
}

int64_t tamis_gpu_lanes_registers(const tamis_prepared *p, bool packed) {
    enum { ADDRESS = 2, PIECE = 4 };
    const int64_t *const v = p->parameters;
    const int64_t real = p->problem.type == TAMIS_F64 ? 2 : 1, column = p->problem.index_type == TAMIS_I64 ? 2 : 1;
    const int64_t pieces = tamis_gpu_lanes_pieces(p), sums = pieces * tamis_gpu_lanes_piece(&p->problem) * real;
    return v[TAMIS_LANES_LOADS] * ((packed ? pieces * PIECE : sums) + ADDRESS + column + real) + sums;
}

/* True if a work-item has enough registers. BESIDE: a margin with which no instance of test_compile spills. */
static bool registers_suffice(const tamis_prepared *p) {
    enum { REGISTERS = 65536, BESIDE = 44 };
    return tamis_gpu_lanes_registers(p, false) + BESIDE < REGISTERS / p->parameters[TAMIS_LANES_GROUP];
}

tamis_status tamis_gpu_lanes_check(tamis_prepared *p, int64_t usual_slice, int64_t *slices) {
    enum { LOADS_USUAL = 4, GROUP_USUAL = 128 };
    int64_t *const v = p->parameters;
    const int64_t piece = tamis_gpu_lanes_piece(&p->problem);
    TRY(tamis_gpu_check_powers(p, TAMIS_LANES_TEAM, TAMIS_LANES_LOADS));
    if (v[TAMIS_LANES_SPLIT] > v[TAMIS_LANES_TEAM]) v[TAMIS_LANES_SPLIT] = v[TAMIS_LANES_TEAM];
    if (v[TAMIS_LANES_SLICE] == 0) v[TAMIS_LANES_SLICE] = usual_slice;
    /* a slice narrower than the lanes: more nonzeros side by side */
    while (v[TAMIS_LANES_SPLIT] < v[TAMIS_LANES_TEAM] &&
           v[TAMIS_LANES_TEAM] / v[TAMIS_LANES_SPLIT] * piece >= 2 * v[TAMIS_LANES_SLICE])
        v[TAMIS_LANES_SPLIT] *= 2;
    while (v[TAMIS_LANES_LOADS] > 1 && v[TAMIS_LANES_LOADS] * v[TAMIS_LANES_SPLIT] > v[TAMIS_LANES_TEAM])
        v[TAMIS_LANES_LOADS] /= 2; /* more than a block has */
    while (v[TAMIS_LANES_GROUP] > p->device->limits.group_most) v[TAMIS_LANES_GROUP] /= 2;
    while (v[TAMIS_LANES_LOADS] > LOADS_USUAL && !registers_suffice(p)) v[TAMIS_LANES_LOADS] /= 2;
    while (v[TAMIS_LANES_GROUP] > GROUP_USUAL && !registers_suffice(p)) v[TAMIS_LANES_GROUP] /= 2;
    if (v[TAMIS_LANES_GROUP] < v[TAMIS_LANES_TEAM]) v[TAMIS_LANES_GROUP] = v[TAMIS_LANES_TEAM];
    const int64_t taken =
        v[TAMIS_LANES_TEAM] / v[TAMIS_LANES_SPLIT] * tamis_gpu_lanes_pieces(p) * piece; /* columns of a step */
    v[TAMIS_LANES_SLICE] = tamis_gpu_min(tamis_gpu_ceiling(v[TAMIS_LANES_SLICE], piece) * piece, taken);
    *slices = tamis_gpu_ceiling(p->problem.width, v[TAMIS_LANES_SLICE]);
    return TAMIS_OK;
}

void tamis_gpu_define_lanes(tamis_gpu_definitions *definitions, const tamis_prepared *p, int64_t slices) {
    const int64_t *const v = p->parameters;
    const int64_t last = p->problem.width - (slices - 1) * v[TAMIS_LANES_SLICE]; /* columns of the last slice */
    const bool quick = tamis_gpu_compiles_fast(p);
    tamis_gpu_define_problem(definitions, p, (int)v[TAMIS_LANES_GROUP], (int)v[TAMIS_LANES_TEAM]);
    tamis_gpu_define(definitions, "SPLIT", v[TAMIS_LANES_SPLIT]);
    tamis_gpu_define(definitions, "LOADS", v[TAMIS_LANES_LOADS]);
    tamis_gpu_define(definitions, "WIDTH_PIECES", tamis_gpu_lanes_pieces(p));
    tamis_gpu_define(definitions, "WHOLE_UNITS", quick);
    tamis_gpu_define(definitions, "UNITS_FULL",
                     quick ? last / (v[TAMIS_LANES_TEAM] / v[TAMIS_LANES_SPLIT] * p->unit) : 0);
}

int tamis_gpu_lanes_whole(const tamis_prepared *p, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const size_t size = tamis_type_size(problem->output_type), unit = (size_t)p->unit * size;
    const size_t value = tamis_type_size(problem->value_type);
    const tamis_matrix columns = {.at = {(void *)(uintptr_t)problem->columns, 0}};
    const bool whole = tamis_gpu_aligned(p->device, &x->out, size, unit < 16 ? unit : 16);
    const bool four =
        tamis_gpu_aligned(p->device, &columns, 1, 16) && tamis_gpu_aligned(p->device, &x->values, value, 16);
    return (whole ? 4 : 0) | (four ? 8 : 0);
}
