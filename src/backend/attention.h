/*
 * Attention on graphs and segments as backends see them. src/core has checked everything. Attention is one pass over
 * the rows forward, and backward one over the rows and one over the columns. Outputs with base NULL are not wanted.
 */
#ifndef TAMIS_BACKEND_ATTENTION_H
#define TAMIS_BACKEND_ATTENTION_H

#include <tamis/graph_attention.h>

#include "backend/message.h"

typedef enum tamis_attention_pass {
    /* out and log_sums from q, k, v, e, b */
    TAMIS_ATTENTION_FORWARD,
    /* dq, de, db and `weights` from these and d_out; out and log_sums are inputs */
    TAMIS_ATTENTION_BACK_ROWS,
    /* dk and dv from q and d_out, over the columns: rows of `order` are columns of S, and the other end is a row */
    TAMIS_ATTENTION_BACK_COLUMNS
} tamis_attention_pass;

typedef struct tamis_attention_job {
    void *device, *stream; /* stream and device of a GPU */
    int threads;           /* CPU threads */
    tamis_attention_pass pass;
    tamis_type type; /* log_sums and weights: fp32, or fp64 with fp64 */
    tamis_message_order order;
    int64_t heads, width; /* heads is 1 or more */
    double scale;
    tamis_matrix q, k, v, e, b, out, log_sums; /* e and b may be absent */
    tamis_matrix d_out, dq, dk, dv, de, db;
    tamis_place weights; /* per entry of S: p of each head, then the gradient of the score of each head */
} tamis_attention_job;

typedef struct tamis_segment_job {
    void *device, *stream; /* stream and device of a GPU */
    int threads;           /* CPU threads */
    bool back;
    tamis_segment_op op;
    tamis_type type;
    tamis_message_order order; /* order.entries: the row of each entry in the matrices of edges */
    int64_t heads;             /* 1 or more: members of the matrices, which have a column each */
    tamis_matrix x, out;       /* x is read; backward: `out` is dX */
    tamis_matrix d_out;        /* backward */
    tamis_place argument;      /* packed; base NULL: none */
    tamis_index_type argument_type;
} tamis_segment_job;

struct tamis_attention_functions {
    tamis_status (*attend)(const tamis_attention_job *job);
    tamis_status (*segment)(const tamis_segment_job *job); /* NULL: none */
    /* places[t]: the position in `columns` of the entry at position t of `rows`, two orders of the same entries. The
       backend allocates and releases the array. NULL: not supported */
    tamis_status (*column_places)(const tamis_problem *problem, const tamis_message_order *rows,
                                  const tamis_message_order *columns, int64_t **places);
};

#endif
