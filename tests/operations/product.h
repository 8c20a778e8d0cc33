/* SDDMM, SpMM and fused as the rows of all algorithms and of gradients have them. */
#ifndef TAMIS_TESTS_PRODUCT_H
#define TAMIS_TESTS_PRODUCT_H

#include "base/edges.h"
#include "support/expect.h"
#include "support/operation.h"

enum { NAMED_MOST = 5 }; /* arrays that texts name */
enum { A, B, D, VALUES, OUT, D_OUT, D_A, D_B, D_D, D_S, PAIRS, NAMED, D_NAMED = NAMED + NAMED_MOST, SAMPLES = D_OUT };
typedef enum product_kind { PRODUCT_ALONE, PRODUCT_WITH_GRADIENTS, PRODUCT_EDGE, PRODUCT_SCORES } product_kind;

typedef struct product {
    product_kind kind;
    tamis_operation operation;
    test_call call;
    problem p;                            /* its operands are the case's, on the host */
    twin values, others;                  /* of S, and what is not to be read */
    bool has_values, later;               /* values come with the execution */
    bool same, promised, unnamed;         /* D is B, and the plan is told so; it is NULL then */
    bool alternates;                      /* the plan is executed with the other kind of D before */
    matrix aside;                         /* which lies as B */
    bool cuts;                            /* parameters that cut even small problems */
    tamis_edge_operand named[NAMED_MOST]; /* on the host */
    tamis_options options;                /* of the open plan */
    tamis_execution execution;
    tamis_plan *plan;
    tamis_gradient *gradient;
} product;

void product_draw(operation_case *c, product_kind kind);
void product_fill(operation_case *c);
void product_forget(operation_case *c);
/* Options and execution of a call by that algorithm; NULL: chosen. c->there gets S's values. */
void product_prepare(operation_case *c, const char *algorithm);
void product_close(operation_case *c);
/* The execution of the open plan, with the arrays on the device. */
tamis_execution product_execution(const operation_case *c, tamis_edge_operand there[NAMED_MOST]);
tamis_status product_pass(operation_case *c); /* by the plan, or without one at once */
tamis_status product_back(operation_case *c);
void product_reference(operation_case *c);

#endif
