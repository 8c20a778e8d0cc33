/* Fitted numbers of the CPU's cost model, which the probe does not measure. Everything else is bytes over measured
   rates (predict.c). A method's private numbers are in its own file. Times are seconds of one core. */
#ifndef TAMIS_CPU_FITTED_H
#define TAMIS_CPU_FITTED_H

typedef struct tamis_cpu_fitted {
    const char *chip;
    double interleaved; /* a nonzero, without moving its rows, with several dot products at a time */
    double row;         /* a row of S */
    double short_row;   /* the same for SpMM, which only initialises and stores sums */
    double crowded;     /* factor: SpMM with a table that fills half of L2 */
    double fp16;        /* factor: multiply-adds with converted operands */
    struct {
        double dots, sums; /* multiples of the measured arithmetic rate, if products are made in pairs */
        double with_amx;   /* the same for both, on processors with AMX */
    } pairs;

    struct {
        double bytes;     /* prefetch distance in bytes of rows of B: SpMM */
        double dot_bytes; /* SDDMM and fused, which also read rows of A */
        double far_bytes; /* if L3 does not hold B */
        double least,
            short_least;   /* prefetch if new bytes of B exceed this multiple of L2; the second is for short rows */
        double short_row;  /* rows of fewer bytes are short, in SpMM */
        double same_least; /* the multiple for fused with D = B and mostly new rows */
    } prefetch;

    struct {
        double output, all; /* shares of L3 that C or E, or both with B or D, must exceed for non-temporal stores */
    } stream;
} tamis_cpu_fitted;

extern const tamis_cpu_fitted tamis_cpu_fit;

#endif
