/* One operation on given operands, for check, bench and run. */
#ifndef TOOL_PROBLEM_H
#define TOOL_PROBLEM_H

#include <tamis/ceilings.h>
#include <tamis/reference.h>

#include <stdbool.h>

#include "cli/device.h"
#include "cli/json.h"
#include "cli/operands.h"
#include "cli/text.h"

typedef struct tool_problem {
    tamis_operation operation;
    tamis_edge edge; /* TAMIS_EDGE_TEXT and more: the expressions of cli/edges.h */
    tamis_type type;
    tamis_math math;      /* TF32: plans may round inputs, and the oracle allows for it */
    int64_t inner, width; /* SpMM: inner is the width too */
    int64_t batch;        /* dense operands over the one S, their batch_stride apart; 0 and 1: a single one */
    bool d_is_b;          /* fused with K = L: D is the view B, as promised to the plan */
    double edge_scale, edge_slope, edge_epsilon;
    double alpha, beta;
    tamis_sparse S;
    tamis_dense A, B, D;
    tamis_dense output; /* SDDMM: nnz x 1 */
} tool_problem;

bool tool_uses_edge(tamis_operation operation);

/* Returns a problem without operands. width: of fused; 0: K. With the edge's scale, 1 / sqrt(K), exp of dot products of
   random terms does not overflow. */
tool_problem tool_problem_of(tamis_operation operation, tamis_edge edge, tamis_type type, int64_t inner, int64_t width);

int64_t tool_problem_batch(const tool_problem *problem); /* 1 or more */
/* Returns one member of the batch as a problem, on the host. */
tool_problem tool_problem_member(const tool_problem *problem, int64_t member);

/* Computes the floor on a device, by the ceilings of `threads` threads; S is on the host. */
tamis_status tool_problem_floor(const tool_problem *problem, const tool_device *device, int threads,
                                tamis_floor *floor);

/* "sddmm softmax", "spmm" */
tool_word tool_problem_name(const tool_problem *problem);

/* Writes the problem as members of an object; the width of a sampled product is 0. */
void tool_json_problem(tool_json *json, const tool_problem *problem, const char *matrix);

/* Returns the options of a plan; the caller adds algorithm, threads and expected calls. */
tamis_options tool_problem_options(const tool_problem *problem);
tamis_status tool_problem_execute(const tool_problem *problem, const tamis_plan *plan);

/* Makes the oracle of a problem whose operands are on the host, for a budget of multiplications. */
tamis_status tool_problem_oracle(const tool_problem *problem, double budget, tamis_oracle **oracle);

/* The operands with their owned memory. */
typedef struct tool_operands {
    tool_dense A, B, D, output;
} tool_operands;

/* Makes and fills the operands that the operation needs, and writes their views to the problem. Values are uniform in
   [-1, 1), and the same for any layout; for `quotient` A and B are in [0.1, 1), so that no quotient is near its pole. A
   batch of more than one is row-major. */
tamis_status tool_operands_random(tool_problem *problem, tamis_layout layout, int64_t padding, int64_t shift,
                                  uint64_t seed, tool_operands *operands);
void tool_operands_free(tool_operands *operands);

#endif
