/*
 * The functions of edge expressions, a row each: adding one is adding a row. The parser, differentiation, the oracle,
 * kernels of the CPU and the text for GPUs come from these rows.
 *
 * ROW(NAME, "name", arity, shape, turn, value, "derivative")
 *   name        a word is called, as tanh(a); signs are operators, in the order of `operators` in parse.c
 *   shape, turn how the value depends on one operand, for the oracle's intervals: see below
 *   value       a formula in the operands a, b, c, in the subset that C, vectors of the CPU and the dialect of GPUs
 *               share: + - *, comparisons, whole numbers, NUMBER(0.5), SELECT(condition, this, otherwise), and
 *               EXP LOG TANH ERF ERFC SQRT FLOOR of one number, POW and QUOTIENT of two
 *   derivative  an expression of the language itself, in a, b, c, the value f, and the operands' derivatives da, db, dc
 */
#ifndef TAMIS_EXPRESSION_FUNCTIONS_H
#define TAMIS_EXPRESSION_FUNCTIONS_H

enum {
    TAMIS_SHAPE_OWN,    /* the oracle has a rule for it */
    TAMIS_SHAPE_RISES,  /* never falls */
    TAMIS_SHAPE_FALLS,  /* never rises */
    TAMIS_SHAPE_VALLEY, /* falls up to `turn`, then rises */
    TAMIS_SHAPE_STEPS   /* rises in jumps, between which it is exact */
};

/* clang-format off */
#define TAMIS_FUNCTIONS(ROW)                                                                                           \
    ROW(ADD,           "+",       2, TAMIS_SHAPE_OWN,    0, a + b,                "da + db")                           \
    ROW(SUBTRACT,      "-",       2, TAMIS_SHAPE_OWN,    0, a - b,                "da - db")                           \
    ROW(MULTIPLY,      "*",       2, TAMIS_SHAPE_OWN,    0, a * b,                "da * b + a * db")                   \
    ROW(DIVIDE,        "/",       2, TAMIS_SHAPE_OWN,    0, QUOTIENT(a, b),       "(da - f * db) / b")                 \
    ROW(NEGATE,        "-",       1, TAMIS_SHAPE_OWN,    0, -a,                   "-da")                               \
    ROW(LESS,          "<",       2, TAMIS_SHAPE_OWN,    0, SELECT(a < b, 1, 0),  "0")                                 \
    ROW(LESS_EQUAL,    "<=",      2, TAMIS_SHAPE_OWN,    0, SELECT(a <= b, 1, 0), "0")                                 \
    ROW(GREATER,       ">",       2, TAMIS_SHAPE_OWN,    0, SELECT(a > b, 1, 0),  "0")                                 \
    ROW(GREATER_EQUAL, ">=",      2, TAMIS_SHAPE_OWN,    0, SELECT(a >= b, 1, 0), "0")                                 \
    ROW(EQUAL,         "==",      2, TAMIS_SHAPE_OWN,    0, SELECT(a == b, 1, 0), "0")                                 \
    ROW(NOT_EQUAL,     "!=",      2, TAMIS_SHAPE_OWN,    0, SELECT(a != b, 1, 0), "0")                                 \
    ROW(WHERE,         "where",   3, TAMIS_SHAPE_OWN,    0, SELECT(a != 0, b, c), "where(a, db, dc)")                  \
    ROW(MIN,           "min",     2, TAMIS_SHAPE_OWN,    0, SELECT(a < b, a, b),  "where(a < b, da, db)")              \
    ROW(MAX,           "max",     2, TAMIS_SHAPE_OWN,    0, SELECT(a > b, a, b),  "where(a > b, da, db)")              \
    ROW(POW,           "pow",     2, TAMIS_SHAPE_OWN,    0, POW(a, b),                                                 \
        "where(b == 0, 0, b * pow(a, b - 1)) * da + where((a == 0) * (b >= 0), 0, f * log(a)) * db")                  \
    ROW(ABS,           "abs",     1, TAMIS_SHAPE_VALLEY, 0, SELECT(a < 0, -a, a),                                      \
        "where(a < 0, -da, where(a > 0, da, 0))")                                                                      \
    ROW(EXP,           "exp",     1, TAMIS_SHAPE_RISES,  0, EXP(a),               "f * da")                            \
    ROW(LOG,           "log",     1, TAMIS_SHAPE_RISES,  0, LOG(a),               "da / a")                            \
    ROW(TANH,          "tanh",    1, TAMIS_SHAPE_RISES,  0, TANH(a),              "(1 - f * f) * da")                  \
    ROW(SIGMOID,       "sigmoid", 1, TAMIS_SHAPE_RISES,  0, QUOTIENT(1, 1 + EXP(-a)), "f * sigmoid(-a) * da")          \
    ROW(ERF,           "erf",     1, TAMIS_SHAPE_RISES,  0, ERF(a),                                                    \
        "1.1283791670955126 * exp(-a * a) * da")                                                                       \
    ROW(SQRT,          "sqrt",    1, TAMIS_SHAPE_RISES,  0, SQRT(a),              "da / (2 * f)")                      \
    ROW(RSQRT,         "rsqrt",   1, TAMIS_SHAPE_FALLS,  0, QUOTIENT(1, SQRT(a)), "-0.5 * f / a * da")                 \
    ROW(RELU,          "relu",    1, TAMIS_SHAPE_RISES,  0, SELECT(a < 0, 0, a),  "where(a > 0, da, 0)")               \
    ROW(LEAKY_RELU,    "leaky_relu", 2, TAMIS_SHAPE_OWN, 0, SELECT(a < 0, a * b, a),                                   \
        "where(a > 0, da, da * b + a * db)")                                                                           \
    ROW(SILU,          "silu",    1, TAMIS_SHAPE_VALLEY, -1.2784645427610738, QUOTIENT(a, 1 + EXP(-a)),                 \
        "sigmoid(a) * (1 + a * sigmoid(-a)) * da")                                                                     \
    ROW(GELU,          "gelu",    1, TAMIS_SHAPE_VALLEY, -0.75179152958226,                                            \
        NUMBER(0.5) * a * ERFC(a * NUMBER(-0.70710678118654752)),                                                      \
        "(0.5 * (1 + erf(a * 0.70710678118654752)) + a * 0.39894228040143268 * exp(-0.5 * a * a)) * da")               \
    ROW(FLOOR,         "floor",   1, TAMIS_SHAPE_STEPS,  0, FLOOR(a),             "0")
/* clang-format on */

#endif
