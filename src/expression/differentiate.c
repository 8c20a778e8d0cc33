/* Forward: each step's derivative from its operands' derivatives, by the rule of its row, which is a text of the
   language itself. Steps that exist already are shared. */
#include "expression/differentiate.h"

#include "base/status.h"
#include "expression/parse.h"

static bool is_leaf(const tamis_step *step, int kind, int number) {
    return step->kind == kind && step->of[0] == number;
}

static tamis_status differentiate_call(tamis_program *p, int of, const int *by, int *step) {
    const tamis_step it = p->steps[of];
    const tamis_function *const f = tamis_function_of(it.kind);
    const int zero = by[of]; /* what a derivative is until it is known */
    bool changes = false;
    for (int k = 0; k < f->arity; k++) changes = changes || by[it.of[k]] != zero;
    *step = zero;
    if (!changes) return TAMIS_OK;
    const tamis_meaning meanings[] = {{"a", it.of[0]},      {"b", it.of[1]},      {"c", it.of[2]},      {"f", of},
                                      {"da", by[it.of[0]]}, {"db", by[it.of[1]]}, {"dc", by[it.of[2]]}, {NULL, 0}};
    return tamis_parse(p, f->derivative, meanings, step);
}

tamis_status tamis_differentiate(tamis_program *p, int of, int kind, int number, int *step) {
    int by[TAMIS_PROGRAM_STEPS];
    const int zero = tamis_program_number(p, 0), one = tamis_program_number(p, 1);
    tamis_status status = TAMIS_OK;
    p->zeros_vanish = true;
    for (int t = 0; t <= of && status == TAMIS_OK; t++) {
        by[t] = zero;
        if (p->steps[t].kind >= TAMIS_STEP_LEAVES)
            status = differentiate_call(p, t, by, &by[t]);
        else if (is_leaf(&p->steps[t], kind, number))
            by[t] = one;
    }
    p->zeros_vanish = false;
    if (status == TAMIS_OK) *step = by[of];
    return status;
}

tamis_status tamis_program_differentiate(tamis_program *p) {
    int results[TAMIS_PROGRAM_RESULTS] = {p->result[0]};
    TRY(tamis_differentiate(p, results[0], TAMIS_STEP_X, 0, &results[1]));
    TRY(tamis_differentiate(p, results[0], TAMIS_STEP_S, 0, &results[2]));
    return tamis_program_finish(p, results, TAMIS_PROGRAM_RESULTS);
}
