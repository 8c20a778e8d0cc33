/* Pieces of error bounds. */
#include "support/bounds.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support/matrix.h"

units units_of(tamis_type type) {
    const double u = (double)FLT_EPSILON / 2, l = (double)FLT_MIN;
    const units of[] = {[TAMIS_F32] = {u, l, u, l},
                        [TAMIS_F64] = {DBL_EPSILON / 2, DBL_MIN, DBL_EPSILON / 2, DBL_MIN},
                        [TAMIS_F16] = {u, l, 0x1p-11, 0x1p-24},
                        [TAMIS_BF16] = {u, l, 0x1p-8, l}};
    return of[type];
}

about *test_abouts(int64_t count) { return test_room(count, sizeof(about)); }

about about_product(units e, about x, about y) {
    const double is = x.is * y.is;
    return (about){is, fabs(x.is) * y.off + fabs(y.is) * x.off + x.off * y.off + 4 * e.u * fabs(is)};
}

about about_dot(units e, const double *x, const double *y, int64_t n, double *size) {
    double sum = 0, sizes = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += x[k] * y[k];
        sizes += fabs(x[k] * y[k]);
    }
    if (size) *size = sizes;
    return (about){sum, ((double)n + 8) * e.u * sizes};
}

static double floored(const tamis_options *o, double x) { return x <= o->edge_epsilon ? o->edge_epsilon : x; }

static double value_of(const tamis_options *o, double x) {
    const double y = o->edge_scale * x;
    switch (o->edge) {
    case TAMIS_EDGE_QUOTIENT: return 1 / floored(o, x);
    case TAMIS_EDGE_SIGMOID: return 1 / (1 + exp(-y));
    case TAMIS_EDGE_EXP: return exp(y);
    case TAMIS_EDGE_LEAKY_RELU: return y < 0 ? o->edge_slope * y : y;
    default: return x;
    }
}

static about slope_of(units e, const tamis_options *o, about x) {
    const double y = o->edge_scale * x.is, wide = fabs(o->edge_scale) * x.off, low = x.is - x.off, high = x.is + x.off;
    const double grows = expm1(wide + 4 * e.u * (1 + fabs(y))) + 8 * e.u, is = value_of(o, x.is);
    switch (o->edge) {
    case TAMIS_EDGE_QUOTIENT: {
        const double by = x.is <= o->edge_epsilon ? 0 : -is * is;
        if (high <= o->edge_epsilon) return (about){0, 0};
        if (low <= o->edge_epsilon) /* either side */
            return (about){by, (1 + 8 * e.u) / (o->edge_epsilon * o->edge_epsilon)};
        return (about){by, fmax(1 / (low * low) + by, -by - 1 / (high * high)) + 8 * e.u * is * is};
    }
    case TAMIS_EDGE_SIGMOID: { /* its logarithm changes less than y does */
        const double by = o->edge_scale * is * (1 / (1 + exp(y)));
        return (about){by, fabs(by) * grows};
    }
    case TAMIS_EDGE_EXP: return (about){o->edge_scale * is, fabs(o->edge_scale) * is * grows};
    case TAMIS_EDGE_LEAKY_RELU: {
        const double by = o->edge_scale * (y < 0 ? o->edge_slope : 1);
        const bool kink = fabs(y) <= wide * (1 + 4 * e.u) + 4 * e.u * fabs(y);
        return (about){by, (kink ? fabs(o->edge_scale * (1 - o->edge_slope)) : 0) + 8 * e.u * fabs(by)};
    }
    default: return (about){1, 0};
    }
}

about about_edge(units e, const tamis_options *o, about x, about *slope) {
    const bool exponential = o->edge == TAMIS_EDGE_EXP || o->edge == TAMIS_EDGE_SIGMOID;
    if (slope) *slope = slope_of(e, o, x);
    if (o->edge == TAMIS_EDGE_MASK || o->edge == TAMIS_EDGE_SCALE) return x;
    const double is = value_of(o, x.is);
    const double change = fmax(fabs(value_of(o, x.is + x.off) - is), fabs(value_of(o, x.is - x.off) - is));
    const double rounding = exponential ? 12 + 4 * fabs(o->edge_scale * x.is) : 8;
    return (about){is, change + rounding * e.u * fabs(is)};
}

void about_text(const tamis_options *options, const tamis_edge_text *text, about x, double s, tamis_edge_place place,
                about results[3]) {
    tamis_edge_result found[TAMIS_PROGRAM_RESULTS];
    tamis_edge_results(&text->all, text, options->type, s, x.is, isfinite(x.is) ? x.off : 0, place, found);
    for (int r = 0; r < 3; r++) results[r] = (about){found[r].is, isfinite(found[r].is) ? found[r].off : 0};
}

int64_t about_place_in(int kind, tamis_edge_place place, int64_t entry) {
    return kind == TAMIS_STEP_ROW     ? place.row
           : kind == TAMIS_STEP_COL   ? place.column
           : kind == TAMIS_STEP_ENTRY ? entry
                                      : 0;
}

tamis_edge_place about_place(const tamis_edge_text *text, const tamis_execution *given, int64_t member, int64_t row,
                             int64_t column, int64_t entry) {
    tamis_edge_place place = {row, column, member, {0}};
    for (int k = 0; k < text->value.arrays; k++)
        for (int64_t n = 0; n < given->edge_operand_count; n++) {
            const tamis_dense *const from = given->edge_operands[n].values;
            if (strcmp(given->edge_operands[n].name, text->value.array[k].name) != 0) continue;
            const int64_t i = about_place_in(text->value.array[k].kind, place, entry);
            place.named[k] = test_load(from->data, from->type, test_position(from, member, i, 0));
        }
    return place;
}

about about_residual(units e, double s, about x) { return (about){s - x.is, x.off + 4 * e.u * fabs(s - x.is)}; }

about about_score(units e, const tamis_options *o, about x, double s) {
    if (s == -INFINITY) return (about){s, 0};
    const double scaled = o->edge_scale * x.is;
    return (about){scaled + s, fabs(o->edge_scale) * x.off + 4 * e.u * (fabs(scaled) + fabs(s))};
}

softmax_row *softmax_rows(const about *scores, const int64_t *row_of, int64_t nnz, int64_t rows) {
    softmax_row *const made = test_room(rows, sizeof *made);
    for (int64_t i = 0; i < rows; i++) made[i].most = -INFINITY, made[i].least = INFINITY;
    for (int64_t t = 0; t < nnz; t++) {
        softmax_row *const row = &made[row_of[t]];
        row->count++;
        if (scores[t].is == -INFINITY) continue;
        row->most = fmax(row->most, scores[t].is);
        row->least = fmin(row->least, scores[t].is);
        if (isfinite(scores[t].off)) row->off = fmax(row->off, scores[t].off);
    }
    for (int64_t t = 0; t < nnz; t++)
        if (scores[t].is > -INFINITY) made[row_of[t]].sum += exp(scores[t].is - made[row_of[t]].most);
    return made;
}

bool softmax_may_round(tamis_device *device, tamis_operation operation, tamis_edge edge, tamis_type type,
                       bool has_values) {
    tamis_device_description on = {.instruction_set = ""};
    if (device) test_must(tamis_device_describe(device, &on));
    return strncmp(on.instruction_set, "sm_", 3) == 0 && operation == TAMIS_OP_FUSED && edge == TAMIS_EDGE_SOFTMAX &&
           tamis_type_size(type) == 2 && !has_values;
}

double softmax_relative(units e, const softmax_row *row) { return expm1(2 * row->off) + (row->count + 16) * e.u; }

about softmax_weight(units e, const softmax_row *row, double score) {
    const double is = score == -INFINITY ? 0 : exp(score - row->most) / row->sum;
    return (about){is, is * softmax_relative(e, row) + 2 * e.l};
}
