/* Checks of the dense matrices of calls: one list for plans, gradients, graphs, segments and dense companions. */
#ifndef TAMIS_CORE_OPERAND_H
#define TAMIS_CORE_OPERAND_H

#include "core/device.h"
#include "sparse/overlap.h"

/* Checks presence, layout, location, sizes, type, alignment and address; the members of an output must not overlap. */
tamis_status tamis_operand_check(const tamis_device *device, const tamis_operand *x);

/* Checks all of them, and that no output shares memory with another of them. */
tamis_status tamis_operands_check(const tamis_device *device, const tamis_operand *const *all, int count);

/* Describes a single matrix for backends; NULL: absent. */
tamis_matrix tamis_matrix_of(const tamis_dense *X);

#endif
