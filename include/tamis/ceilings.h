/* The machine's ceilings: its measured arithmetic throughput and bandwidths, as in a roofline. Floors and the cost
   model use them. */
#ifndef TAMIS_CEILINGS_H
#define TAMIS_CEILINGS_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The machine's ceilings. A probe of about a second measures them once, and they are cached in $XDG_CACHE_HOME/tamis.
 * TAMIS_CEILINGS may name a folder with further files of that cache. Without a cache, a probe of at most 0.1 s measures
 * some, and the others are built-in defaults; on a GPU (CUDA and OpenCL) all are defaults, the same for every chip.
 * Index [0] is for one thread, [1] for all of the device's threads together. GB/s are 1e9 bytes per second, GFLOP/s 1e9
 * floating-point operations per second.
 */
typedef struct tamis_ceilings {
    bool measured;                                         /* false: built-in defaults */
    int threads;                                           /* number of threads of index [1] */
    double fp32_gflops[2], fp64_gflops[2];                 /* fused multiply-add from registers */
    double l1_gbs[2], l2_gbs[2], l3_gbs[2], memory_gbs[2]; /* reads of a buffer that fits into that level */
    double gather_gbs[2][6]; /* random rows of 512 bytes from a table of gather_bytes[i] */
    int64_t gather_bytes[6];
    double others_processors; /* processors used by other processes during the probe; 0: none, or not known */
    bool doubtful;            /* no two probes agreed, or others used processors: the rates may be too low */
    uint64_t reserved[6];
} tamis_ceilings;

/* Returns the ceilings. The first call on a machine may run the probe, up to four times until two runs agree. A later
   process measures doubtful ceilings again, after a minute at the earliest. */
TAMIS_API tamis_status tamis_device_ceilings(tamis_device *device, tamis_ceilings *ceilings);

/* Measures the ceilings again, and replaces the earlier ones. With TAMIS_PROBE=0 this is tamis_device_ceilings. */
TAMIS_API tamis_status tamis_device_probe(tamis_device *device, tamis_ceilings *ceilings);

/*
 * The factor by which the predicted time of an algorithm is multiplied on a device, because the cost model was fitted
 * on few chips. The command `tamis tune-device` measures these factors on matrices that it generates. If an algorithm
 * has several rows for the operation and type of a problem, the row with the nearest number of columns (K; L for SpMM)
 * applies.
 */
typedef struct tamis_correction {
    char algorithm[48];
    tamis_operation operation;
    tamis_type type;
    int64_t columns, cases; /* of the measured problems; number of measurements */
    double factor;
    uint64_t reserved[4];
} tamis_correction;

#define TAMIS_CORRECTIONS_MOST 128

/* Replaces the corrections for this device, its instruction set and its threads, in memory and on disk; count = 0
   removes them. Later plans use them, except with TAMIS_PROBE=0. TAMIS_ERROR_FILE: the file cannot be written; the
   corrections then apply to this process only. */
TAMIS_API tamis_status tamis_device_correct(tamis_device *device, const tamis_correction *rows, int64_t count);

/* Copies at most `most` of the device's corrections to rows; sets *count to their total number. */
TAMIS_API tamis_status tamis_device_corrections(tamis_device *device, tamis_correction *rows, int64_t most,
                                                int64_t *count);

/* The least time that a call can take at the rates of memory and of arithmetic, if each input is read once and each
   output written once. Data that stay in a cache from one call to the next may be faster. */
typedef struct tamis_floor {
    double flops;           /* multiplications and additions of the products; edges and scaling are not counted */
    double bytes;           /* of S, of the rows of A, B and D that its nonzeros need, and of the output */
    double seconds;         /* the larger of the two times; 0 if there is nothing to compute or no ceiling is known */
    bool memory_bound;      /* the bytes decide, not the arithmetic */
    double bandwidth, peak; /* the ceilings used, in GB/s and GFLOP/s; 0: not known */
    uint64_t reserved[6];
} tamis_floor;

/* Finds the floor of a call on a valid host S. It depends only on the options that change what is computed, and on
   d_is_b. adds: beta is not 0, so the old output is read. all_threads: use the ceilings of all threads together (always
   for a GPU), else of one thread. ceilings: NULL to find flops and bytes only. */
TAMIS_API tamis_status tamis_floor_find(const tamis_sparse *S, const tamis_options *options, bool adds,
                                        const tamis_ceilings *ceilings, bool all_threads, tamis_floor *floor);

#ifdef __cplusplus
}
#endif

#endif
