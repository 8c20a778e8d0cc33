/* Programs as text. */
#ifndef TAMIS_EXPRESSION_TEXT_H
#define TAMIS_EXPRESSION_TEXT_H

#include "base/text_buffer.h"
#include "expression/program.h"

/* The normal form: the steps in order. Texts with the same normal form compute the same, and named numbers are p0, p1,
   ... in it. It is a key. */
void tamis_program_key(const tamis_program *p, tamis_text_buffer *text);

/* Declarations, without line breaks, that compute the results as r0, r1, ...: `const real t0 = x; ... const real r0 =
   t9;` in the macros of functions.h; variables are x, s, i, j, h, and named numbers p0, p1, ... */
void tamis_program_declarations(const tamis_program *p, tamis_text_buffer *text);

#endif
