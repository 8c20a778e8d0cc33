/* What the cost model must say whatever it was fitted to: predictions on a machine that is made up. */
#include "support/test.h"

#include <tamis/generate.h>
#include <tamis/matrix.h>

#include "cpu/algorithms.h"
#include "cpu/backend.h"
#include "cpu/rates.h"
#include "select/choose.h"

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

/* Machines with a small and with a very large last cache, with rates of bandwidth by level as such machines have. */
static const struct machine {
    int64_t l1, l2, l3;
    double gather[6]; /* GB/s of one thread, from tables of half of L1, half of L2, 8, 16, 64 and 128 MiB */
    double memory;
} machines[] = {{32 << 10, 256 << 10, 8 << 20, {180, 80, 15, 8, 6, 5}, 12},
                {48 << 10, 2 << 20, 260 << 20, {250, 120, 40, 30, 24, 20}, 10}};

static const tamis_choice *choose_on(const struct machine *m, const double *rates, const tamis_sparse *S, int threads,
                                     tamis_operation operation) {
    tamis_evidence evidence = {.cache_l1 = m->l1, .cache_l2 = m->l2, .cache_l3 = m->l3, .expected_calls = 1000};
    tamis_ceilings *const c = &evidence.ceilings;
    static tamis_choice choice;
    *c = tamis_cpu_backend.default_ceilings(0, 16);
    const int64_t tables[6] = {m->l1 / 2, m->l2 / 2, 8 << 20, 16 << 20, 64 << 20, 128 << 20};
    for (int i = 0; i < 6; i++) {
        c->gather_bytes[i] = tables[i];
        c->gather_gbs[0][i] = m->gather[i];
        c->gather_gbs[1][i] = 8 * m->gather[i];
    }
    c->memory_gbs[0] = m->memory;
    c->memory_gbs[1] = 8 * m->memory;
    memcpy(evidence.rates, rates, (size_t)tamis_cpu_rate_table.count * sizeof *rates);
    const bool sddmm = operation == TAMIS_OP_SDDMM, spmm = operation == TAMIS_OP_SPMM;
    const tamis_problem problem = {.operation = operation,
                                   .type = TAMIS_F32,
                                   .output_type = TAMIS_F32,
                                   .value_type = TAMIS_F32,
                                   .rows = S->rows,
                                   .cols = S->cols,
                                   .nnz = S->nnz,
                                   .offsets = S->offsets,
                                   .columns = S->columns,
                                   .offset_type = S->offset_type,
                                   .index_type = S->index_type,
                                   .has_values = true,
                                   .inner = spmm ? 0 : 128,
                                   .width = sddmm ? 0 : 128,
                                   .batch = 1,
                                   .threads = threads,
                                   .deterministic = true,
                                   .parameters = "",
                                   .evidence = &evidence,
                                   .backend = &tamis_cpu_backend};
    works(tamis_cpu_backend.profile(&problem, &evidence));
    works(tamis_choose(&tamis_cpu_backend, &problem, "auto", false, &choice));
    return &choice;
}

/* By rows on either machine, with any number of threads, by the rates of either processor. One pattern has few entries
   in a large matrix: its tiles would be visited far more often than there are entries. The other is a mesh of one
   number a node: neighbouring rows share few columns, and a row finds near it what rows before it have read. */
static const struct by_rows {
    tamis_kind kind;
    int64_t rows, nnz;
} patterns[] = {{TAMIS_KIND_UNIFORM, 100000, 4000}, {TAMIS_KIND_FEM, 20000, 300000}};

TEST(rows_are_chosen_on_any_machine) {
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        tamis_owned_sparse *matrix;
        tamis_generate_options o = TAMIS_GENERATE_OPTIONS_INIT;
        o.kind = patterns[i].kind;
        o.rows = o.cols = patterns[i].rows;
        o.nnz = patterns[i].nnz;
        o.block = 1;
        o.value_type = TAMIS_F32;
        works(tamis_generate(&o, &matrix));
        for (int p = 0; p < tamis_cpu_rate_table.profile_count; p++)
            for (int m = 0; m < 2; m++)
                for (int threads = 1; threads <= 16; threads *= 4)
                    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
                        const char *const chosen =
                            choose_on(&machines[m], tamis_cpu_rate_table.profiles[p].rates,
                                      tamis_owned_sparse_view(matrix), threads, (tamis_operation)operation)
                                ->algorithm->description.name;
                        if (strcmp(chosen, "cpu-nonzeros") != 0)
                            fail_msg("pattern %d, profile %d, machine %d, %d threads, operation %d: %s", (int)i, p, m,
                                     threads, operation, chosen);
                    }
        tamis_owned_sparse_free(matrix);
    }
}

/* Each row of a permutation has one entry, so it spans one column. But no row before has read its row of B, which comes
   from beyond all caches, as C goes there. */
TEST(rows_that_jump_read_from_memory) {
    enum { NODES = 1 << 17 };
    static int32_t offsets[NODES + 1], columns[NODES];
    for (int i = 0; i < NODES; i++) {
        offsets[i + 1] = i + 1;
        columns[i] = (int32_t)(i * 50021LL % NODES);
    }
    const tamis_sparse S = {.rows = NODES, .cols = NODES, .nnz = NODES, .offsets = offsets, .columns = columns};
    const struct machine *const m = &machines[0];
    const double bytes = 128.0 * NODES * sizeof(float);
    const double least = bytes / (1e9 * m->gather[3]) + 2 * bytes / (1e9 * m->memory);
    for (int p = 0; p < tamis_cpu_rate_table.profile_count; p++) {
        const double found =
            choose_on(m, tamis_cpu_rate_table.profiles[p].rates, &S, 1, TAMIS_OP_SPMM)->prediction.call_seconds;
        if (found < least) fail_msg("profile %d: %g s, expected %g and more", p, found, least);
    }
}
