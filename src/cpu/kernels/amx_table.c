/*
 * The kernels of cpu-amx, for bf16: with AMX's tiles, or with tiles in memory for tests. It is compiled like table.c;
 * TAMIS_AMX_TABLE is the table's name.
 */
#include "cpu/kernels/kernels.h"
#include "cpu/methods/amx/products.h"

extern const tamis_cpu_amx_kernels TAMIS_AMX_TABLE;

const tamis_cpu_amx_kernels TAMIS_AMX_TABLE = {
#if !defined(__AMX_BF16__)
    .emulated = true,
#endif
    .kernels = {[TAMIS_OP_SDDMM] = amx_sddmm, [TAMIS_OP_SPMM] = amx_spmm},
    .pack = {[TAMIS_OP_SDDMM] = amx_pack_sddmm, [TAMIS_OP_SPMM] = amx_pack_spmm},
};
