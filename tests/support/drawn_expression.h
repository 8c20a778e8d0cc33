/* Expressions that are right, by chance. */
#ifndef TAMIS_TESTS_DRAWN_EXPRESSION_H
#define TAMIS_TESTS_DRAWN_EXPRESSION_H

#include "base/random.h"
#include "base/text_buffer.h"
#include "expression/parse.h"

/* Leaves of drawn texts of edges: all variables, and the named numbers a and b. */
static const char *const drawn_of_edges[] = {"x", "x", "s", "i", "j", "h", "a", "b", "1", "2.5", "1e-3", NULL};

/* A text of some depth, with such leaves. It may be too long, and then is cut off. */
static inline void drawn_expression(tamis_random *random, const char *const *leaves, int depth, char *text,
                                    size_t most) {
    const int kind = TAMIS_STEP_LEAVES + (int)tamis_random_below(random, TAMIS_STEP_KINDS - TAMIS_STEP_LEAVES);
    const tamis_function *const f = tamis_function_of(kind);
    const bool word = f->name[0] >= 'a' && f->name[0] <= 'z';
    char of[3][TAMIS_TEXT_MOST];
    tamis_text_buffer to = {text, most, 0};
    if (depth == 0) {
        int count = 0;
        while (leaves[count]) count++;
        tamis_text_add(&to, "%s", leaves[tamis_random_below(random, count)]);
        return;
    }
    for (int k = 0; k < f->arity; k++) drawn_expression(random, leaves, depth - 1, of[k], sizeof of[k]);
    if (word)
        tamis_text_add(&to, "%s(%s%s%s%s%s)", f->name, of[0], f->arity > 1 ? "," : "", f->arity > 1 ? of[1] : "",
                       f->arity > 2 ? "," : "", f->arity > 2 ? of[2] : "");
    else
        tamis_text_add(&to, "(%s%s%s)", f->arity > 1 ? of[0] : "", f->name, of[f->arity - 1]);
}

#endif
