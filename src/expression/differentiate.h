/* Derivatives of programs, as steps of the same program. */
#ifndef TAMIS_EXPRESSION_DIFFERENTIATE_H
#define TAMIS_EXPRESSION_DIFFERENTIATE_H

#include "expression/program.h"

/* The derivative of step `of` by the leaf that has this kind (and number, if it is a scalar or an array, else 0): *step
   becomes its step. The program must be finished again. */
tamis_status tamis_differentiate(tamis_program *p, int of, int kind, int number, int *step);

/* Makes the results of a program with one result its value, its derivative by x and its derivative by s. */
tamis_status tamis_program_differentiate(tamis_program *p);

#endif
