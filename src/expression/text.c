#include "expression/text.h"

#include <string.h>

#include "base/c_locale.h"

static const char *const formulas[] = {
#define ROW(NAME, name, arity, shape, turn, value, derivative) #value,
    TAMIS_FUNCTIONS(ROW)
#undef ROW
};

/* A leaf; the caller has set the C locale. */
static void add_leaf(const tamis_step *step, tamis_text_buffer *text) {
    static const char variables[] = {
        [TAMIS_STEP_X] = 'x', [TAMIS_STEP_S] = 's', [TAMIS_STEP_I] = 'i',   [TAMIS_STEP_J] = 'j',
        [TAMIS_STEP_H] = 'h', [TAMIS_STEP_V] = 'v', [TAMIS_STEP_PART] = 'h'};
    if (step->kind == TAMIS_STEP_NUMBER)
        tamis_text_add(text, "NUMBER(%.17e)", step->number);
    else if (step->kind == TAMIS_STEP_SCALAR)
        tamis_text_add(text, "p%d", step->of[0]);
    else if (tamis_step_is_array(step->kind))
        tamis_text_add(text, "n%d", step->of[0]);
    else
        tamis_text_add(text, "%c", variables[step->kind]);
}

/* A formula, with the operands' steps instead of a, b and c. */
static void add_formula(const tamis_step *step, tamis_text_buffer *text) {
    const char *const formula = formulas[step->kind - TAMIS_STEP_LEAVES];
    for (const char *c = formula; *c; c++) {
        const bool before = c > formula && (c[-1] == '_' || (c[-1] >= 'A' && c[-1] <= 'Z'));
        if (*c >= 'a' && *c <= 'c' && !before)
            tamis_text_add(text, "t%d", step->of[*c - 'a']);
        else
            tamis_text_add(text, "%c", *c);
    }
}

static const char *const array_kinds[] = {"row", "col", "entry", "head"}; /* from TAMIS_STEP_ROW on */

void tamis_program_key(const tamis_program *p, tamis_text_buffer *text) {
    const locale_t before = tamis_c_locale_enter();
    for (int t = 0; t < p->count; t++) {
        const tamis_step *const step = &p->steps[t];
        const tamis_function *const f = step->kind < TAMIS_STEP_LEAVES ? NULL : tamis_function_of(step->kind);
        if (t > 0) tamis_text_add(text, ";");
        if (step->kind == TAMIS_STEP_NUMBER)
            tamis_text_add(text, "%.17g", step->number);
        else if (!f)
            add_leaf(step, text);
        if (tamis_step_is_array(step->kind))
            tamis_text_add(text, " %s", array_kinds[step->kind - TAMIS_STEP_ROW]);
        else if (f)
            tamis_text_add(text, "%s", f->name);
        for (int k = 0; f && k < f->arity; k++) tamis_text_add(text, "%c%d", k > 0 ? ',' : ' ', step->of[k]);
    }
    for (int r = 0; r < p->results; r++) tamis_text_add(text, "%s%d", r > 0 ? "," : ";=", p->result[r]);
    if (p->softmax) tamis_text_add(text, ";softmax");
    tamis_c_locale_leave(before);
}

void tamis_program_declarations(const tamis_program *p, const double *scalars, tamis_text_buffer *text) {
    const locale_t before = tamis_c_locale_enter();
    for (int t = 0; t < p->count; t++) {
        const tamis_step *const step = &p->steps[t];
        tamis_text_add(text, "const real t%d = ", t);
        if (step->kind == TAMIS_STEP_SCALAR && step->of[0] >= TAMIS_TEXT_ARGUMENTS)
            tamis_text_add(text, "NUMBER(%.17e)", scalars[step->of[0]]);
        else if (step->kind < TAMIS_STEP_LEAVES)
            add_leaf(step, text);
        else
            add_formula(step, text);
        tamis_text_add(text, "; ");
    }
    for (int r = 0; r < TAMIS_PROGRAM_RESULTS; r++)
        tamis_text_add(text, r < p->results ? "const real r%d = t%d; " : "const real r%d = 0; ", r,
                       p->result[r < p->results ? r : 0]);
    tamis_c_locale_leave(before);
}

static uint64_t bits_of(double number) { /* tells -0 from 0 */
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

bool tamis_program_same_declarations(const tamis_program *p, const double *scalars, const tamis_program *other,
                                     const double *other_scalars) {
    if (!tamis_program_same(p, other)) return false;
    for (const tamis_step *step = p->steps; step < p->steps + p->count; step++)
        if (step->kind == TAMIS_STEP_SCALAR && step->of[0] >= TAMIS_TEXT_ARGUMENTS &&
            bits_of(scalars[step->of[0]]) != bits_of(other_scalars[step->of[0]]))
            return false;
    return true;
}
