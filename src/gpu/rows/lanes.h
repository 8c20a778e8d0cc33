/* How teams of lanes share a row of C, in numbers that sum_kernels.h is compiled for: what gpu-rows and gpu-teams have
 * in common. */
#ifndef TAMIS_GPU_ROWS_LANES_H
#define TAMIS_GPU_ROWS_LANES_H

#include "gpu/method.h"

/* The first parameters of both methods. */
enum { TAMIS_LANES_TEAM, TAMIS_LANES_SPLIT, TAMIS_LANES_GROUP, TAMIS_LANES_LOADS, TAMIS_LANES_SLICE, TAMIS_LANES_OWN };

/* Elements in 16 bytes; pieces of 16 bytes of a row of C that a lane may have. */
int64_t tamis_gpu_lanes_piece(const tamis_problem *problem);
int64_t tamis_gpu_lanes_pieces_most(const tamis_problem *problem);

/* Columns of C in even slices of whole cache lines, of about so many bytes and no wider than a team takes. */
int64_t tamis_gpu_lanes_slice(const tamis_problem *problem, int64_t bytes);

/* Lanes that share a slice of a row of C, and the pieces that each of them has: two where there are many, so that what
   is handed round serves two loads. */
int64_t tamis_gpu_lanes_usual(const tamis_problem *problem, int64_t slice, int64_t *pieces);

/* Share of the rows of B that L1 does not have. Rows of S at work on a multiprocessor at the same time pass through the
   columns at about the same pace, so that they find what a panel has in common; those of different length less of it.
 */
double tamis_gpu_new_rows(const tamis_problem *problem);

/* Predicted seconds of a nonzero, whose part of a row of B has so many bytes. */
double tamis_gpu_lanes_nonzero(const tamis_problem *problem, double bytes);

/* Registers that a work-item's sums take, with the elements, address, column and weight of each row under way. */
int64_t tamis_gpu_lanes_registers(const tamis_prepared *p);

/* Makes the parameters fit the problem and the device, and counts the slices. A slice of 0 becomes `usual_slice`. */
tamis_status tamis_gpu_lanes_check(tamis_prepared *p, int64_t usual_slice, int64_t *slices);

/* Defines the constants of sum_kernels.h. */
void tamis_gpu_define_lanes(tamis_gpu_definitions *definitions, const tamis_prepared *p, int64_t slices);

/* Bit 2 of `wide`: units of C can be written at once. Bit 3: columns and values can be read 16 bytes at a time. */
int tamis_gpu_lanes_whole(const tamis_prepared *p, const tamis_operands *x);

#endif
