/* Programs as text. */
#ifndef TAMIS_EXPRESSION_TEXT_H
#define TAMIS_EXPRESSION_TEXT_H

#include "base/text_buffer.h"
#include "expression/program.h"

/* The normal form: the steps in order. Texts with the same normal form compute the same, and named numbers are p0, p1,
   ... in it. It is a key. */
void tamis_program_key(const tamis_program *p, tamis_text_buffer *text);

/* Declarations, without line breaks, that compute the results as r0, r1, r2: `const real t0 = x; ... const real r0 =
   t9;` in the macros of functions.h; results that the program does not have are 0. Variables are x, s, i, j, h, v; the
   first TAMIS_TEXT_ARGUMENTS named numbers are p0, p1, ..., others are constants; named arrays' numbers are n0, n1,
   .... */
enum { TAMIS_TEXT_ARGUMENTS = 3 };
void tamis_program_declarations(const tamis_program *p, const double *scalars, tamis_text_buffer *text);

/* True if the declarations are the same: the steps, and the bits of the named numbers that are constants in them. */
bool tamis_program_same_declarations(const tamis_program *p, const double *scalars, const tamis_program *other,
                                     const double *other_scalars);

#endif
