/* Each row of base/edge_rows.h against the oracle's own formula, in double: the value, its derivatives, and what the
   row says of them. */
#include "support/test.h"

#include "base/edges.h"
#include "reference/edges.h"

#define NUMBER(x)                          (x)
#define SELECT(condition, this, otherwise) ((condition) ? (this) : (otherwise))
#define EXPONENTIAL(z)                     exp(z)
#define NONE                               0

static const double epsilon = 0.25;

typedef struct result {
    const char *name;
    double p, gradient_p, by_x, by_s, derivative;
} result;

static result row_at(int edge, double x, double s, double scale, double slope) {
    const double y = scale * x;
    result at = {.name = NULL};
    switch (edge) {
#define ROW(NAME, number, row_name, entry, shape, e_is, f_is, gradient_e, gradient_f, df_dx)                           \
    case number: {                                                                                                     \
        double e = e_is, f = f_is;                                                                                     \
        at.name = row_name;                                                                                            \
        at.p = TAMIS_EDGE_VALUE(entry, s, f);                                                                          \
        e = gradient_e, f = gradient_f;                                                                                \
        (void)e;                                                                                                       \
        at.derivative = df_dx;                                                                                         \
        at.gradient_p = TAMIS_EDGE_S_IS_FACTOR(entry) ? s * f : TAMIS_EDGE_VALUE(entry, s, f);                         \
        at.by_x = TAMIS_EDGE_S_IS_FACTOR(entry) ? s * at.derivative : at.derivative;                                   \
        at.by_s = TAMIS_EDGE_S_IS_FACTOR(entry) ? f : entry == TAMIS_S_UNREAD ? 0 : 1;                                 \
        break;                                                                                                         \
    }
        TAMIS_EDGES(ROW)
#undef ROW
    default: break;
    }
    return at;
}

static void compare(const char *name, const char *what, double found, double expected) {
    if (fabs(found - expected) <= 1e-14 * fabs(expected) + 1e-300) return;
    fail_msg("edge %s: %s is %.17g, the oracle's %.17g", name, what, found, expected);
}

static const double numbers[] = {-60, -3, -0.7, -0.25, 0, 0.125, 0.25, 0.5, 1, 2.75, 40};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

TEST(test_formulas) {
    for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge++) {
        const tamis_options o = {
            .edge = (tamis_edge)edge, .type = TAMIS_F64, .edge_scale = 0.8, .edge_slope = 0.1, .edge_epsilon = epsilon};
        for (int i = 0; i < NUMBERS * NUMBERS; i++) {
            const double x = numbers[i % NUMBERS], s = numbers[i / NUMBERS];
            const tamis_edge_point right = tamis_edge_at(&o, s, x, 0);
            const result found = row_at(edge, x, s, o.edge_scale, o.edge_slope);
            compare(found.name, "the value", found.p, right.p);
            compare(found.name, "the gradient's value", found.gradient_p, right.p);
            if (edge == TAMIS_EDGE_SOFTMAX) continue; /* its derivatives are those of a row */
            compare(found.name, "the derivative by x", found.by_x, right.by_x);
            compare(found.name, "the derivative by s", found.by_s, right.by_s);
        }
    }
}

/* Kernels skip what an edge does not need, by the row's word. */
TEST(test_shapes) {
    for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge++) {
        const int entry = tamis_edge_entry((tamis_edge)edge), shape = tamis_edge_shape((tamis_edge)edge);
        const bool is_x = shape == TAMIS_F_IS_X;
        for (int i = 0; i < NUMBERS; i++) {
            const double x = numbers[i];
            const result one = row_at(edge, x, 1, 0.8, 0.1), other = row_at(edge, x, 3, 0.8, 0.1);
            if (shape != TAMIS_F_CURVED && one.derivative != row_at(edge, x + 1, 1, 0.8, 0.1).derivative)
                fail_msg("edge %s: the derivative depends on x, but the row says it does not", one.name);
            if (is_x && one.p != x) fail_msg("edge %s: without values it is not x, but the row says so", one.name);
            if (entry == TAMIS_S_UNREAD && one.p != other.p)
                fail_msg("edge %s: the value depends on s, but the row says that it is not read", one.name);
        }
    }
}

TEST(test_names) {
    for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge++) {
        tamis_edge found;
        const char *const name = row_at(edge, 1, 1, 1, 1).name;
        assert_non_null(name); /* numbers follow one another */
        assert_string_equal(tamis_edge_name((tamis_edge)edge), name);
        works(tamis_edge_from_name(name, &found));
        assert_int_equal(found, edge);
    }
}
