/* Bounds of messages that are sums. */
#ifndef TAMIS_REFERENCE_MESSAGE_H
#define TAMIS_REFERENCE_MESSAGE_H

#include <tamis/reference.h>

/* How far the results of tamis_reference_message may be off, and unless dOut is NULL the gradients: what an evaluation
   of each message may, and `roundings` of its size. Infinite: not bounded. */
tamis_status tamis_reference_message_bounds(const tamis_sparse *S, const tamis_message_options *options,
                                            const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *E,
                                            double roundings, double *out, double *du, double *de);

#endif
