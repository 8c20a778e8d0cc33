/* Blocks of rows with the same columns, for long_rows.simt. */
#ifndef TAMIS_GPU_LONG_ROWS_ALIKE_H
#define TAMIS_GPU_LONG_ROWS_ALIKE_H

#include "gpu/method.h"
#include "gpu/structure/profile_host.h"

/* A limit, since the host sorts them. */
enum { TAMIS_ALIKE_ROWS_MOST = TAMIS_GPU_PROFILE_ALIKE_ROWS };

/* A row. Rows with the same columns in the same order are adjacent and have equal `alike`. */
typedef struct tamis_gpu_alike_row {
    int64_t row, length;
    int32_t hash, alike;
} tamis_gpu_alike_row;

/* Lists all rows, grouped by equal columns. *most: size of the largest group. Waits for the device. Release the list
   with tamis_release. */
tamis_status tamis_gpu_alike_rows(const tamis_prepared *p, tamis_gpu_alike_row **rows, int64_t *most);

/* Puts alike rows into blocks of `each` (int64, -1 as padding), in device memory of the plan. */
tamis_status tamis_gpu_alike_blocks(tamis_prepared *p, const tamis_gpu_alike_row *rows, int64_t each, void **list,
                                    int64_t *count);

#endif
