/* Gradients as groups of devices use them: a rank has a part of the matrix, and its outputs are parts of sums. */
#ifndef TAMIS_CORE_GRADIENT_H
#define TAMIS_CORE_GRADIENT_H

#include <tamis/gradient.h>

/*
 * Does what tamis_gradient_create does. With `partial`, the gradients of the matrices that have a row for each of S's
 * columns (B and D; with the transpose A) are parts of sums that the caller completes: they are overwritten, whatever
 * execution.beta is, and have the type of sums.
 */
tamis_status tamis_gradient_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                 bool partial, tamis_gradient **gradient);

#endif
