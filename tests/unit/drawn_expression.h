/* Expressions that are right, by chance. */
#ifndef TAMIS_TESTS_DRAWN_EXPRESSION_H
#define TAMIS_TESTS_DRAWN_EXPRESSION_H

#include "base/random.h"
#include "base/text_buffer.h"
#include "expression/parse.h"

/* A text of some depth, in all variables and the named numbers a and b. It may be too long, and then is cut off. */
static inline void drawn_expression(tamis_random *random, int depth, char *text, size_t most) {
    const int kind = TAMIS_STEP_LEAVES + (int)tamis_random_below(random, TAMIS_STEP_KINDS - TAMIS_STEP_LEAVES);
    const tamis_function *const f = tamis_function_of(kind);
    const bool word = f->name[0] >= 'a' && f->name[0] <= 'z';
    static const char *const leaves[] = {"x", "x", "s", "i", "j", "h", "a", "b", "1", "2.5", "1e-3"};
    char of[3][TAMIS_TEXT_MOST];
    tamis_text_buffer to = {text, most, 0};
    if (depth == 0) {
        tamis_text_add(&to, "%s", leaves[tamis_random_below(random, (int64_t)(sizeof leaves / sizeof *leaves))]);
        return;
    }
    for (int k = 0; k < f->arity; k++) drawn_expression(random, depth - 1, of[k], sizeof of[k]);
    if (word)
        tamis_text_add(&to, "%s(%s%s%s%s%s)", f->name, of[0], f->arity > 1 ? "," : "", f->arity > 1 ? of[1] : "",
                       f->arity > 2 ? "," : "", f->arity > 2 ? of[2] : "");
    else
        tamis_text_add(&to, "(%s%s%s)", f->arity > 1 ? of[0] : "", f->name, of[f->arity - 1]);
}

#endif
