/* The floor of a call against bytes and operations counted by hand. */
#include "support/test.h"

#include <tamis/ceilings.h>
#include <tamis/structure.h>

#include "small.h"

/* S of small.h is 3 x 4 with 5 nonzeros in rows 0 and 2, in all columns but one of row 2's: 0, 1, 2, 3. */
enum { ROWS = 2, COLS = 4, PATTERN = SMALL_NNZ * 4 + (SMALL_ROWS + 1) * 4, VALUES = SMALL_NNZ * 4 };

static tamis_floor floor_of(const tamis_sparse *S, const tamis_options *o, bool adds) {
    tamis_floor floor;
    works(tamis_floor_find(S, o, adds, NULL, false, &floor));
    assert_true(floor.seconds == 0 && floor.peak == 0 && floor.bandwidth == 0);
    return floor;
}

static void expect(const tamis_sparse *S, const tamis_options *o, bool adds, double flops, double bytes) {
    const tamis_floor floor = floor_of(S, o, adds);
    if (floor.flops != flops || floor.bytes != bytes)
        fail_msg("%g flops, %g bytes: expected %g and %g", floor.flops, floor.bytes, flops, bytes);
}

TEST(counts_what_must_move) {
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    const double pairs = 4.0 * (ROWS + COLS) * SMALL_K;
    expect(&s.S, &o, false, 2 * SMALL_NNZ * SMALL_K, PATTERN + VALUES + pairs + SMALL_NNZ * 4);
    expect(&s.S, &o, true, 2 * SMALL_NNZ * SMALL_K, PATTERN + VALUES + pairs + 2 * SMALL_NNZ * 4);
    o.edge = TAMIS_EDGE_MASK; /* which reads no values */
    expect(&s.S, &o, false, 2 * SMALL_NNZ * SMALL_K, PATTERN + pairs + SMALL_NNZ * 4);
    expect(&s.coo, &o, false, 2 * SMALL_NNZ * SMALL_K, 2 * SMALL_NNZ * 4 + pairs + SMALL_NNZ * 4);
    o.type = TAMIS_F16;
    o.output_type = TAMIS_F32;
    o.batch = 3;
    expect(&s.S, &o, false, 3 * 2 * SMALL_NNZ * SMALL_K, PATTERN + 3 * (pairs / 2 + SMALL_NNZ * 4));
    o = small_options(TAMIS_OP_SPMM);
    expect(&s.S, &o, false, 2 * SMALL_NNZ * SMALL_L, PATTERN + VALUES + 4.0 * (COLS + SMALL_ROWS) * SMALL_L);
    o.transpose = true;
    expect(&s.S, &o, false, 2 * SMALL_NNZ * SMALL_L, PATTERN + VALUES + 4.0 * (ROWS + SMALL_COLS) * SMALL_L);
    o = small_options(TAMIS_OP_FUSED);
    const double output = 4.0 * SMALL_ROWS * SMALL_L;
    expect(&s.S, &o, false, 2 * SMALL_NNZ * (SMALL_K + SMALL_L),
           PATTERN + VALUES + pairs + 4.0 * COLS * SMALL_L + output);
    o.d_is_b = true;
    expect(&s.S, &o, false, 2 * SMALL_NNZ * (SMALL_K + SMALL_L), PATTERN + VALUES + pairs + output);
    tamis_sparse slice; /* row 2: three nonzeros, in columns 0, 2 and 3 */
    o = small_options(TAMIS_OP_SPMM);
    works(tamis_slice(&s.S, 2, 1, 0, 0, &slice));
    expect(&slice, &o, false, 2 * 3 * SMALL_L, 3 * 4 + 2 * 4 + 3 * 4 + 4.0 * (3 + 1) * SMALL_L);
}

TEST(divides_by_the_ceilings) {
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SPMM);
    tamis_ceilings ceilings = {.fp32_gflops = {1e-9, 1e-6}, .fp64_gflops = {2e-9, 2e-9}, .memory_gbs = {1e-6, 1e-9}};
    tamis_floor floor;
    works(tamis_floor_find(&s.S, &o, false, &ceilings, false, &floor));
    assert_true(!floor.memory_bound && floor.peak == 1e-9 && floor.bandwidth == 1e-6);
    assert_true(fabs(floor.seconds / floor.flops - 1) < 1e-12);
    works(tamis_floor_find(&s.S, &o, false, &ceilings, true, &floor));
    assert_true(floor.memory_bound && fabs(floor.seconds / floor.bytes - 1) < 1e-12);
    o.type = TAMIS_F64;
    works(tamis_floor_find(&s.S, &o, false, &ceilings, false, &floor));
    assert_true(floor.peak == 2e-9);
    s.S.nnz = 0;
    memset(s.offsets, 0, sizeof s.offsets);
    works(tamis_floor_find(&s.S, &o, false, &ceilings, true, &floor));
    assert_true(floor.seconds == 0 && floor.bytes > 0);
}

TEST(refuses_arguments) {
    small s;
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_FUSED);
    tamis_floor floor;
    assert_int_equal(tamis_floor_find(NULL, &o, false, NULL, false, &floor), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_floor_find(&s.S, NULL, false, NULL, false, &floor), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_floor_find(&s.S, &o, false, NULL, false, NULL), TAMIS_ERROR_ARGUMENT);
    o.width = -1;
    REFUSED(ARGUMENT, "options.width = -1", tamis_floor_find(&s.S, &o, false, NULL, false, &floor));
    o.operation = TAMIS_OP_SDDMM;
    EACH_FAULT_OF(w, .least = 2) FAULTY(w, tamis_floor_find(&s.S, &o, false, NULL, false, &floor));
}
