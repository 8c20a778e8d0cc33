/* Graphs, and the checks common to all calls on a graph. */
#ifndef TAMIS_CORE_MESSAGE_H
#define TAMIS_CORE_MESSAGE_H

#include <stdatomic.h>

#include "backend/attention.h"
#include "core/graph_pass.h"
#include "core/operand.h"

struct tamis_graph {
    tamis_device *device;
    int threads; /* 0: the device's */
    bool forward_only;
    tamis_row_order row_order, column_order; /* row_order has no arrays if S is one */
    tamis_message_order rows, columns;
    int64_t *column_places;              /* NULL: not requested */
    _Atomic(tamis_graph_pass *) planned; /* the newest first; entries never change */
};

tamis_status tamis_message_check_graph(const tamis_graph *graph, const void *stream);
tamis_status tamis_message_check_backward(const tamis_graph *graph); /* checks that it has columns */
tamis_status tamis_message_check_number(const char *name, int64_t value, int64_t most);
/* Checks the type and the sizes that options have; heads = 0 becomes 1. */
tamis_status tamis_message_check_sizes(tamis_type type, int64_t *heads, int64_t width);
tamis_status tamis_message_check_unread(const char *name, const void *given, const char *why);
/* Checks the entries that max and min record: required if `needed`, or if any row and head exist; otherwise there must
   be none. */
tamis_status tamis_message_check_argument(const void *argument, tamis_index_type type, bool extreme, bool needed);
tamis_status tamis_message_check_argument_type(const tamis_graph *graph, tamis_index_type type);

/* CPU threads of a call. */
int tamis_message_threads(const tamis_graph *graph);

/* A pass with the factors 1, and without matrices; and its run, unless nothing is to be written. */
tamis_message_job tamis_message_job_of(const tamis_graph *g, void *stream, tamis_message_pass_kind kind,
                                       const tamis_message_order *order, tamis_type type, int64_t heads, int64_t width);
tamis_status tamis_message_run(const tamis_graph *g, const tamis_message_job *job);

/* The passes of a call and, if the graph has an order by columns, of its gradients, without matrices. Gradients of
   texts are left out. */
enum { TAMIS_MESSAGE_PASSES = 3 };
tamis_status tamis_message_passes(const tamis_graph *g, const tamis_message_options *options, void *stream,
                                  tamis_message_job jobs[TAMIS_MESSAGE_PASSES], int *count);

#endif
