/*
 * The handlers by which XLA, and so JAX, calls Tamis: libtamis_xla. One for each platform; what to compute is in the
 * call's attributes. tamis.jax registers them by their address, so nothing is compiled on the user's machine.
 */
#ifndef TAMIS_XLA_HANDLER_H
#define TAMIS_XLA_HANDLER_H

#include "xla/interface.h"
#include <tamis/tamis.h>

/* To be called before the handlers are registered. cpu: the device that the handler for CPUs computes on, which must
   stay open. minor: the minor version of XLA's interface, which the handlers then say they are for: some versions of
   XLA take handlers of their own version alone. */
TAMIS_API void tamis_xla_start(tamis_device *cpu, int minor);

TAMIS_API xla_error *tamis_xla_cpu(xla_frame *frame);
TAMIS_API xla_error *tamis_xla_cuda(xla_frame *frame);

#endif
