/*
 * A random backward call where a device wants its arrays, with what the oracle says of it and how far from that a right
 * result may be.
 */
#ifndef TAMIS_TESTS_GRADIENT_CASE_H
#define TAMIS_TESTS_GRADIENT_CASE_H

#include <tamis/gradient.h>

#include "expression/program.h"
#include "support/problem.h"

/* Outputs of a backward call; inputs beside the samples. */
enum { OUT_A, OUT_B, OUT_D, OUT_S, OUTS };
enum { IN_A, IN_B, IN_D, IN_OUT, INS }; /* IN_OUT: the gradient of the output */

typedef struct gradient_shape {
    int64_t rows, cols, nnz; /* of S */
    double hub;              /* share of the entries that are in one row and of those in one column */
    double kept;             /* > 0: in place of nnz, this share of all places, columns rising and none twice */
    bool slice, transpose;
    tamis_format format;
    tamis_index_type index_type, offset_type;
    int64_t inner, width, batch;
    bool with_values, given_values; /* S has values; they come with the execution */
    bool wide_values;               /* in SpMM of 16-bit types they are fp32 */
    bool shared;                    /* one set of values and one A for the whole batch */
    int layouts;                    /* bits of A, B, D and the output: column-major */
    int64_t padding;
} gradient_shape;

/* Any six numbers in a row go through the formats, for each of which all else is drawn; small: quickly done. */
gradient_shape gradient_draw(tamis_operation operation, int number, bool small, tamis_random *dice);

typedef struct gradient_case {
    tamis_device *device;
    bool copies;
    gradient_shape shape;
    tamis_operation operation;
    tamis_type type, value_type; /* of S's values and of dS */
    bool rounds_factors;         /* p and dx may be rounded to the type: attention of 16 bits on tensor cores */
    bool rounds_result;          /* a row's mean of dp may be taken from the result of the forward call */
    bool lost;                   /* a row of an input is infinite: what nonzeros bring of it is not compared */
    tamis_options options;
    tamis_execution here, there; /* for the oracle, and for the device */
    pattern pattern;
    twin values;
    tamis_sparse S_here, S_there;
    const int64_t *row_of, *column_of; /* in op(S), of the caller's entries */
    int64_t rows, cols;                /* of op(S) */
    matrix in[INS], out[OUTS];
    double *old[OUTS], *want[OUTS], *bound[OUTS]; /* packed, a member after another */
    double *named_bound[TAMIS_PROGRAM_ARRAYS];    /* of the gradients, of TAMIS_F64, that here.edge_operands ask for */
} gradient_case;

/* Failures of what is not tested here end the test. */
gradient_case *gradient_case_make(tamis_device *device, tamis_operation operation, tamis_edge edge, tamis_type type,
                                  const gradient_shape *shape, double beta, tamis_random *dice);
void gradient_case_free(gradient_case *c);
OWN_POINTER(gradient_case, gradient_case_free)

/* With the case's options as they are now. */
tamis_plan *gradient_case_plan(const gradient_case *c);
tamis_gradient *gradient_case_gradient(const gradient_case *c);

/* Fills in want and bound. */
void gradient_case_expect(gradient_case *c);

/* The same of tamis_plan_edge: in[IN_OUT] are the samples, out[OUT_S] the result. */
void gradient_case_expect_edge(gradient_case *c);

/* Outputs as they were before any call: NaN where beta is 0. */
void gradient_case_poison(gradient_case *c);

/* The call, with those outputs whose bits are set. */
tamis_status gradient_case_run(const gradient_case *c, const tamis_gradient *gradient, int wanted);

/* Fetches the outputs and compares; ends the test with what is wrong. */
void gradient_case_check(gradient_case *c, int wanted, const char *what);

/* Whether there is a gradient of S's values. */
bool gradient_case_has_values(const gradient_case *c);

/* Each row of an input times a power of two of its own, 2^-range to 2^range. */
void gradient_case_spread(gradient_case *c, int which, int range, tamis_random *dice);

/* A row of an input becomes infinite, in every member. */
void gradient_case_lose(gradient_case *c, int which, int64_t row);

/* What the host has of the outputs; gradient_case_check() begins with it. */
void gradient_case_fetch(gradient_case *c);

/* All outputs that there are, as bits. */
int gradient_case_outputs(const gradient_case *c);

#endif
