/* The machine's ceilings: its measured arithmetic throughput and bandwidths, as in a roofline. Floors and the cost
   model use them. */
#ifndef TAMIS_CEILINGS_H
#define TAMIS_CEILINGS_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The machine's ceilings. A probe of 0.2 s measures them once, and they are cached in $XDG_CACHE_HOME/tamis.
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

/* Returns the ceilings. The first call on a machine may run the probe. A later process measures doubtful ceilings
   again, after a minute at the earliest. */
TAMIS_API tamis_status tamis_device_ceilings(tamis_device *device, tamis_ceilings *ceilings);

/* Measures the ceilings again, up to four times until two measurements agree, and replaces the earlier ones. With
 * TAMIS_PROBE=0 this is tamis_device_ceilings. */
TAMIS_API tamis_status tamis_device_probe(tamis_device *device, tamis_ceilings *ceilings);

/*
 * Predictions of times count what an algorithm moves and computes. The probe's bandwidths and some rates, as the
 * seconds of an entry, turn the counts into seconds. Rates are built in for the chips on which they were fitted; on
 * another chip `tamis tune-device` fits them to timings of all algorithms on matrices that it generates, and these
 * functions do so to any timings. Not with TAMIS_PROBE=0, which leaves the built-in rates.
 */
typedef struct tamis_timings tamis_timings;

/* Makes an empty list of timings on a device, which must outlive it. NULL is ignored by tamis_timings_destroy. */
TAMIS_API tamis_status tamis_timings_create(tamis_device *device, tamis_timings **timings);
TAMIS_API void tamis_timings_destroy(tamis_timings *timings);

/* Adds the seconds that an execution of a plan took. label: one line of at most 191 characters that names the problem,
   the same for all plans of it; of the plan nothing is kept but sizes, options and the pattern's profile. A problem
   whose edge is an expression, or that has no entries, adds nothing. */
TAMIS_API tamis_status tamis_timings_add(tamis_timings *timings, const char *label, const tamis_plan *plan,
                                         double seconds);

/* True if a problem with this label has timings. */
TAMIS_API bool tamis_timings_has(const tamis_timings *timings, const char *label);

/* Writes all timings as a text, which tamis_timings_read takes. It is truncated to `bytes`, including a final zero.
 *needed (may be NULL) is the full length including the zero. text may be NULL if bytes is 0. */
TAMIS_API tamis_status tamis_timings_write(const tamis_timings *timings, char *text, size_t bytes, size_t *needed);

/* Adds the timings of a text; name: where it comes from, for messages. A case that is cut short at its end is left out.
   TAMIS_ERROR_FILE: it is damaged, of another machine than the timings that are there, or of a version of the library
   that counted otherwise. */
TAMIS_API tamis_status tamis_timings_read(tamis_timings *timings, const char *text, const char *name);

/* True unless the timings were read from a file of another machine: then none can be added, and rates not kept. */
TAMIS_API bool tamis_timings_are_own(const tamis_timings *timings);

/* How well predictions choose among the algorithms that were timed. */
typedef struct tamis_choices_judged {
    int64_t cases; /* problems with two or more timed algorithms */
    double mean; /* time of the algorithm that is predicted to be the fastest, over the fastest one's: geometric mean */
    double within; /* share of the cases in which that is at most 1.10 */
    double most;   /* the largest */
    double error;  /* of all predictions: root of the mean square of log(predicted / measured) */
    uint64_t reserved[4];
} tamis_choices_judged;

typedef struct tamis_fit {
    int rates;                          /* number of rates that the timings depend on */
    tamis_choices_judged before, after; /* all cases, with the device's rates of today and with the fitted ones */
    tamis_choices_judged crossed;       /* each third of the patterns, with rates that were fitted to the others */
    uint64_t reserved[4];
} tamis_fit;

/* Fits the rates that are built in for the device to the timings. The device keeps its rates until tamis_timings_keep.
   TAMIS_ERROR_ARGUMENT: there are no timings. */
TAMIS_API tamis_status tamis_timings_fit(tamis_timings *timings, tamis_fit *fit);

/* Keeps the fitted rates for this device, its instruction set and its threads, and for all GPUs of the same model, in
   memory and in the cache: later plans predict by them. TAMIS_ERROR_FILE: the file cannot be written; the rates then
   apply to this process only. TAMIS_ERROR_ARGUMENT: the timings were read from a file of another machine. */
TAMIS_API tamis_status tamis_timings_keep(const tamis_timings *timings);

/* Writes the fitted rates as the lines of a profile that can be built in (docs/manual/new-chip.md); the text as above.
 */
TAMIS_API tamis_status tamis_timings_export(const tamis_timings *timings, char *text, size_t bytes, size_t *needed);

/* Writes whose rates predict on the device: a line such as "built in for this chip: AMD EPYC", which names the chip on
   whose timings they were fitted. It is truncated to `bytes`, including a final zero. *needed (may be NULL) is the full
   length including the zero. text may be NULL if bytes is 0. */
TAMIS_API tamis_status tamis_device_rates(tamis_device *device, char *text, size_t bytes, size_t *needed);

/* Removes the device's fitted rates, in memory and in the cache. */
TAMIS_API tamis_status tamis_device_forget_rates(tamis_device *device);

/* Corrections of version 0.2, which rates replace. tamis_device_correct returns TAMIS_ERROR_UNSUPPORTED unless count is
   0; tamis_device_corrections finds none. */
typedef struct tamis_correction {
    char algorithm[48];
    tamis_operation operation;
    tamis_type type;
    int64_t columns, cases;
    double factor;
    uint64_t reserved[4];
} tamis_correction;
#define TAMIS_CORRECTIONS_MOST 128
TAMIS_API tamis_status tamis_device_correct(tamis_device *device, const tamis_correction *rows, int64_t count);
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
