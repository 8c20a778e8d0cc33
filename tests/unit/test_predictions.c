/* What the cost model must say whatever it was fitted to: predictions on a machine that is made up. */
#include "support/test.h"

#include "cpu/algorithms.h"

enum { ROWS = 1024, WIDTH = 64 };

/* Memory is slow, all else is as fast as if it cost nothing: 1 GB/s. */
static double seconds_of(const char *name, const tamis_problem *problem) {
    tamis_evidence evidence = {.fresh_share = 1,
                               .cache_l1 = 1 << 10,
                               .cache_l2 = 1 << 12,
                               .cache_l3 = 1 << 14,
                               .expected_calls = 1000,
                               .ceilings = {.threads = 1, .memory_gbs = {1, 1}, .l3_gbs = {1000, 1000}}};
    for (int i = 0; i < 2; i++) {
        evidence.ceilings.fp32_gflops[i] = 1e6;
        for (int j = 0; j < 6; j++) evidence.ceilings.gather_gbs[i][j] = 1000;
    }
    tamis_problem asked = *problem;
    tamis_prediction prediction = {.call_seconds = 0};
    const tamis_algorithm *algorithm = tamis_cpu_algorithm(0);
    for (int i = 1; algorithm && strcmp(algorithm->description.name, name) != 0; i++)
        algorithm = tamis_cpu_algorithm(i);
    assert_non_null(algorithm);
    asked.evidence = &evidence;
    tamis_cpu_predict(algorithm, &asked, &prediction);
    return prediction.call_seconds;
}

/* SpMM of a matrix without entries writes C and nothing else: each line of it comes into the cache and goes out. With
   panels the rows' sums take some more, here a fiftieth. */
TEST(panels_write_the_result) {
    static const int32_t offsets[ROWS + 1] = {0};
    const tamis_problem problem = {.operation = TAMIS_OP_SPMM,
                                   .rows = ROWS,
                                   .cols = 16,
                                   .offsets = offsets,
                                   .width = WIDTH,
                                   .batch = 1,
                                   .threads = 1};
    const double traffic = 2.0 * ROWS * WIDTH * sizeof(float) / 1e9, found = seconds_of("cpu-panels", &problem);
    if (!(found >= traffic && found <= 1.1 * traffic)) fail_msg("%g s, expected %g", found, traffic);
}
