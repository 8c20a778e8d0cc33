/*
 * Message passing as backends see it. src/core has checked everything and turned each public call into passes over one
 * order of the entries: sums or maxima over the entries of a row, sums over the elements that a maximum took, and
 * results per entry.
 */
#ifndef TAMIS_BACKEND_MESSAGE_H
#define TAMIS_BACKEND_MESSAGE_H

#include <tamis/message.h>

#include "backend/backend.h"
#include "base/text_buffer.h"
#include "expression/message.h"

/* One order of a graph's entries: rows of S, or of its transpose. Position t has entry entries[t] of S. */
typedef struct tamis_message_order {
    int64_t rows, cols, nnz;
    tamis_index_type offset_type, column_type;
    const void *offsets, *columns;
    const int64_t *entries; /* NULL: identity */
    bool over_entries;      /* TAMIS_PASS_ENTRIES may use it */
    void *plan;             /* the backend's own data about it; NULL: none */
} tamis_message_order;

/* The term of an edge: of x, the row at its other end, and y, the edge's own data. */
typedef enum tamis_message_term {
    TAMIS_TERM_X,    /* x */
    TAMIS_TERM_ADD,  /* x + sign * y */
    TAMIS_TERM_MUL,  /* x * y */
    TAMIS_TERM_Y,    /* y */
    TAMIS_TERM_GATE, /* x if z + y > 0 (z: the row at this end), else 0; x if that is NaN */
    TAMIS_TERM_RELU, /* x + y if that is > 0, else 0; NaN stays NaN */
    TAMIS_TERM_TEXT  /* a program of all three, times w if that is present */
} tamis_message_term;

typedef enum tamis_message_pass_kind {
    /* out_i = factor * sum of the terms of row i; with `mean` divided by its number of entries; with `other_offsets`
       each term is divided by the number of entries of the row at the other end */
    TAMIS_PASS_SUM,
    /* out_i = factor * max of factor * terms; `argument` gets the entries, if present */
    TAMIS_PASS_LARGEST,
    /* the sum over those elements of x whose argument, in the row at the other end, is this entry */
    TAMIS_PASS_TAKEN,
    /* out_t = factor * z_i (TAMIS_TERM_X), z_i + sign * x_j (ADD), or z_i * x_j (MUL); unless edge_data is VECTOR, the
       sum over a head's or all elements; with `mean` divided by the number of entries of row i; with arguments,
       elements whose argument in row i is another entry count as 0. GATE: factor * z_i if x_j + y > 0, with y the
       entry's own data. TEXT: factor * w_i * program */
    TAMIS_PASS_ENTRIES
} tamis_message_pass_kind;

typedef struct tamis_message_job {
    void *device, *stream; /* of a GPU */
    int threads;           /* of the CPU */
    tamis_message_pass_kind kind;
    tamis_type type;
    tamis_message_order order;
    const void *other_offsets; /* TAMIS_PASS_SUM, TAKEN: offsets of the rows at the other end */
    tamis_index_type other_offset_type;
    tamis_message_term term;
    tamis_edge_data edge_data; /* of y; for TAMIS_PASS_ENTRIES of `out` */
    int64_t heads, width;      /* 1 or more */
    double sign, factor;       /* each 1 or -1 */
    tamis_matrix x, y, z;      /* rows at the other end; per-entry data, in S's order; rows at this end */
    tamis_matrix out;
    /* TAMIS_TERM_TEXT: its u is x, v is z and e is y, or u is z and v is x if `turned`, in an order of S's columns. w
       is the gradient of the reduced messages: rows at the other end, or rows at this end if `here`, and so are
       arguments */
    const tamis_message_text *text;
    tamis_matrix w;
    tamis_place argument; /* packed; base NULL: none */
    tamis_index_type argument_type;
    bool mean, turned, here;
} tamis_message_job;

/* The leaf of a text that is the row at the other end, or at this end. */
static inline int tamis_message_leaf_there(const tamis_message_job *job) {
    return job->turned ? TAMIS_STEP_V : TAMIS_STEP_X;
}
static inline int tamis_message_leaf_here(const tamis_message_job *job) {
    return job->turned ? TAMIS_STEP_X : TAMIS_STEP_V;
}

struct tamis_message_functions {
    /* Preprocesses an order once for `run`; NULL: not needed. May wait for the stream. */
    tamis_status (*prepare)(void *device, void *stream, const tamis_message_order *order, void **plan);
    void (*release)(void *device, void *plan); /* NULL is allowed */
    tamis_status (*run)(const tamis_message_job *job);
    const char *texts; /* how a message that is a text is computed, for explanations */
    /* Adds how calls divide the rows of an order, beginning with "; ". */
    void (*explain)(const tamis_message_order *order, tamis_text_buffer *text);
};

#endif
