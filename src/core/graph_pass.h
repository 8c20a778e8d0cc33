/* Passes over graphs that plans of operations compute. */
#ifndef TAMIS_CORE_GRAPH_PASS_H
#define TAMIS_CORE_GRAPH_PASS_H

#include "backend/message.h"
#include "base/text_buffer.h"
#include "core/plan.h"

/* A kind of pass that an operation computes. */
typedef enum tamis_pass_role {
    TAMIS_OWN_KERNEL, /* no operation computes it */
    TAMIS_SUM_OF_ROWS,
    TAMIS_WEIGHTED_SUM,
    TAMIS_DOT_PRODUCTS
} tamis_pass_role;

tamis_pass_role tamis_pass_role_of(const tamis_message_job *job);
tamis_operation tamis_pass_operation(tamis_pass_role role);

/* A pass that was planned. It never changes once it is in a graph's list. */
typedef struct tamis_graph_pass {
    struct tamis_graph_pass *next;
    tamis_pass_role role;
    const void *offsets; /* of the order, which names it */
    tamis_type type;
    int64_t all; /* elements of a row */
    int threads;
    tamis_plan *plan;                 /* NULL: the graph's own kernel is the fastest */
    double own_seconds, best_seconds; /* of a call by it, and by the best algorithm; 0: not known */
    char best[64];
    const char *chosen_by;
} tamis_graph_pass;

/* The entry of a list for such a pass; NULL: there is none. */
const tamis_graph_pass *tamis_graph_pass_find(const tamis_graph_pass *list, const tamis_message_job *job,
                                              tamis_pass_role role);

/* Computes a pass by the plan that was made for such passes; sets *done to false if there is none. */
tamis_status tamis_graph_pass_run(const tamis_graph_pass *list, const tamis_message_job *job, bool *done);

void tamis_graph_passes_release(tamis_graph_pass *list);
/* `rows`: the offsets of the order by rows. */
void tamis_graph_passes_explain(const tamis_graph_pass *list, const void *rows, tamis_text_buffer *text);

#endif
