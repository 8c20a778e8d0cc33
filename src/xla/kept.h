/*
 * Patterns in host memory with the plans that calls have needed. XLA brings the index arrays anew with each call, in
 * buffers of its own: a pattern is known again by its content, which is compared with a copy, in a time that is that of
 * reading it. What is checked once, profiled and transposed then serves all later calls.
 */
#ifndef TAMIS_XLA_KEPT_H
#define TAMIS_XLA_KEPT_H

#include "xla/call.h"
#include <tamis/gradient.h>

/* A plan or a gradient, by the call's form. */
typedef struct kept_plan {
    call_form form;
    tamis_plan *plan;
    tamis_gradient *gradient;
    struct kept_plan *next;
} kept_plan;

/* Finds or makes the plan for a call. It stays until tamis_xla_let_go. */
typedef struct kept_pattern kept_pattern;
tamis_status tamis_xla_keep(tamis_device *device, const call *c, kept_pattern **pattern, const kept_plan **plan);
void tamis_xla_let_go(kept_pattern *pattern);

/* S and the options of a call, with the index arrays in XLA's buffers. */
tamis_sparse tamis_xla_sparse(const call *c);
tamis_options tamis_xla_options(const call *c);

#endif
