/* The fitted numbers of the CPU's cost model: what the probe does not measure. Everything else is bytes over measured
   rates (predict.c, tiles.c). Times are seconds of one core. */
#ifndef TAMIS_CPU_FITTED_H
#define TAMIS_CPU_FITTED_H

typedef struct tamis_cpu_fitted {
    const char *chip;
    /* a nonzero beside moving its rows: in ours, with one dot product after another, in the naive loop */
    double interleaved, one_by_one, naive;
    double row;        /* a row of S */
    double short_row;  /* the same of SpMM, which only begins and ends sums */
    double crowded;    /* SpMM with a table that fills half of L2, as a factor */
    double fp16;       /* multiply-adds whose operands are converted, as a factor */
    double beyond;     /* SpMM with rows of B from memory, as a factor */
    double whole_rows; /* cpu-rows: what handing out rows takes, as a factor */
    struct {
        double dots, sums; /* products in pairs, in place of one by one: how many times the measured arithmetic rate */
    } pairs;

    struct {
        double bytes;              /* SpMM: of rows of B ahead */
        double same_bytes;         /* fused with D = B: the same, beside which L1 has the piece under way */
        double least, short_least; /* and so many L2 of B must be new; the second is for rows */
        double short_row;          /* of fewer bytes than this */
    } prefetch;

    struct {
        double output,
            all; /* shares of L3: C or E, and both with B or D, from which on rows are written past the caches */
    } stream;

    struct {
        double entry, nonzero; /* of a run, beside moving the row and the multiply-adds */
        double sample;         /* a reduction's share, and the sample that goes to its place */
        double run;            /* its loop: a branch, and sums that are loaded and stored */
        double row;            /* sums that are cleared and written out */
        double unseen;         /* as a factor */
        double local;          /* the same where neighbouring rows find each other's rows of B anyway */
        double fused;          /* the same of that operation */
        double bf16;           /* the same of that type, which is widened for each product */
        double single;         /* an entry of one row, beside what it costs without panels, as a share of that */
        double setup_nonzero;
    } panels;

    struct {
        double nonzero;            /* index, address, share of a reduction, as far as they do not overlap */
        double entry;              /* visiting an entry of the table */
        double segment;            /* its loop, the row of A, the reduction of what is left over */
        double wait_nonzero,       /* a segment's part of S comes from a new place in memory: each nonzero waits, */
            wait_most;             /* until the hardware has seen where it goes, unless the products take as long */
        double l1_share, l2_share; /* of a cache that a tile may fill */
        double unseen;             /* what the model does not see, as a factor */
        double setup_segment, setup_nonzero; /* building the table */
    } tiles;
} tamis_cpu_fitted;

extern const tamis_cpu_fitted tamis_cpu_fit;

#endif
