/* The oracle of edges that are texts: a program in double, and in what interval a right evaluation of it may be. */
#ifndef TAMIS_REFERENCE_EXPRESSION_H
#define TAMIS_REFERENCE_EXPRESSION_H

#include "expression/edge.h"
#include "reference/edges.h"

/* Where a sample is. */
typedef struct tamis_edge_place {
    int64_t row, column, member;
    double named[TAMIS_PROGRAM_ARRAYS]; /* what the text's arrays have there */
} tamis_edge_place;

/* Variables of a program, by TAMIS_STEP_...; named array k is number TAMIS_STEP_LEAVES + k. */
enum { TAMIS_VARIABLES = TAMIS_STEP_LEAVES + TAMIS_PROGRAM_ARRAYS };

/* A result of a program, and how far an evaluation may be from it; infinite where nothing bounds it. */
typedef struct tamis_edge_result {
    double is, off;
    bool one_class; /* a right evaluation is finite, or infinite, or NaN, as this is */
    bool jumps;     /* a comparison or floor is undecided, and evaluations differ by more than roundings */
} tamis_edge_result;

/* The first result of a program, by itself. */
double tamis_program_value(const tamis_program *program, const double *scalars,
                           const double variables[TAMIS_VARIABLES]);

/* The results of a program. variables[TAMIS_STEP_X] is known within d. Returns the largest number on the way. */
double tamis_program_results(const tamis_program *program, const double *scalars, tamis_type type,
                             const double variables[TAMIS_VARIABLES], double d,
                             tamis_edge_result results[TAMIS_PROGRAM_RESULTS]);

/* The same of a program of the edge. */
double tamis_edge_results(const tamis_program *program, const tamis_edge_text *edge, tamis_type type, double s,
                          double x, double d, tamis_edge_place place, tamis_edge_result results[TAMIS_PROGRAM_RESULTS]);

/* The edge at one nonzero. x is known within d. */
tamis_edge_point tamis_edge_text_at(const tamis_edge_text *edge, tamis_type type, double s, double x, double d,
                                    tamis_edge_place place);

#endif
