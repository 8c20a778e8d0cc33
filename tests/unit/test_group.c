/* Groups of threads against the oracle, and against one device: the table of cases at several numbers of ranks. */
#include "support/test.h"

#include "cpu_device.h"
#include "group_case.h"
#include "group_threads.h"

static void run_cases(group_rank *self) {
    const int *const step = self->context;
    const char *const failed = group_case_run_all(self->group, self->ranks, *step);
    if (failed) group_says(self, "%.250s", failed);
}

TEST_TAG(all_cases, "tests") {
    static const int ranks[] = {1, 2, 3, 5, 7, 8};
    int step = test_rounds(3, 23);
    /* a rank that finds something wrong leaves the others waiting */
    for (int i = 0; i < 6; i++) group_run_on(device, ranks[i], 600, run_cases, &step);
}

/* One row a rank, whose only nonzero is the other rank's row of B. */
static float exchanged(tamis_group_plan *plan, float b, uint64_t generation) {
    float found = -1;
    const tamis_dense B = {.data = &b, .rows = 1, .cols = 1}, C = {.data = &found, .rows = 1, .cols = 1};
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.generation = generation;
    return tamis_group_plan_spmm(plan, &B, &C, &execution) == TAMIS_OK ? found : -2;
}

/* B of the executions, its generation on each rank, and the B that is used. */
static void keep_rows(group_rank *self) {
    static const struct {
        float b;
        uint64_t generations[2];
        float used;
    } runs[] = {{1, {0, 0}, 1}, {2, {3, 3}, 2}, {4, {3, 3}, 2}, {5, {3, 4}, 5}, {6, {3, 4}, 5},
                {7, {3, 0}, 7}, {8, {3, 4}, 8}, {9, {3, 4}, 8}, {9, {0, 0}, 9}, {10, {0, 0}, 10}};
    const int32_t offsets[] = {0, 1}, columns[] = {1 - self->rank};
    const float values[] = {1};
    const tamis_sparse S = CSR(1, 2, offsets, columns, values);
    tamis_options o = options_for(TAMIS_OP_SPMM, -1, 1);
    OWN(tamis_group_plan) *plan = NULL;
    tamis_group_report report;
    o.overlap = *(const tamis_overlap *)self->context;
    if (!group_works(self, tamis_group_plan_create(self->group, &S, 1, &o, &plan)) ||
        !group_works(self, tamis_group_plan_describe(plan, &report)))
        return;
    if (report.overlaps != (o.overlap == TAMIS_OVERLAP_ALWAYS)) group_says(self, "overlaps is wrong");
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const float found = exchanged(plan, runs[i].b, runs[i].generations[self->rank]);
        if (found != runs[i].used) group_says(self, "run %zu: %g", i, (double)found);
    }
}

TEST_TAG(rows_are_kept, "tests") {
    static const tamis_overlap overlaps[] = {TAMIS_OVERLAP_AUTO, TAMIS_OVERLAP_NEVER, TAMIS_OVERLAP_ALWAYS};
    for (int i = 0; i < 3; i++) {
        tamis_overlap overlap = overlaps[i];
        group_run_on(device, 2, 0, keep_rows, &overlap);
    }
}

/* Each rank has the same pattern: in every row as many nonzeros in its own columns as in the other's. */
static void predict_pieces(group_rank *self) {
    const tamis_sparse *const S = self->context;
    tamis_options o = options_for(TAMIS_OP_SPMM, -1, 64);
    OWN(tamis_group_plan) *plan = NULL;
    tamis_group_report report;
    o.threads = 1;
    o.overlap = TAMIS_OVERLAP_ALWAYS;
    if (!group_works(self, tamis_group_plan_create(self->group, S, S->rows, &o, &plan)) ||
        !group_works(self, tamis_group_plan_describe(plan, &report)))
        return;
    if (!report.overlaps || !(report.together_seconds >= 0.99 * (report.alone_seconds / 2 + report.exchange_seconds)))
        group_says(self, "%g together, %g alone, %g of exchange", report.together_seconds, report.alone_seconds,
                   report.exchange_seconds);
}

TEST_TAG(pieces_by_columns_hide_no_exchange, "tests") {
    enum { ROWS = 4000, EACH = 16, STEP = 2 * ROWS / EACH };
    static int32_t offsets[ROWS + 1], columns[ROWS * EACH];
    static float values[ROWS * EACH];
    for (int i = 0; i <= ROWS; i++) offsets[i] = EACH * i;
    tamis_sparse S = CSR(ROWS, 2 * ROWS, offsets, columns, values);
    for (int t = 0; t < ROWS * EACH; t++) columns[t] = t / EACH % STEP + t % EACH * STEP;
    group_run_on(device, 2, 0, predict_pieces, &S);
}

/* Softmax of S^T, of which each rank has a part of each row: a part whose scores are all -infinity adds nothing, be it
   its owner's (row 0) or another one's (row 1). Both parts of row 2 count alike. Row 3, all of it masked, is zero, as
   on one device. */
static void mask_parts(group_rank *self) {
    static const float masked = -INFINITY, expected[] = {3, 5, 4, 0};
    const int own = 2;
    const int32_t offsets[] = {0, 4}, columns[] = {0, 1, 2, 3};
    const float values[2][4] = {{masked, 0, 0, masked}, {0, masked, 0, masked}};
    const float a[] = {0, 0}, b[] = {1}, d[] = {self->rank == 0 ? 5 : 3};
    float found[] = {-1, -1};
    const tamis_sparse S = CSR(1, 4, offsets, columns, values[self->rank]);
    const tamis_dense A = {.data = (void *)(uintptr_t)a, .rows = own, .cols = 1};
    const tamis_dense B = {.data = (void *)(uintptr_t)b, .rows = 1, .cols = 1};
    const tamis_dense D = {.data = (void *)(uintptr_t)d, .rows = 1, .cols = 1};
    const tamis_dense E = {.data = found, .rows = own, .cols = 1};
    tamis_options o = options_for(TAMIS_OP_FUSED, 1, 1);
    OWN(tamis_group_plan) *plan = NULL;
    o.edge = TAMIS_EDGE_SOFTMAX;
    o.transpose = true;
    if (group_works(self, tamis_group_plan_create(self->group, &S, own, &o, &plan)))
        group_works(self, tamis_group_plan_fused(plan, &A, &B, &D, &E, NULL));
    for (int i = 0; i < own && !self->failed[0]; i++) {
        const float should = expected[2 * self->rank + i];
        if (!(fabsf(found[i] - should) < 1e-6F))
            group_says(self, "row %d: %g, expected %g", 2 * self->rank + i, (double)found[i], (double)should);
    }
}

TEST_TAG(masked_parts_add_nothing, "tests") { group_run_on(device, 2, 0, mask_parts, NULL); }

/* Three CUDA devices that compute in the host's memory (tests/gpu/emulated): test_group STEP, for every STEP-th case.
 */
static int step_of_devices;

TEST_TAG(cases_on_devices, "on_devices") {
    static const char *const names[] = {"cuda:0", "cuda:1", "cuda:2"};
    tamis_device *all[3];
    group_case_location = TAMIS_DEVICE;
    for (int d = 0; d < 3; d++) works(tamis_device_open(names[d], &all[d]));
    for (int ranks = 2; ranks <= 5; ranks += 3) {
        tamis_group *groups[GROUP_RANKS];
        groups_open(all, 3, ranks, 300, groups); /* kernels are compiled meanwhile */
        group_run(ranks, groups, run_cases, &step_of_devices);
        groups_close(groups, ranks);
    }
    for (int d = 0; d < 3; d++) tamis_device_close(all[d]);
}

TEST_RUN() {
    if (argc > 1) {
        step_of_devices = atoi(argv[1]);
        setenv("FAKE_CUDA_DEVICES", "3", 1);
        setenv("FAKE_CUDA_PAGEABLE", "1", 1);
        return test_run(NULL, "on_devices", NULL, NULL);
    }
    return test_run(NULL, "tests", set_up, tear_down);
}
