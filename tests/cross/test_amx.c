/*
 * cpu-amx against the oracle, with the processor's tiles where it has them, and with tiles in memory: panels and cells
 * that the matrix fills and that it does not, odd widths, rows that are empty, out of order or repeat a column.
 */
#include "support/test.h"

#include "cross.h"

static const cross_case cases[] = {
    {"one cell", "all of a panel and a cell", 32, 32, 700, 32, 32, SHAPE_UNIFORM, CASE_DISTINCT, 0},
    {"ragged", "a last panel, cell and slice that are not full", 75, 100, 2500, 45, 70, SHAPE_UNIFORM, CASE_DISTINCT,
     0},
    {"odd", "a half pair at the end of a row, and of the columns", 33, 65, 900, 33, 31, SHAPE_UNIFORM,
     CASE_DISTINCT | CASE_BETA, 0},
    {"narrow", "less than a pair", 70, 33, 800, 1, 1, SHAPE_UNIFORM, CASE_DISTINCT, 0},
    {"nothing", "products of no slices", 40, 40, 500, 0, 1, SHAPE_UNIFORM, CASE_DISTINCT, 0},
    {"wide", "more cells than are dense at a time", 40, 1200, 9000, 129, 200, SHAPE_UNIFORM, CASE_DISTINCT, 0},
    {"empty ends", "panels of empty rows between others", 231, 60, 3000, 24, 24, SHAPE_SPARSE_ENDS, 0, 0},
    {"hub", "a full row among short ones", 40, 300, 2000, 64, 64, SHAPE_HUB, CASE_DISTINCT, 0},
    {"repeats", "rows of several nonzeros in a place go one by one", 70, 20, 1800, 40, 40, SHAPE_UNIFORM, CASE_REPEATS,
     0},
    {"unsorted", "rows that do not rise go one by one", 70, 90, 1800, 40, 40, SHAPE_UNIFORM,
     CASE_DISTINCT | CASE_UNSORTED, 0},
    {"int64", "indices of 64 bits", 70, 90, 1800, 40, 40, SHAPE_UNIFORM,
     CASE_DISTINCT | CASE_WIDE_INDEX | CASE_WIDE_OFFSET, 0},
    {"pattern", "ones for values", 70, 90, 1800, 40, 40, SHAPE_UNIFORM, CASE_DISTINCT | CASE_PATTERN, 0},
    {"batch", "each member's B is packed", 50, 70, 900, 34, 36, SHAPE_UNIFORM, CASE_DISTINCT | CASE_BATCH | CASE_BETA,
     0},
    {"padded", "rows that begin anywhere", 50, 70, 900, 34, 36, SHAPE_UNIFORM,
     CASE_DISTINCT | CASE_PADDED | CASE_UNALIGNED, 0},
    {"column-major", "operands staged before they are packed", 50, 70, 900, 34, 36, SHAPE_UNIFORM,
     CASE_DISTINCT | CASE_COLUMN_MAJOR | CASE_BETA, 0},
    {"infinity", "zeros of a cell must not make NaN of it", 40, 70, 900, 21, 37, SHAPE_UNIFORM, CASE_DISTINCT,
     INFINITY},
    {"NaN", "it stays in the rows that have its column", 40, 70, 900, 21, 37, SHAPE_UNIFORM, CASE_DISTINCT, NAN},
    {"tiny", "a number far smaller than the others", 40, 70, 900, 40, 40, SHAPE_UNIFORM, CASE_DISTINCT, 1e-12},
};

TEST(cells_are_right) {
    static const tamis_edge edges[] = {TAMIS_EDGE_MASK, TAMIS_EDGE_SCALE, TAMIS_EDGE_RESIDUAL, TAMIS_EDGE_SOFTMAX};
    static const char *const isas[] = {"v4-amx", "v4-amx-emulated", "amx-emulated"};
    cross_counts counts = {0};
    tamis_random random = tamis_random_start(46, 1);
    for (int n = 0; n < 3; n++) {
        if (!cross_isa_runs(isas[n])) continue;
        cross_isa = isas[n];
        const long before = counts.run;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            cross_run("cpu", &cases[i], TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, TAMIS_BF16, 0, &random, &counts);
            for (int e = 0; e < 4; e++)
                cross_run("cpu", &cases[i], TAMIS_OP_SDDMM, edges[e], TAMIS_BF16, 0, &random, &counts);
        }
        printf("%s: %ld runs\n", isas[n], counts.run - before);
    }
    if (counts.run == 0) skip();
    assert_int_equal(counts.failed, 0);
    assert_int_equal(counts.unbounded, 0);
}
