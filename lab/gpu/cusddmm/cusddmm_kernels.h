/*
 * Shared by the kernels of cuSDDMM (Nisa et al.: Sampled Dense Matrix Multiplication): slices of K are launches in
 * order, and `sums` holds the partial sums between them, each with one writer.
 */
#define WHOLE  0 /* one slice: the sample is finished at once */
#define FIRST  1
#define MIDDLE 2
#define LAST   3

#define PIECES_OF_ROW (TK / PIECE)

/* Adds a slice's sum to those of nonzero t before, in the order of tiles; from[t]: its place in S. */
FUNCTION void add_slice(int64 t, real sum, GLOBAL const offset *restrict from, GLOBAL const element *restrict values,
                        GLOBAL sample *out, GLOBAL real *sums, int mode, EDGE_PARAMETERS) {
    if (mode == FIRST)
        sums[t] = sum;
    else if (mode == MIDDLE)
        sums[t] += sum;
    else
        finish_sample(out, values, from[t], mode == LAST ? sums[t] + sum : sum, EDGE_ARGUMENTS);
}
