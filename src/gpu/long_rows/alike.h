/* Rows that have the same columns, in blocks for long_rows.simt. */
#ifndef TAMIS_GPU_LONG_ROWS_ALIKE_H
#define TAMIS_GPU_LONG_ROWS_ALIKE_H

#include "gpu/method.h"
#include "gpu/structure/profile_host.h"

/* The host sorts them. */
enum { TAMIS_ALIKE_ROWS_MOST = TAMIS_GPU_PROFILE_ALIKE_ROWS };

/* A row; rows with the same columns, in the same order, lie next to each other and have the same `alike`. */
typedef struct tamis_gpu_alike_row {
    int64_t row, length;
    int32_t hash, alike;
} tamis_gpu_alike_row;

/* Lists all rows like that. *most: rows of the largest such set. Waits for the device. To be released with
   tamis_release. */
tamis_status tamis_gpu_alike_rows(const tamis_prepared *p, tamis_gpu_alike_row **rows, int64_t *most);

/* Puts alike rows into blocks of `each`, as int64 on the device that the plan keeps: -1 where a block has fewer. */
tamis_status tamis_gpu_alike_blocks(tamis_prepared *p, const tamis_gpu_alike_row *rows, int64_t each, void **list,
                                    int64_t *count);

#endif
