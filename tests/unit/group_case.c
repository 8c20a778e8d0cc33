/* Each rank draws the same problem, takes its rows of it, and compares its rows of the result. */
#include "group_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edges.h"
#include "support/bounds.h"

tamis_location group_case_location = TAMIS_HOST;
int group_case_exchange = -1;

const part_case group_cases[] = {
    {"uniform", 60, 60, 500, 12, 9, SHAPE_UNIFORM, 0},
    {"a hub, on the border of two ranks", 64, 50, 600, 16, 16, SHAPE_HUB, PART_SAME},
    {"one row has all", 40, 70, 300, 7, 5, SHAPE_LAST_ROW, PART_BETA},
    {"wide, with 64-bit indices", 20, 300, 700, 8, 8, SHAPE_UNIFORM, PART_WIDE},
    {"tall, with the first and last rows empty", 300, 20, 700, 8, 12, SHAPE_SPARSE_ENDS, PART_VALUES},
    {"fewer rows than ranks", 3, 2, 5, 4, 3, SHAPE_UNIFORM, 0},
    {"ranks without rows", 50, 50, 400, 6, 6, SHAPE_RAGGED, GROUP_ALL_LAST | PART_SAME},
    {"ranks without rows, D is not B", 50, 30, 400, 6, 4, SHAPE_RAGGED, GROUP_ALL_LAST | PART_BETA},
    {"ranks without rows, a batch", 30, 25, 300, 5, 5, SHAPE_UNIFORM, GROUP_ALL_LAST | PART_BATCH},
    {"columns first, with gaps", 45, 55, 400, 10, 7, SHAPE_UNIFORM, PART_COLUMN_MAJOR | PART_PADDED},
    {"rows first, with gaps", 45, 55, 400, 10, 7, SHAPE_UNIFORM, PART_PADDED | PART_BETA},
    {"a batch", 40, 44, 350, 9, 6, SHAPE_UNIFORM, PART_BATCH | PART_BETA},
    {"a batch that shares B", 40, 44, 350, 9, 6, SHAPE_UNIFORM, PART_BATCH | PART_SHARED_B | PART_VALUES},
    {"a batch, columns first", 33, 44, 350, 5, 5, SHAPE_HUB, PART_BATCH | PART_COLUMN_MAJOR},
    {"a pattern", 50, 60, 500, 12, 9, SHAPE_UNIFORM, PART_PATTERN},
    {"no nonzeros", 20, 30, 0, 4, 4, SHAPE_UNIFORM, PART_BETA},
    {"no rows", 0, 30, 0, 4, 4, SHAPE_UNIFORM, 0},
    {"no columns", 30, 0, 0, 4, 5, SHAPE_UNIFORM, PART_BETA},
    {"K and L are 0", 20, 20, 90, 0, 0, SHAPE_UNIFORM, 0},
    {"K and L are 1", 20, 20, 90, 1, 1, SHAPE_UNIFORM, PART_VALUES},
    {"a band", 120, 120, 900, 9, 7, SHAPE_BAND, 0},
    {"a band, columns first, a batch", 90, 100, 700, 6, 5, SHAPE_BAND, PART_COLUMN_MAJOR | PART_PADDED | PART_BATCH},
    {"a band, values, D is B", 200, 180, 1500, 8, 8, SHAPE_BAND, PART_VALUES | PART_SAME | PART_BETA},
    {"a band of integers", 150, 150, 1200, 16, 12, SHAPE_BAND, PART_INTEGERS | PART_BETA},
    {"integers", 70, 80, 900, 15, 13, SHAPE_UNIFORM, PART_INTEGERS},
    {"integers, with a hub", 50, 50, 900, 32, 32, SHAPE_HUB, PART_INTEGERS | PART_SAME | PART_BETA},
};

const int group_case_count = sizeof group_cases / sizeof *group_cases;

enum { BATCH = 3 };

static _Thread_local char message[256];

static const char *wrong(const part *x, const char *what) {
    snprintf(message, sizeof message, "%s, %s%s, %s, %s: %.150s", x->c->name, tamis_operation_name(x->operation),
             x->transpose ? " with the transpose" : "", tamis_edge_name(x->edge), tamis_type_name(x->type), what);
    return message;
}

static tamis_status execute(const part *x, tamis_group_plan *plan) {
    const tamis_execution *const execution = &x->call.execution;
    switch (x->operation) {
    case TAMIS_OP_SDDMM: return tamis_group_plan_sddmm(plan, &x->A, &x->B, &x->out, execution);
    case TAMIS_OP_SPMM: return tamis_group_plan_spmm(plan, &x->B, &x->out, execution);
    case TAMIS_OP_FUSED: return tamis_group_plan_fused(plan, &x->A, &x->B, &x->D, &x->out, execution);
    }
    return TAMIS_ERROR_INTERNAL;
}

/* The largest score of each row, which is exact where scores are integers, and the sum of exponentials: of n terms,
   each of which has been multiplied once or twice. */
static const char *compare_pairs(const part *x, const void *pairs) {
    const problem *const p = &x->p;
    const tamis_type type = x->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32;
    const int64_t nnz = p->S.nnz, K = x->c->inner;
    const char *failed = NULL;
    if (!pairs || !(x->c->flags & PART_INTEGERS)) return NULL;
    for (int64_t m = 0; m < p->options.batch; m++) {
        OWN(about) *const scores = test_abouts(nnz);
        OWN(double) *const A = test_values(&p->A, m), *const B = test_values(&p->B, m);
        for (int64_t t = 0; t < nnz; t++) {
            const int64_t i = p->pattern.row_of[t], j = p->pattern.column_of[t];
            const double s = p->S.values ? test_load(p->S.values, x->type, m * p->S.batch_stride + t) : 0;
            scores[t] = about_score(units_of(type), &x->call.options,
                                    about_dot(units_of(type), A + i * K, B + j * K, K, NULL), s);
        }
        OWN(softmax_row) *const rows = softmax_rows(scores, p->pattern.row_of, nnz, x->c->rows);
        for (int64_t i = 0; i < x->out.rows; i++) {
            const softmax_row *const row = &rows[x->first + i];
            const double most = test_load(pairs, type, 2 * (m * x->out.rows + i));
            const double sum = test_load(pairs, type, 2 * (m * x->out.rows + i) + 1);
            if (most != row->most || fabs(sum - row->sum) > (row->count + 20) * units_of(type).u * row->sum)
                failed = wrong(x, "the pairs of softmax");
        }
    }
    return failed;
}

/* Two executions from the same old output. */
static const char *run_twice(part *x, tamis_group_plan *plan) {
    OWN(void) *first = NULL;
    const char *failed = NULL;
    for (int round = 0; round < 2 && !failed; round++) {
        matrix_restore(&x->result, x->old);
        failed = execute(x, plan) == TAMIS_OK ? part_wrong(x) : tamis_last_error();
        if (round == 0)
            first = matrix_copy(&x->result);
        else if (!failed && memcmp(first, x->result.twin.host, x->result.twin.bytes) != 0)
            failed = "the second execution has other bits";
    }
    return failed ? wrong(x, failed) : compare_pairs(x, x->call.execution.softmax_rows);
}

const char *group_case_run(tamis_group *group, const part_case *c, tamis_operation operation, tamis_edge edge,
                           tamis_type type, bool transpose) {
    OWN(part) x = {.c = c, .operation = operation, .edge = edge, .type = type, .transpose = transpose};
    OWN(void) *softmax_rows = NULL;
    const int number = (int)(c - group_cases);
    tamis_group_description self;
    tamis_group_plan *plan = NULL;
    if (tamis_group_describe(group, &self) != TAMIS_OK) return tamis_last_error();
    part_draw(&x, BATCH, tamis_random_start(29, (uint64_t)number));
    const part_rows rows = part_rows_of(&x.p.S, transpose, c->flags & GROUP_ALL_LAST, self.rank, self.ranks);
    if (!part_take(&x, &rows)) return wrong(&x, "no memory");
    x.A.location = x.B.location = x.D.location = x.out.location = group_case_location;
    tamis_options o = part_options(&x);
    if (operation == TAMIS_OP_FUSED && edge == TAMIS_EDGE_SOFTMAX && group_case_location == TAMIS_HOST) {
        o.keep_softmax = true;
        softmax_rows = test_doubles(2 * BATCH * x.out.rows);
        x.call.execution.softmax_rows = softmax_rows;
    }
    o.threads = 1 + (self.rank + (int)operation) % 2;
    o.overlap = (self.rank + (int)operation + (int)edge + number) % 2 ? TAMIS_OVERLAP_ALWAYS : TAMIS_OVERLAP_AUTO;
    o.exchange =
        (tamis_exchange)(group_case_exchange >= 0 ? group_case_exchange
                                                  : ((int)operation + (int)edge + number) % (TAMIS_EXCHANGE_COVER + 1));
    const char *const failed = tamis_group_plan_create(group, &x.S, rows.own, &o, &plan) == TAMIS_OK
                                   ? run_twice(&x, plan)
                                   : wrong(&x, tamis_last_error());
    tamis_group_plan_destroy(plan);
    return failed;
}

const char *group_case_run_all(tamis_group *group, int first, int step) {
    static const tamis_type types[] = {TAMIS_F32, TAMIS_F64, TAMIS_F32, TAMIS_F16, TAMIS_BF16};
    int number = 0;
    for (int i = 0; i < group_case_count; i++)
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
            for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++)
                for (int transpose = 0; transpose <= (operation != TAMIS_OP_SDDMM); transpose++) {
                    const bool exact = group_cases[i].flags & PART_INTEGERS;
                    if (number++ % step != first % step) continue;
                    const char *const failed =
                        group_case_run(group, &group_cases[i], (tamis_operation)operation, (tamis_edge)edge,
                                       types[exact ? number % 2 : number % 5], transpose);
                    if (failed) return failed;
                }
    return NULL;
}
