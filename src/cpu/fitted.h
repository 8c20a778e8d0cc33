/* The fitted numbers of the CPU's cost model, which the probe does not measure. Everything else is bytes over measured
   rates (predict.c). A method keeps the numbers that it alone needs in its own file. Times are seconds of one core. */
#ifndef TAMIS_CPU_FITTED_H
#define TAMIS_CPU_FITTED_H

typedef struct tamis_cpu_fitted {
    const char *chip;
    double interleaved; /* a nonzero beside moving its rows, with several dot products at a time */
    double row;         /* a row of S */
    double short_row;   /* the same for SpMM, which only begins and ends sums */
    double crowded;     /* a factor: SpMM with a table that fills half of L2 */
    double fp16;        /* a factor: multiply-adds whose operands are converted */
    struct {
        double dots, sums; /* how many times the measured arithmetic rate, if products are made in pairs */
        double with_amx;   /* the same for both, on processors with AMX */
    } pairs;

    struct {
        double bytes;              /* SpMM: of rows of B ahead */
        double dot_bytes;          /* SDDMM and fused: the same, beside rows of A */
        double far_bytes;          /* where L3 does not hold B */
        double least, short_least; /* and so many L2 of B must be new; the second is for rows */
        double short_row;          /* of fewer bytes than this, in SpMM */
        double same_least;         /* fused with D = B and rows that are mostly new */
    } prefetch;

    struct {
        double output,
            all; /* shares of L3: C or E, and both with B or D, from which on rows are written past the caches */
    } stream;
} tamis_cpu_fitted;

extern const tamis_cpu_fitted tamis_cpu_fit;

#endif
