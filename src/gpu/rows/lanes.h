/* How the lanes of a team divide a row of C: the constants of sum_kernels.h, shared by gpu-rows and gpu-teams. */
#ifndef TAMIS_GPU_ROWS_LANES_H
#define TAMIS_GPU_ROWS_LANES_H

#include "gpu/method.h"

/* The first parameters of both methods. */
enum { TAMIS_LANES_TEAM, TAMIS_LANES_SPLIT, TAMIS_LANES_GROUP, TAMIS_LANES_LOADS, TAMIS_LANES_SLICE, TAMIS_LANES_OWN };

/* Elements in 16 bytes; most pieces of 16 bytes per lane of a row of C. */
int64_t tamis_gpu_lanes_piece(const tamis_problem *problem);
int64_t tamis_gpu_lanes_pieces_most(const tamis_problem *problem);

/* Columns of C per slice: even slices of whole cache lines, of about `bytes` and no wider than a team. */
int64_t tamis_gpu_lanes_slice(const tamis_problem *problem, int64_t bytes);

/* Lanes that divide a slice of a row of C, and the pieces of each: two if there are many, since an exchanged value then
   serves two loads. */
int64_t tamis_gpu_lanes_usual(const tamis_problem *problem, int64_t slice, int64_t *pieces);

/* L1 miss rate of rows of B. Rows of S that run on a multiprocessor at the same time pass through the columns at about
   the same pace, so they share the columns that a panel has in common; rows of different length share less. */
double tamis_gpu_new_rows(const tamis_problem *problem);

/* Predicted seconds of a nonzero whose part of a row of B has this many bytes. */
double tamis_gpu_lanes_nonzero(const tamis_problem *problem, double bytes);

/* Pieces per lane of a row of C: enough for the slice; the same for all widths if compilation is slow. */
int64_t tamis_gpu_lanes_pieces(const tamis_prepared *p);

/* True if aligned rows of B come in whole pieces of 16 bits. The compiler converts them when they come, which takes
   twice their registers, unless it is told for how many groups registers must suffice: then it converts when it adds.
 */
bool tamis_gpu_lanes_packed(const tamis_prepared *p);

/* Registers of a work-item for its sums, and for the elements, address, column and weight of each row in flight.
   packed: 16 bits take half a register. */
int64_t tamis_gpu_lanes_registers(const tamis_prepared *p, bool packed);

/* Adjusts the parameters to the problem and the device, and counts the slices. A slice of 0 becomes `usual_slice`. */
tamis_status tamis_gpu_lanes_check(tamis_prepared *p, int64_t usual_slice, int64_t *slices);

/* Defines the constants of sum_kernels.h. */
void tamis_gpu_define_lanes(tamis_gpu_definitions *definitions, const tamis_prepared *p, int64_t slices);

/* Further bits of `wide`. Bit 2: units of C can be stored as vectors. Bit 3: columns and values allow 16-byte loads. */
int tamis_gpu_lanes_whole(const tamis_prepared *p, const tamis_operands *x);

#endif
