/* The oracle's gradients against differences of its values, in double. */
#include "operation_cases.h"

#include <float.h>

/* The loss: the sum of the seeds times their results, and of the terms' sizes. */
static double loss(operation_case *c, double *size) {
    double sum = 0;
    *size = 1;
    c->forward_only = true;
    c->row->reference(c);
    for (int k = 0; k < OPERANDS; k++) {
        const operand *const x = &c->of[k];
        if (!x->name || x->role != OPERAND_SEED) continue;
        OWN(double) *const by = matrix_values(&x->m);
        for (int64_t i = 0; i < operand_count(c, k); i++) {
            sum += by[i] * c->of[x->by].want[i];
            *size += fabs(by[i] * c->of[x->by].want[i]);
        }
    }
    return sum;
}

static double slope(operation_case *c, matrix *m, const int64_t at[3], double h, double *size) {
    const double kept = matrix_at(m, at[0], at[1], at[2]);
    matrix_put(m, at[0], at[1], at[2], kept + h);
    const double up = loss(c, size);
    matrix_put(m, at[0], at[1], at[2], kept - h);
    const double down = loss(c, size);
    matrix_put(m, at[0], at[1], at[2], kept);
    return (up - down) / (2 * h);
}

/*
 * D(h) = (f(x + h) - f(x - h)) / 2h is wrong by h^2 f''' / 6 and terms of h^4, and by rounding, of which each f has a
 * few units in its last place for each of its sums. The first is 4/3 of D(h) - D(h / 2), and (4 D(h / 2) - D(h)) / 3
 * does not have it; of what is left, smaller by some h^2, a hundredth is allowed, and for rounding 64 of f's units over
 * h. Where there is a kink within h both differ by far, or D(h / 2) - D(h / 4) is not a fourth of D(h) - D(h / 2): it
 * is counted.
 */
static void differ(operation_case *c, int k, int64_t *compared, int64_t *kinks) {
    const double h = 0x1p-12;
    matrix *const m = &c->of[c->of[k].by].m;
    const int64_t cols = m->here.cols, one = m->here.rows * cols;
    for (int64_t i = 0; i < m->members * one; i++, ++*compared) {
        const int64_t at[] = {i / one, i % one / cols, i % cols};
        double size;
        const double once = slope(c, m, at, h, &size), half = slope(c, m, at, h / 2, &size);
        const double quarter = slope(c, m, at, h / 4, &size), rest = fabs(quarter - half);
        const double want = (4 * half - once) / 3, gap = fabs(half - once), found = c->of[k].want[i];
        const double rounding = 64 * (DBL_EPSILON / 2) * size / h, bound = 0.01 * gap + rounding;
        const bool smooth = gap <= 8 * rounding || (rest > gap / 8 && rest < gap / 2);
        if (gap > 1e-4 * (1 + fabs(want)) || !smooth)
            ++*kinks;
        else if (!(fabs(found - want) <= bound))
            fail_msg("%s: %s[%lld] = %.15g, by differences %.15g within %.3g", c->text, c->of[k].name, (long long)i,
                     found, want, bound);
    }
}

void operation_differ(operation_case *c, int64_t *compared, int64_t *kinks) {
    c->row->reference(c);
    for (int k = 0; k < OPERANDS; k++)
        if (c->of[k].name && c->of[k].role == OPERAND_GRADIENT) differ(c, k, compared, kinks);
}
