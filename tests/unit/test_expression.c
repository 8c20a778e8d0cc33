/* The language of edges: values and derivatives against formulas in C and against differences, places in messages,
   normal forms, and any text at all. */
#include "support/test.h"

#include "base/random.h"
#include "base/text_buffer.h"
#include "cpu/variants.h"
#include "expression/differentiate.h"
#include "expression/edge.h"
#include "expression/text.h"
#include "reference/expression.h"
#include "support/drawn_expression.h"
#include "support/seed.h"

/* ------------------------------------------------------------------------------------------ values */

#define A 0.75 /* the named numbers of all texts here */
#define B -1.25

static const char *const names[] = {"a", "b"};
static const double numbers[] = {A, B};
enum { NUMBERS = 2 };

typedef struct formula_row {
    const char *text;
    double (*value)(double x, double s, double i, double j, double h);
} formula_row;

#define FORMULA(name, formula)                                                                                         \
    static double name(double x, double s, double i, double j, double h) {                                             \
        (void)x, (void)s, (void)i, (void)j, (void)h;                                                                   \
        return formula;                                                                                                \
    }
FORMULA(sum, x + s - 2.5)
FORMULA(order, x + s * 2 - i / 4)
FORMULA(left, x - s - 1)
FORMULA(quotients, x / 2 / 4)
FORMULA(signs, -(-x) - -s)
FORMULA(parentheses, (x + s) * (x - s))
FORMULA(power_of_sign, -pow(x, 2))
FORMULA(capped, tanh(x / A) * A)
FORMULA(logistic, s / (1 + exp(-x)))
FORMULA(gauss, exp(-0.5 * (x - s) * (x - s)) / 3)
FORMULA(softplus, log(1 + exp(-fabs(x))) + (x > 0 ? x : 0))
FORMULA(error_function, erf(x) + erf(s) * B)
FORMULA(roots, sqrt(x *x + 1) / sqrt(1 + s * s))
FORMULA(powers, pow(1 + fabs(x), 1.5) + pow(x, 3) - pow(2, s))
FORMULA(causal, j <= i ? x : -1e9)
FORMULA(window, fabs(i - j) < 3 ? x + A : x * B)
FORMULA(slopes, pow(2, -(h + 1)) * (j - i) + x)
FORMULA(clamped, fmin(fmax(x, -0.5), 0.5) + s)
FORMULA(compared, (x < s) + 2 * (x <= s) + 4 * (x > s) + 8 * (x >= s) + 16 * (x == s) + 32 * (x != s))
FORMULA(rectified, x > 0 ? x * s : 0)
FORMULA(silu_of, x / (1 + exp(-x)) * s)
FORMULA(gelu_of, 0.5 * (x + s) * (1 + erf((x + s) / sqrt(2))))
FORMULA(steps, floor(x * 3) / 3 + s)
FORMULA(literals, 1e-3 + .5 * 2.5e+1 - 1E2 * x)
FORMULA(constant, 6.25)
FORMULA(named, A *x + B * s)

static const formula_row formulas[] = {
    {"x + s - 2.5", sum},
    {"x + s * 2 - i / 4", order},
    {"x - s - 1", left},
    {"x / 2 / 4", quotients},
    {"--x - -s", signs},
    {"(x + s) * (x - s)", parentheses},
    {"-pow(x, 2)", power_of_sign},
    {"tanh(x / a) * a", capped},
    {"s * sigmoid(x)", logistic},
    {"exp(-0.5 * (x - s) * (x - s)) / 3", gauss},
    {"log(1 + exp(-abs(x))) + relu(x)", softplus},
    {"erf(x) + erf(s) * b", error_function},
    {"sqrt(x * x + 1) * rsqrt(1 + s * s)", roots},
    {"pow(1 + abs(x), 1.5) + pow(x, 3) - pow(2, s)", powers},
    {"where(j <= i, x, -1e9)", causal},
    {"where(abs(i - j) < 3, x + a, x * b)", window},
    {"pow(2, -(h + 1)) * (j - i) + x", slopes},
    {"min(max(x, -0.5), 0.5) + s", clamped},
    {"(x < s) + 2 * (x <= s) + 4 * (x > s) + 8 * (x >= s) + 16 * (x == s) + 32 * (x != s)", compared},
    {"relu(x) * s", rectified},
    {"silu(x) * s", silu_of},
    {"gelu(x + s)", gelu_of},
    {"floor(x * 3) / 3 + s", steps},
    {"1e-3 + .5 * 2.5e+1 - 1E2 * x", literals},
    {"2.5 * 2.5", constant},
    {"a*x+b*s", named},
};
enum { FORMULAS = sizeof formulas / sizeof *formulas, POINTS = 200 };

static tamis_program parsed(const char *text) {
    tamis_program p;
    works(tamis_program_parse(&p, &tamis_edge_form, text, names, NUMBERS));
    return p;
}

typedef struct point {
    double x, s, i, j, h;
} point;

static double between(tamis_random *random, double low, double high) {
    return low + (high - low) * tamis_random_uniform(random);
}

static point draw_point(tamis_random *random) {
    return (point){between(random, -3, 3), between(random, -2, 2), (double)tamis_random_below(random, 9),
                   (double)tamis_random_below(random, 9), (double)tamis_random_below(random, 3)};
}

/* By the CPU's kernels of fp64. */
static void run(const tamis_program *p, const tamis_variables *v, int n, double *const *results) {
    const tamis_cpu_variant *variant;
    works(tamis_cpu_variant_choose(&variant));
    variant->dense[TAMIS_F64]->program(p, v, n, results);
}

/* The results of a program at one point. */
static void evaluate(const tamis_program *p, point at, double results[TAMIS_PROGRAM_RESULTS]) {
    const tamis_variables v = {&at.x, &at.s, &at.i, &at.j, at.h, numbers, NULL};
    run(p, &v, 1, (double *const[]){&results[0], &results[1], &results[2]});
}

TEST(values_are_those_of_formulas) {
    tamis_random random = tamis_random_start(test_seed(), 1);
    for (int k = 0; k < FORMULAS; k++) {
        const tamis_program p = parsed(formulas[k].text);
        for (int n = 0; n < POINTS; n++) {
            const point at = draw_point(&random);
            double found[TAMIS_PROGRAM_RESULTS];
            evaluate(&p, at, found);
            const double want = formulas[k].value(at.x, at.s, at.i, at.j, at.h);
            if (fabs(found[0] - want) > 1e-13 * (1 + fabs(want)))
                fail_msg("%s at x = %g, s = %g: %.17g, expected %.17g", formulas[k].text, at.x, at.s, found[0], want);
        }
    }
}

/* Many samples at once are those one by one, with variables that do not change and those that do. */
TEST(blocks_are_their_samples) {
    tamis_random random = tamis_random_start(test_seed(), 2);
    double x[TAMIS_PROGRAM_RUN], s[TAMIS_PROGRAM_RUN], i[TAMIS_PROGRAM_RUN], j[TAMIS_PROGRAM_RUN];
    double found[TAMIS_PROGRAM_RESULTS][TAMIS_PROGRAM_RUN];
    const double h = 2;
    for (int n = 0; n < TAMIS_PROGRAM_RUN; n++) {
        const point at = draw_point(&random);
        x[n] = at.x, s[n] = at.s, i[n] = at.i, j[n] = at.j;
    }
    const tamis_variables v = {x, s, i, j, h, numbers, NULL};
    for (int k = 0; k < FORMULAS; k++) {
        tamis_program p = parsed(formulas[k].text);
        works(tamis_program_differentiate(&p));
        run(&p, &v, TAMIS_PROGRAM_RUN, (double *const[]){found[0], found[1], found[2]});
        for (int n = 0; n < TAMIS_PROGRAM_RUN; n++) {
            double one[TAMIS_PROGRAM_RESULTS];
            evaluate(&p, (point){x[n], s[n], i[n], j[n], h}, one);
            for (int r = 0; r < TAMIS_PROGRAM_RESULTS; r++)
                assert_true(one[r] == found[r][n] || (isnan(one[r]) && isnan(found[r][n])));
        }
    }
}

/* ------------------------------------------------------------------------------------------ derivatives */

/* Powers at 0, where a product of 0 and infinity would be NaN; the exponent is a number, a variable or the value. */
TEST(derivatives_of_powers_at_zero) {
    static const struct {
        const char *text;
        double x, s, by_x, by_s;
    } cases[] = {{"pow(x, s)", 0, 0, 0, 0},
                 {"pow(x, s)", 0, 2, 0, 0},
                 {"pow(x, s)", 0, 1, 1, 0},
                 {"pow(s, x)", 1, 0, 0, 1},
                 {"pow(x, 0)", 0, 0, 0, 0},
                 {"pow(x, 3)", 0, 0, 0, 0},
                 {"pow(x, s)", 2, 3, 12, 5.545177444479562}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tamis_program p = parsed(cases[k].text);
        double found[TAMIS_PROGRAM_RESULTS];
        works(tamis_program_differentiate(&p));
        evaluate(&p, (point){cases[k].x, cases[k].s, 0, 0, 0}, found);
        if (!(fabs(found[1] - cases[k].by_x) < 1e-12 && fabs(found[2] - cases[k].by_s) < 1e-12))
            fail_msg("%s at x = %g, s = %g: %g, %g", cases[k].text, cases[k].x, cases[k].s, found[1], found[2]);
    }
}

/* Between two points the derivative is the difference's, unless something jumps or bends there: then differences of two
   lengths disagree, and the point is left out. */
TEST(derivatives_are_differences) {
    tamis_random random = tamis_random_start(test_seed(), 3);
    int compared = 0, left_out = 0;
    for (int k = 0; k < FORMULAS; k++) {
        tamis_program p = parsed(formulas[k].text);
        works(tamis_program_differentiate(&p));
        for (int n = 0; n < POINTS; n++) {
            const point at = draw_point(&random);
            double found[TAMIS_PROGRAM_RESULTS];
            evaluate(&p, at, found);
            for (int by = 1; by <= 2; by++) {
                double slope[2];
                for (int half = 0; half < 2; half++) {
                    const double d = 1e-4 / (1 + half), dx = by == 1 ? d : 0, ds = by == 2 ? d : 0;
                    slope[half] = (formulas[k].value(at.x + dx, at.s + ds, at.i, at.j, at.h) -
                                   formulas[k].value(at.x - dx, at.s - ds, at.i, at.j, at.h)) /
                                  (2 * d);
                }
                const double allowed = 1e-5 * (1 + fabs(slope[1]));
                left_out += fabs(slope[0] - slope[1]) > allowed;
                compared++;
                if (fabs(slope[0] - slope[1]) <= allowed && fabs(found[by] - slope[1]) > allowed)
                    fail_msg("%s by %s at x = %g, s = %g: %.12g, expected %.12g", formulas[k].text, by == 1 ? "x" : "s",
                             at.x, at.s, found[by], slope[1]);
            }
        }
    }
    assert_true(left_out * 50 < compared);
}

TEST(derivatives_by_named_numbers) {
    tamis_program p = parsed("tanh(x / a) * a + b * b");
    int results[2] = {p.result[0], 0};
    works(tamis_differentiate(&p, p.result[0], TAMIS_STEP_SCALAR, 0, &results[1]));
    works(tamis_program_finish(&p, results, 2));
    double found[TAMIS_PROGRAM_RESULTS];
    const double x = 0.5, y = tanh(x / A);
    evaluate(&p, (point){.x = x}, found);
    assert_true(fabs(found[0] - (y * A + B * B)) < 1e-14);
    assert_true(fabs(found[1] - (y - x / A * (1 - y * y))) < 1e-14);
}

/* Where a branch is not taken, its derivative is not either, however large it is. */
TEST(branches_do_not_spoil_derivatives) {
    tamis_program p = parsed("where(x > 0, log(x) * sqrt(x), s)");
    works(tamis_program_differentiate(&p));
    double found[TAMIS_PROGRAM_RESULTS];
    evaluate(&p, (point){.x = 0, .s = 3}, found);
    assert_true(found[0] == 3 && found[1] == 0 && found[2] == 1);
    evaluate(&p, (point){.x = -1, .s = 3}, found);
    assert_true(found[0] == 3 && found[1] == 0 && found[2] == 1);
}

/* ------------------------------------------------------------------------------------------ bounds */

/* Each step in fp32, with x anywhere within d: the oracle's bound of the value and of both derivatives holds, and says
   something of nearly all points. */
TEST(bounds_hold_and_are_narrow) {
    static const tamis_edge_number given[] = {{"a", A}, {"b", B}};
    static const double distances[] = {0, 1e-6, 1e-3};
    tamis_random random = tamis_random_start(test_seed(), 5);
    int wide = 0, all = 0;
    for (int k = 0; k < FORMULAS; k++) {
        tamis_options o = with_edge(TAMIS_EDGE_TEXT);
        tamis_edge_text *text = NULL;
        o.edge_text = formulas[k].text;
        o.edge_numbers = given;
        o.edge_number_count = NUMBERS;
        works(tamis_edge_text_make(&o, &text));
        for (int n = 0; n < 3 * POINTS; n++) {
            point at = draw_point(&random);
            at.x = (double)(float)at.x;
            const double d = distances[n % 3], x = at.x + 0.7 * between(&random, -d, d), /* and it is rounded */
                variables[] = {x, at.s, at.i, at.j, at.h};
            const tamis_program *const p = &text->all;
            tamis_edge_result bound[TAMIS_PROGRAM_RESULTS];
            float step[TAMIS_PROGRAM_STEPS];
            tamis_edge_results(p, text, TAMIS_F32, at.s, at.x, d,
                               (tamis_edge_place){(int64_t)at.i, (int64_t)at.j, (int64_t)at.h}, bound);
            for (int t = 0; t < p->count; t++) {
                const tamis_step *const s = &p->steps[t];
                step[t] = (float)(s->kind == TAMIS_STEP_NUMBER   ? s->number
                                  : s->kind == TAMIS_STEP_SCALAR ? numbers[s->of[0]]
                                  : s->kind < TAMIS_STEP_LEAVES
                                      ? variables[s->kind - TAMIS_STEP_X]
                                      : tamis_function_value(s->kind, (double)step[s->of[0]], (double)step[s->of[1]],
                                                             (double)step[s->of[2]]));
            }
            for (int r = 0; r < TAMIS_PROGRAM_RESULTS; r++) {
                const double found = (double)step[p->result[r]];
                if (isnan(found) && isnan(bound[r].is)) continue;
                all++;
                wide += !(bound[r].off <= 1e-4 * (1 + fabs(bound[r].is)) + 200 * d * (1 + fabs(bound[r].is)));
                if (!(fabs(found - bound[r].is) <= bound[r].off))
                    fail_msg("%s, result %d at x = %g within %g, s = %g: %.9g, expected %.9g within %.3g",
                             formulas[k].text, r, at.x, d, at.s, found, bound[r].is, bound[r].off);
            }
        }
        tamis_release(text);
    }
    assert_true(wide * 20 < all);
}

/* ------------------------------------------------------------------------------------------ messages */

static const struct {
    const char *text, *message;
} faults[] = {
    {"", "^edge:1:1: expected a number, a name or '(', not the end$"},
    {"x +", "^edge:1:4: expected a number, a name or '(', not the end$"},
    {"  x * 2 + s * tahn(x)", "^edge:1:15: unknown name 'tahn'; did you mean 'tanh'?$"},
    {"x\n  + sigmod(x)", "^edge:2:5: unknown name 'sigmod'; did you mean 'sigmoid'?$"},
    {"x + elephant",
     "^edge:1:5: unknown name 'elephant'; names are x, s, i, j, h, row.NAME, col.NAME, entry.NAME, head.NAME, functions "
     "and the named numbers$"},
    {"x + y", "^edge:1:5: unknown name 'y'; names are"},
    {"tanh x", "^edge:1:6: tanh is a function: expected '(' after it, not 'x'$"},
    {"tanh", "^edge:1:5: tanh is a function: expected '(' after it, not the end$"},
    {"max(x)", "^edge:1:1: max takes 2 operands, not 1$"},
    {"x + exp(x, s)", "^edge:1:5: exp takes 1 operand, not 2$"},
    {"where(x, s, 1, 2)", "^edge:1:1: where takes 3 operands, not 4$"},
    {"exp()", "^edge:1:5: expected a number, a name or '(', not ')'$"},
    {"(x + s", "^edge:1:7: expected ')' after an expression in parentheses, not the end$"},
    {"exp(x", "^edge:1:6: expected ')' after the operands of a function, not the end$"},
    {"x + s)", "^edge:1:6: expected an operator or the end, not ')'$"},
    {"x s", "^edge:1:3: expected an operator or the end, not 's'$"},
    {"x ** 2", "^edge:1:4: expected a number, a name or '(', not '*'$"},
    {"x = s", "^edge:1:3: expected an operator or the end, not '='$"},
    {"0 < x < 1", "^edge:1:7: comparisons do not chain: put one of them in parentheses before '<'$"},
    {"2x", "^edge:1:2: a number goes on with what is no digit$"},
    {"1.2.3", "^edge:1:4: a number goes on with what is no digit$"},
    {"1e999", "^edge:1:1: the number does not fit 64 bits: '1e999'$"},
    {"x + \xc3\xa9", "^edge:1:5: expected a number, a name or '(', not '?'$"},
    {"x; system(1)", "^edge:1:2: expected an operator or the end, not ';'$"},
    {"rows.b", "^edge:1:1: 'rows.b': arrays are row.NAME, col.NAME, entry.NAME and head.NAME$"},
    {"x + row.b.c", "^edge:1:5: 'row.b.c': arrays are row.NAME"},
    {"row.", "^edge:1:1: unknown name 'row'; "},
    {"row.b(x)", "^edge:1:6: expected an operator or the end, not '('$"},
    {"1 + softmax(x)", "^edge:1:5: softmax is the last step, over each row: the whole edge is softmax"},
    {"softmax(x) * 2", "^edge:1:12: softmax is the last step: expected the end after it, not '*'$"},
    {"softmax x", "^edge:1:9: expected '(' after softmax, not 'x'$"},
    {"softmax(x, s)", "^edge:1:10: expected ')' after the operand of softmax, not ','$"},
    {"row.b0+row.b1+row.b2+row.b3+row.b4+row.b5+row.b6+row.b7+row.b8", "^edge:1:57: more than 8 named arrays"},
    {"x[0]", "^edge:1:2: expected an operator or the end, not '['$"},
};

TEST(faults_have_places) {
    tamis_program p;
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
        REFUSED(ARGUMENT, faults[k].message, tamis_program_parse(&p, &tamis_edge_form, faults[k].text, names, NUMBERS));
}

TEST(names_are_checked) {
    tamis_program p;
    static const char *const wrong[][2] = {
        {"2a", "does not begin with a letter"}, {"a b", "is not up to 32 letters"},   {"x", "is that of a variable"},
        {"exp", "is that of a function"},       {"softmax", "is that of a function"},

        {"a", "two numbers have the name 'a'"}, {"", "does not begin with a letter"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        REFUSED(ARGUMENT, wrong[k][1],
                tamis_program_parse(&p, &tamis_edge_form, "x", (const char *const[]){"a", wrong[k][0]}, 2));
    REFUSED(ARGUMENT, "17 named numbers: expected at most 16",
            tamis_program_parse(&p, &tamis_edge_form, "x", names, 17));
    REFUSED(ARGUMENT, "its text is NULL", tamis_program_parse(&p, &tamis_edge_form, NULL, names, 0));
}

/* Each limit is reached by a text, which is refused, and by none that is a little smaller. */
TEST(limits_are_kept) {
    tamis_program p;
    char text[2 * TAMIS_TEXT_MOST] = "";
    for (int k = 0; k < TAMIS_TEXT_DEPTH; k++) strcat(text, "(");
    strcat(text, "x");
    REFUSED(ARGUMENT, "^edge:1:65: more than 64 levels of parentheses",
            tamis_program_parse(&p, &tamis_edge_form, text, NULL, 0));
    text[0] = '\0';
    for (int k = 0; k < 40; k++) strcat(text, "exp(");
    strcat(text, "x");
    for (int k = 0; k < 40; k++) strcat(text, ")");
    works(tamis_program_parse(&p, &tamis_edge_form, text, NULL, 0));
    assert_int_equal(p.count, 41);
    assert_int_equal(p.slots, 1);
    memset(text, ' ', sizeof text);
    strcpy(text + TAMIS_TEXT_MOST - 1, "x");
    works(tamis_program_parse(&p, &tamis_edge_form, text, NULL, 0));
    strcpy(text + TAMIS_TEXT_MOST, "x");
    REFUSED(ARGUMENT, "a text of more than 1024 bytes", tamis_program_parse(&p, &tamis_edge_form, text, NULL, 0));
    text[0] = '\0';
    for (int k = 0; k < 70; k++) sprintf(text + strlen(text), "%sx*%d", k ? "+" : "", k + 2);
    REFUSED(UNSUPPORTED, "it has more than 64 numbers", tamis_program_parse(&p, &tamis_edge_form, text, NULL, 0));
}

/* ------------------------------------------------------------------------------------------ normal forms */

static void key_of(const char *text, char key[4096]) {
    const tamis_program p = parsed(text);
    tamis_text_buffer to = {key, 4096, 0};
    tamis_program_key(&p, &to);
}

/* Texts that mean the same by the order of their steps have one key; others do not. */
TEST(normal_forms) {
    static const char *const same[][2] = {{"x*s", "( x ) *  s"},
                                          {"x + 0", "x"},
                                          {"1 * x", "x"},
                                          {"2 * 3 + x", "6.0 + x"},
                                          {"--x", "x"},
                                          {"x * x + x * x", "(x*x) + (x*x)"},
                                          {"where(1, x, s)", "x"},
                                          {"where(x, s, s)", "s"},
                                          {"x / 1.0", "x"}};
    static const char *const other[][2] = {
        {"x * s", "x + s"}, {"x - s", "s - x"}, {"a * x", "b * x"}, {"x * 2", "x * 2.5"}, {"x * 0", "0"}};
    char one[4096], two[4096];
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        key_of(same[k][0], one);
        key_of(same[k][1], two);
        assert_string_equal(one, two);
    }
    for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
        key_of(other[k][0], one);
        key_of(other[k][1], two);
        assert_string_not_equal(one, two);
    }
    key_of("tanh(x / a) * a", one);
    assert_string_equal(one, "x;p0;/ 0,1;tanh 2;* 3,1;=4");
}

/* ------------------------------------------------------------------------------------------ any text */

static const char *const tokens[] = {"x",    "s",    "i",     "j",   "h",   "a",    "b",     "1",   "0",    "2.5",
                                     "1e-3", "(",    ")",     "(",   ")",   ",",    ",",     "+",   "-",    "*",
                                     "/",    "<",    "<=",    "==",  "!=",  " ",    "\n",    "$",   "=",    "e",
                                     ".",    "tanh", "where", "pow", "max", "gelu", "floor", "log", "sqrt", "unknown"};
enum { TOKENS = sizeof tokens / sizeof *tokens };

/* What is parsed can be differentiated, written and run; what is not has a message with a place. */
static int try_text(const char *text) {
    tamis_program p;
    char key[1 << 16];
    double found[TAMIS_PROGRAM_RESULTS];
    if (tamis_program_parse(&p, &tamis_edge_form, text, names, NUMBERS) != TAMIS_OK) {
        assert_true(message_says(tamis_last_error(), "^edge:"));
        return 0;
    }
    assert_true(p.count > 0 && p.count <= TAMIS_PROGRAM_STEPS && p.slots <= TAMIS_PROGRAM_SLOTS);
    if (tamis_program_differentiate(&p) != TAMIS_OK) {
        assert_true(message_says(tamis_last_error(), "shorten it"));
        return 0;
    }
    for (int t = 0; t < p.count; t++)
        for (int k = 0; k < 3 && p.steps[t].kind >= TAMIS_STEP_LEAVES; k++) assert_true(p.steps[t].of[k] < t);
    tamis_program_key(&p, &(tamis_text_buffer){key, sizeof key, 0});
    tamis_program_declarations(&p, numbers, &(tamis_text_buffer){key, sizeof key, 0});
    evaluate(&p, (point){0.5, -1, 3, 2, 1}, found);
    return 1;
}

TEST(any_tokens_are_read_or_refused) {
    tamis_random random = tamis_random_start(test_seed(), 4);
    int read = 0;
    for (int n = test_rounds(20000, 4000); n > 0; n--) {
        char text[512] = "";
        const int64_t count = tamis_random_below(&random, 24);
        for (int64_t k = 0; k < count; k++) strcat(text, tokens[tamis_random_below(&random, TOKENS)]);
        read += try_text(text);
    }
    for (int n = test_rounds(4000, 1000); n > 0; n--) {
        char text[64];
        const int64_t count = tamis_random_below(&random, 63);
        for (int64_t k = 0; k < count; k++) text[k] = (char)(1 + tamis_random_below(&random, 255));
        text[count] = '\0';
        try_text(text);
    }
    for (int n = test_rounds(4000, 1000); n > 0; n--) {
        char text[4 * TAMIS_TEXT_MOST];
        drawn_expression(&random, drawn_of_edges, 1 + (int)tamis_random_below(&random, 4), text, sizeof text);
        read += try_text(text);
    }
    assert_true(read > 1000);
}
