/* The cases, each with the reason why it is there. */
#include <math.h>

#include "cross.h"

const cross_case cross_cases[] = {
    /* name, reason, rows, cols, nnz, K, L, shape, flags, special value */
    {"no rows", "loops of zero rows, NULL arrays", 0, 5, 0, 8, 8, SHAPE_UNIFORM, 0, 0},
    {"no columns", "rows that are all empty must still be written", 5, 0, 0, 8, 8, SHAPE_UNIFORM, 0, 0},
    {"no nonzeros", "beta and zero rows only", 7, 9, 0, 33, 17, SHAPE_UNIFORM, CASE_BETA, 0},
    {"one row", "fewer rows than threads: the row is cut", 1, 40, 30, 20, 20, SHAPE_UNIFORM, 0, 0},
    {"one entry", "everything is a remainder", 1, 1, 1, 1, 1, SHAPE_UNIFORM, 0, 0},
    {"K = 0", "dot products of nothing are 0, not noise", 9, 9, 30, 0, 5, SHAPE_UNIFORM, 0, 0},
    {"L = 1", "an output narrower than any vector", 20, 20, 100, 7, 1, SHAPE_UNIFORM, 0, 0},
    {"empty ends", "empty rows before, between and after", 31, 20, 90, 24, 24, SHAPE_SPARSE_ENDS, 0, 0},
    {"hub row", "one row cut among all threads", 40, 300, 2000, 32, 32, SHAPE_HUB, 0, 0},
    {"long row", "a row of several stretches of softmax", 3, 700, 14000, 3, 5, SHAPE_HUB, 0, 0},
    {"hub, many threads", "more threads than rows, parts without nonzeros", 5, 60, 200, 16, 16, SHAPE_HUB,
     CASE_MANY_THREADS, 0},
    {"last row", "all empty rows belong to the first thread's part", 50, 400, 900, 19, 35, SHAPE_LAST_ROW, 0, 0},
    {"long row", "longer than a chunk of samples: carried over", 3, 900, 7000, 10, 12, SHAPE_HUB, 0, 0},
    {"duplicates", "entries of the same place are kept apart", 6, 4, 300, 30, 30, SHAPE_UNIFORM, 0, 0},
    {"unsorted", "columns in any order", 30, 80, 700, 31, 31, SHAPE_UNIFORM, CASE_UNSORTED, 0},
    {"COO", "entries in row order need only offsets", 30, 80, 700, 32, 16, SHAPE_UNIFORM, CASE_COO, 0},
    {"COO unsorted", "values and samples pass through a permutation", 30, 80, 700, 33, 15, SHAPE_UNIFORM,
     CASE_COO | CASE_UNSORTED | CASE_BETA, 0},
    {"int64", "64-bit indices", 40, 50, 600, 48, 48, SHAPE_UNIFORM, CASE_WIDE_INDEX | CASE_WIDE_OFFSET, 0},
    {"int64 offsets", "64-bit offsets over 32-bit columns", 40, 50, 600, 48, 48, SHAPE_UNIFORM, CASE_WIDE_OFFSET, 0},
    {"column-major", "operands staged through the workspace", 33, 47, 500, 21, 22, SHAPE_UNIFORM,
     CASE_COLUMN_MAJOR | CASE_PADDED | CASE_BETA, 0},
    {"padded", "strides larger than rows; the padding stays as it was", 33, 47, 500, 40, 41, SHAPE_UNIFORM, CASE_PADDED,
     0},
    {"unaligned", "rows that begin anywhere", 33, 47, 500, 64, 64, SHAPE_UNIFORM, CASE_UNALIGNED | CASE_PADDED, 0},
    {"pattern", "no values: ones, or no bias", 33, 47, 500, 27, 27, SHAPE_UNIFORM, CASE_PATTERN, 0},
    {"batch", "several heads over one pattern", 20, 30, 200, 16, 18, SHAPE_UNIFORM, CASE_BATCH, 0},
    {"batch, COO, beta", "staging and permutation for each member", 20, 30, 200, 16, 18, SHAPE_UNIFORM,
     CASE_BATCH | CASE_COO | CASE_UNSORTED | CASE_COLUMN_MAJOR | CASE_BETA, 0},
    {"beta", "the old output counts", 40, 40, 400, 32, 32, SHAPE_UNIFORM, CASE_BETA, 0},
    {"alpha = 0", "nothing but beta times the old output", 40, 40, 400, 32, 32, SHAPE_UNIFORM,
     CASE_ALPHA_ZERO | CASE_BETA, 0},
    {"NaN", "not a number spreads as in the oracle, no further", 30, 30, 120, 21, 21, SHAPE_UNIFORM, 0, NAN},
    {"infinity", "masked tails must not make NaN of it", 30, 30, 120, 21, 37, SHAPE_UNIFORM, 0, INFINITY},
    {"K = 127", "one less than a round width", 20, 30, 250, 127, 127, SHAPE_UNIFORM, 0, 0},
    {"K = 128", "the round width", 20, 30, 250, 128, 128, SHAPE_UNIFORM, 0, 0},
    {"K = 129", "one more", 20, 30, 250, 129, 129, SHAPE_UNIFORM, 0, 0},
    {"K = 512", "rows in several blocks", 12, 20, 120, 512, 512, SHAPE_UNIFORM, 0, 0},
    {"K = 1000", "blocks, single vectors and a tail", 12, 20, 120, 1000, 1000, SHAPE_UNIFORM, 0, 0},
    {"K > L", "the widths are apart", 25, 25, 200, 70, 3, SHAPE_UNIFORM, 0, 0},
    {"K < L", "the widths are apart", 25, 25, 200, 3, 300, SHAPE_UNIFORM, 0, 0},
};
const int cross_case_count = sizeof cross_cases / sizeof cross_cases[0];

const cross_case cross_narrow_cases[] = {
    {"narrow", "rows of S of no, one and up to some sixty nonzeros", 40, 30, 600, 1, 1, SHAPE_RAGGED, 0, 0},
    {"narrow, padded", "single elements far apart, the padding as it was", 40, 30, 600, 1, 1, SHAPE_RAGGED,
     CASE_PADDED | CASE_UNALIGNED | CASE_BETA, 0},
    {"narrow, pattern", "ones instead of values", 40, 30, 600, 1, 1, SHAPE_RAGGED, CASE_PATTERN | CASE_BETA, 0},
    {"narrow, int64", "columns of 64 bits", 40, 30, 600, 1, 1, SHAPE_RAGGED,
     CASE_WIDE_INDEX | CASE_WIDE_OFFSET | CASE_PADDED, 0},
    {"narrow, few", "stretches shorter than four nonzeros", 9, 30, 7, 1, 1, SHAPE_UNIFORM, 0, 0},
    {"narrow, empty ends", "segments without nonzeros first and last", 31, 20, 90, 1, 1, SHAPE_SPARSE_ENDS, CASE_BETA,
     0},
    {"narrow, long row", "more products than the buffer takes", 3, 900, 9000, 1, 1, SHAPE_HUB, CASE_BETA, 0},
    {"narrow, infinity", "what stands for nonzeros past the end must not be seen", 40, 30, 600, 1, 1, SHAPE_RAGGED, 0,
     INFINITY},
    {"narrow, NaN", "masked lanes must not spread it", 40, 30, 600, 1, 1, SHAPE_RAGGED, CASE_PADDED, NAN},
};
const int cross_narrow_case_count = sizeof cross_narrow_cases / sizeof cross_narrow_cases[0];
