/* Gradients for groups of devices: a rank has a part of the matrix, and its outputs are partial sums. */
#ifndef TAMIS_CORE_GRADIENT_H
#define TAMIS_CORE_GRADIENT_H

#include <tamis/gradient.h>

/*
 * As tamis_gradient_create. With `partial`, the gradients of the matrices that have a row for each of S's columns (B
 * and D; with the transpose A) are partial sums that the caller completes: they are overwritten, whatever
 * execution.beta is, and have the accumulator type.
 */
tamis_status tamis_gradient_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                 bool partial, tamis_gradient **gradient);

#endif
