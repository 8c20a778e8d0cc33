/*
 * The machine's ceilings: how fast it computes and moves bytes, as measured. Floors and the cost model stand on them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_CEILINGS_H
#define TAMIS_CEILINGS_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The machine's ceilings that floors and the cost model use. Measured once (a probe of well under a second) and
 * cached in $XDG_CACHE_HOME/tamis; built-in defaults where that is impossible. `threads` index: [0] one thread,
 * [1] all of the device's threads together. GB/s are 1e9 bytes a second, GFLOP/s 1e9 floating-point operations.
 */
typedef struct tamis_ceilings {
    bool measured;                                         /* false: built-in defaults */
    int threads;                                           /* threads that index [1] stands for */
    double fp32_gflops[2], fp64_gflops[2];                 /* fused multiply-add from registers */
    double l1_gbs[2], l2_gbs[2], l3_gbs[2], memory_gbs[2]; /* reads, a buffer that fits that level */
    double gather_gbs[2][6]; /* random rows of 512 bytes from a table of gather_bytes[i] */
    int64_t gather_bytes[6];
    uint64_t reserved[8];
} tamis_ceilings;

/* The ceilings; the first call on a machine may take the time of the probe. */
TAMIS_API tamis_status tamis_device_ceilings(tamis_device *device, tamis_ceilings *ceilings);

#ifdef __cplusplus
}
#endif

#endif
