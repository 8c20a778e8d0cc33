#include "expression/program.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

#define NUMBER(x)                          (x)
#define SELECT(condition, this, otherwise) ((condition) ? (this) : (otherwise))
#define EXP(x)                             exp(x)
#define LOG(x)                             log(x)
#define TANH(x)                            tanh(x)
#define ERF(x)                             erf(x)
#define ERFC(x)                            erfc(x)
#define SQRT(x)                            sqrt(x)
#define FLOOR(x)                           floor(x)
#define POW(x, y)                          pow(x, y)
#define QUOTIENT(x, y)                     ((x) / (y))

static const tamis_function functions[] = {
#define ROW(NAME, name, arity, shape, turn, value, derivative) {name, derivative, arity, shape, turn},
    TAMIS_FUNCTIONS(ROW)
#undef ROW
};

const tamis_function *tamis_function_of(int kind) { return &functions[kind - TAMIS_STEP_LEAVES]; }

double tamis_function_value(int kind, double a, double b, double c) {
    (void)b;
    (void)c;
    switch (kind) {
#define ROW(NAME, name, arity, shape, turn, value, derivative)                                                         \
    case TAMIS_STEP_##NAME: return value;
        TAMIS_FUNCTIONS(ROW)
#undef ROW
    default: return a;
    }
}

/* ------------------------------------------------------------------------------------------ making */

static bool are_same(const tamis_step *a, const tamis_step *b) {
    return a->kind == b->kind && a->of[0] == b->of[0] && a->of[1] == b->of[1] && a->of[2] == b->of[2] &&
           a->number == b->number && signbit(a->number) == signbit(b->number);
}

static int add(tamis_program *p, tamis_step step) {
    for (int t = 0; t < p->count; t++)
        if (are_same(&p->steps[t], &step)) return t;
    if (p->count == TAMIS_PROGRAM_STEPS) {
        p->full = true;
        return 0;
    }
    p->steps[p->count] = step;
    return p->count++;
}

int tamis_program_number(tamis_program *p, double number) {
    return add(p, (tamis_step){.kind = TAMIS_STEP_NUMBER, .number = number});
}

int tamis_program_leaf(tamis_program *p, int kind, int number) {
    return add(p, (tamis_step){.kind = (uint8_t)kind, .of = {(uint16_t)number}});
}

static bool is(const tamis_program *p, int step, double number) {
    return p->steps[step].kind == TAMIS_STEP_NUMBER && p->steps[step].number == number;
}

/* Returns the step that a + b, a - b, a * b or a / b is already, or -1. */
static int simpler(tamis_program *p, int kind, int a, int b, int c) {
    const bool vanish = p->zeros_vanish;
    switch (kind) {
    case TAMIS_STEP_ADD: return is(p, b, 0) ? a : is(p, a, 0) ? b : -1;
    case TAMIS_STEP_SUBTRACT:
        return is(p, b, 0) ? a : vanish && is(p, a, 0) ? tamis_program_call(p, TAMIS_STEP_NEGATE, b, 0, 0) : -1;
    case TAMIS_STEP_MULTIPLY:
        if (vanish && (is(p, a, 0) || is(p, b, 0))) return is(p, a, 0) ? a : b;
        return is(p, b, 1) ? a : is(p, a, 1) ? b : -1;
    case TAMIS_STEP_DIVIDE: return is(p, b, 1) || (vanish && is(p, a, 0)) ? a : -1;
    case TAMIS_STEP_NEGATE: return p->steps[a].kind == TAMIS_STEP_NEGATE ? p->steps[a].of[0] : -1;
    case TAMIS_STEP_WHERE:
        return b == c ? b : p->steps[a].kind == TAMIS_STEP_NUMBER ? (p->steps[a].number != 0 ? b : c) : -1;
    default: return -1;
    }
}

int tamis_program_call(tamis_program *p, int kind, int a, int b, int c) {
    const int arity = tamis_function_of(kind)->arity, of[3] = {a, arity > 1 ? b : a, arity > 2 ? c : a};
    const tamis_step *const steps = p->steps;
    if (p->full) return 0;
    const int same = simpler(p, kind, of[0], of[1], of[2]);
    if (same >= 0) return same;
    bool numbers = true;
    for (int k = 0; k < arity; k++) numbers = numbers && steps[of[k]].kind == TAMIS_STEP_NUMBER;
    if (numbers) {
        const double value = tamis_function_value(kind, steps[of[0]].number, steps[of[1]].number, steps[of[2]].number);
        if (isfinite(value)) return tamis_program_number(p, value);
    }
    return add(p, (tamis_step){.kind = (uint8_t)kind, .of = {(uint16_t)of[0], (uint16_t)of[1], (uint16_t)of[2]}});
}

static int arity_of(const tamis_step *step) {
    return step->kind < TAMIS_STEP_LEAVES ? 0 : tamis_function_of(step->kind)->arity;
}

/* Keeps the steps that results need, in their order. */
static void drop_others(tamis_program *p) {
    bool needed[TAMIS_PROGRAM_STEPS] = {false};
    uint16_t moved[TAMIS_PROGRAM_STEPS] = {0};
    int count = 0;
    for (int r = 0; r < p->results; r++) needed[p->result[r]] = true;
    for (int t = p->count - 1; t >= 0; t--)
        for (int k = 0; needed[t] && k < arity_of(&p->steps[t]); k++) needed[p->steps[t].of[k]] = true;
    p->leaves = 0;
    for (int t = 0; t < p->count; t++) {
        if (!needed[t]) continue;
        tamis_step step = p->steps[t];
        for (int k = 0; k < 3 && step.kind >= TAMIS_STEP_LEAVES; k++)
            step.of[k] = moved[step.of[k < arity_of(&step) ? k : 0]];
        if (step.kind < TAMIS_STEP_LEAVES) p->leaves |= 1u << step.kind;
        moved[t] = (uint16_t)count;
        p->steps[count++] = step;
    }
    for (int r = 0; r < p->results; r++) p->result[r] = moved[p->result[r]];
    p->count = count;
}

/* A slot is free again after the last step that takes its value; a step may write where its last operand was. */
static bool take_slots(tamis_program *p) {
    int last[TAMIS_PROGRAM_STEPS];
    bool taken[TAMIS_PROGRAM_SLOTS] = {false};
    p->slots = p->constants = 0;
    for (int t = 0; t < p->count; t++) {
        last[t] = t;
        for (int k = 0; k < arity_of(&p->steps[t]); k++) last[p->steps[t].of[k]] = t;
    }
    for (int r = 0; r < p->results; r++) last[p->result[r]] = p->count;
    for (int t = 0; t < p->count; t++) {
        const tamis_step *const step = &p->steps[t];
        int slot = 0;
        if (tamis_step_is_constant(step->kind)) {
            p->steps[t].slot = (uint8_t)p->constants++;
            continue;
        }
        for (int k = 0; k < arity_of(step); k++)
            if (last[step->of[k]] == t && !tamis_step_is_constant(p->steps[step->of[k]].kind))
                taken[p->steps[step->of[k]].slot] = false;
        while (slot < TAMIS_PROGRAM_SLOTS && taken[slot]) slot++;
        if (slot == TAMIS_PROGRAM_SLOTS) return false;
        taken[slot] = true;
        p->steps[t].slot = (uint8_t)slot;
        if (slot >= p->slots) p->slots = slot + 1;
    }
    return p->constants <= TAMIS_PROGRAM_CONSTANTS;
}

tamis_status tamis_program_finish(tamis_program *p, const int *results, int count) {
    if (p->full)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: it has more than %d steps, with its derivatives: shorten it",
                          p->what, TAMIS_PROGRAM_STEPS);
    p->results = count;
    for (int r = 0; r < count; r++) p->result[r] = (uint16_t)results[r];
    drop_others(p);
    if (take_slots(p)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                      "%s: it has more than %d numbers, or needs more than %d values at the same time, with its "
                      "derivatives: shorten it",
                      p->what, TAMIS_PROGRAM_CONSTANTS, TAMIS_PROGRAM_SLOTS);
}

static bool same_step(const tamis_step *x, const tamis_step *y) {
    return x->kind == y->kind && memcmp(x->of, y->of, sizeof x->of) == 0 && x->number == y->number;
}

bool tamis_program_same(const tamis_program *p, const tamis_program *q) {
    bool same = p->count == q->count && p->results == q->results;
    for (int t = 0; t < p->count && same; t++) same = same_step(&p->steps[t], &q->steps[t]);
    for (int r = 0; r < p->results && same; r++) same = p->result[r] == q->result[r];
    return same;
}
