/* Each rank draws the same problem, takes its rows of it, and compares its rows of the result. */
#include "group_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/structure.h>

#include "base/edges.h"
#include "sparse/index.h"

tamis_location group_case_location = TAMIS_HOST;
int group_case_exchange = -1;

const group_case group_cases[] = {
    {"uniform", 60, 60, 500, 12, 9, SHAPE_UNIFORM, 0},
    {"a hub, on the border of two ranks", 64, 50, 600, 16, 16, SHAPE_HUB, GROUP_SAME},
    {"one row has all", 40, 70, 300, 7, 5, SHAPE_LAST_ROW, GROUP_BETA},
    {"wide, with 64-bit indices", 20, 300, 700, 8, 8, SHAPE_UNIFORM, GROUP_WIDE},
    {"tall, with the first and last rows empty", 300, 20, 700, 8, 12, SHAPE_SPARSE_ENDS, GROUP_VALUES},
    {"fewer rows than ranks", 3, 2, 5, 4, 3, SHAPE_UNIFORM, 0},
    {"ranks without rows", 50, 50, 400, 6, 6, SHAPE_RAGGED, GROUP_ALL_LAST | GROUP_SAME},
    {"ranks without rows, D is not B", 50, 30, 400, 6, 4, SHAPE_RAGGED, GROUP_ALL_LAST | GROUP_BETA},
    {"ranks without rows, a batch", 30, 25, 300, 5, 5, SHAPE_UNIFORM, GROUP_ALL_LAST | GROUP_BATCH},
    {"columns first, with gaps", 45, 55, 400, 10, 7, SHAPE_UNIFORM, GROUP_COLUMN_MAJOR | GROUP_PADDED},
    {"rows first, with gaps", 45, 55, 400, 10, 7, SHAPE_UNIFORM, GROUP_PADDED | GROUP_BETA},
    {"a batch", 40, 44, 350, 9, 6, SHAPE_UNIFORM, GROUP_BATCH | GROUP_BETA},
    {"a batch that shares B", 40, 44, 350, 9, 6, SHAPE_UNIFORM, GROUP_BATCH | GROUP_SHARED_B | GROUP_VALUES},
    {"a batch, columns first", 33, 44, 350, 5, 5, SHAPE_HUB, GROUP_BATCH | GROUP_COLUMN_MAJOR},
    {"a pattern", 50, 60, 500, 12, 9, SHAPE_UNIFORM, GROUP_PATTERN},
    {"no nonzeros", 20, 30, 0, 4, 4, SHAPE_UNIFORM, GROUP_BETA},
    {"no rows", 0, 30, 0, 4, 4, SHAPE_UNIFORM, 0},
    {"no columns", 30, 0, 0, 4, 5, SHAPE_UNIFORM, GROUP_BETA},
    {"K and L are 0", 20, 20, 90, 0, 0, SHAPE_UNIFORM, 0},
    {"K and L are 1", 20, 20, 90, 1, 1, SHAPE_UNIFORM, GROUP_VALUES},
    {"a band", 120, 120, 900, 9, 7, SHAPE_BAND, 0},
    {"a band, columns first, a batch", 90, 100, 700, 6, 5, SHAPE_BAND, GROUP_COLUMN_MAJOR | GROUP_PADDED | GROUP_BATCH},
    {"a band, values, D is B", 200, 180, 1500, 8, 8, SHAPE_BAND, GROUP_VALUES | GROUP_SAME | GROUP_BETA},
    {"a band of integers", 150, 150, 1200, 16, 12, SHAPE_BAND, GROUP_INTEGERS | GROUP_BETA},
    {"integers", 70, 80, 900, 15, 13, SHAPE_UNIFORM, GROUP_INTEGERS},
    {"integers, with a hub", 50, 50, 900, 32, 32, SHAPE_HUB, GROUP_INTEGERS | GROUP_SAME | GROUP_BETA},
};

const int group_case_count = sizeof group_cases / sizeof *group_cases;

enum { BATCH = 3 };

/* One rank's part of it. */
typedef struct part {
    const group_case *c;
    tamis_operation operation;
    tamis_edge edge;
    tamis_type type;
    bool transpose; /* p.S is op(S) */
    problem p;
    tamis_sparse whole, S; /* what is distributed: p.S or its transpose; a slice of it */
    void *turned[3];       /* the transpose's offsets, columns and values */
    tamis_dense A, B, D, out;
    int64_t first_row, first_entry, own_rows;
    void *samples, *zeros, *softmax_rows;
    test_call call;
} part;

static _Thread_local char message[256];

static const char *wrong(const part *x, const char *what) {
    snprintf(message, sizeof message, "%s, %s%s, %s, %s: %.150s", x->c->name, tamis_operation_name(x->operation),
             x->transpose ? " with the transpose" : "", tamis_edge_name(x->edge), tamis_type_name(x->type), what);
    return message;
}

/* Where a rank's rows begin. */
static int64_t cut(int64_t total, int rank, int ranks) { return total * rank / ranks; }

static void draw(part *x) {
    const group_case *const c = x->c;
    const unsigned flags = c->flags;
    tamis_random random = tamis_random_start(29, (uint64_t)(c - group_cases));
    const tamis_layout layout = flags & GROUP_COLUMN_MAJOR ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
    const tamis_index_type wide = flags & GROUP_WIDE ? TAMIS_I64 : TAMIS_I32;
    const problem_options o = {.rows = c->rows,
                               .cols = c->cols,
                               .nnz = c->nnz,
                               .inner = c->inner,
                               .width = c->width,
                               .batch = flags & GROUP_BATCH ? BATCH : 1,
                               .shape = c->shape,
                               .type = x->type,
                               .index_type = wide,
                               .offset_type = wide,
                               .layouts = {layout, layout, layout, layout},
                               .pattern = flags & GROUP_PATTERN,
                               .shared = flags & GROUP_SHARED_B ? PROBLEM_SHARES_B : 0,
                               .padding = flags & GROUP_PADDED ? 3 : 0};
    x->p = problem_make(&o, &random);
    if (flags & GROUP_INTEGERS) problem_round(&x->p);
    if (flags & GROUP_SAME) x->p.D = x->p.B;
    x->call = call_of(x->edge, flags & GROUP_INTEGERS ? 2 : 0.75, flags & GROUP_BETA ? -1 : 0);
    x->call.options.edge_scale = 0.5;
    x->call.options.edge_epsilon = 0.25;
}

/* The transpose of p.S, whose entries have an order of their own, and so have their values. */
static void turn(part *x) {
    const tamis_sparse *const S = &x->p.S;
    const int64_t size = (int64_t)tamis_type_size(S->value_type);
    int64_t *const next = calloc((size_t)S->cols + 2, sizeof *next);
    x->turned[0] = calloc((size_t)S->cols + 1, sizeof(int64_t));
    x->turned[1] = calloc((size_t)S->nnz + 1, sizeof(int64_t));
    x->turned[2] = calloc((size_t)(BATCH * S->nnz + 1), (size_t)size);
    if (!next || !x->turned[0] || !x->turned[1] || !x->turned[2]) abort();
    for (int64_t t = 0; t < S->nnz; t++) next[tamis_index_load(S->columns, S->index_type, t) + 1]++;
    for (int64_t j = 0; j < S->cols; j++) next[j + 1] += next[j];
    for (int64_t j = 0; j <= S->cols; j++) tamis_index_store(x->turned[0], S->offset_type, j, next[j]);
    for (int64_t i = 0; i < S->rows; i++)
        for (int64_t t = tamis_index_load(S->offsets, S->offset_type, i);
             t < tamis_index_load(S->offsets, S->offset_type, i + 1); t++) {
            const int64_t to = next[tamis_index_load(S->columns, S->index_type, t)]++;
            tamis_index_store(x->turned[1], S->index_type, to, i);
            for (int64_t m = 0; S->values && m < (S->batch_stride ? x->p.options.batch : 1); m++)
                test_store(x->turned[2], S->value_type, m * S->nnz + to,
                           test_load(S->values, S->value_type, m * S->batch_stride + t));
        }
    free(next);
    x->whole = *S;
    x->whole.rows = S->cols;
    x->whole.cols = S->rows;
    x->whole.offsets = x->turned[0];
    x->whole.columns = x->turned[1];
    if (S->values) x->whole.values = x->turned[2];
}

static bool take_part(part *x, int rank, int ranks) {
    const bool last = x->c->flags & GROUP_ALL_LAST;
    x->whole = x->p.S;
    if (x->transpose) turn(x);
    const tamis_sparse *const W = &x->whole;
    const int64_t first = last ? 0 : cut(W->rows, rank, ranks);
    const int64_t rows = (last ? (rank == ranks - 1 ? W->rows : 0) : cut(W->rows, rank + 1, ranks)) - first;
    const int64_t first_own = last ? (rank == 0 ? 0 : W->cols) : cut(W->cols, rank, ranks);
    x->own_rows = (last ? W->cols : cut(W->cols, rank + 1, ranks)) - first_own;
    if (tamis_slice(W, first, rows, 0, 0, &x->S) != TAMIS_OK) return false;
    x->first_entry = x->S.offset_base;
    /* A and the output go with the rows of op(S), B and D with its columns */
    const int64_t left = x->transpose ? first_own : first, left_rows = x->transpose ? x->own_rows : rows;
    const int64_t right = x->transpose ? first : first_own, right_rows = x->transpose ? rows : x->own_rows;
    x->first_row = left;
    x->A = test_rows_of(&x->p.A, left, left_rows);
    x->B = test_rows_of(x->operation == TAMIS_OP_SPMM ? &x->p.D : &x->p.B, right, right_rows);
    x->D = test_rows_of(&x->p.D, right, right_rows);
    x->out = test_rows_of(&x->p.out, left, left_rows);
    const size_t bytes = tamis_type_size(x->type) * (size_t)(x->p.options.batch * (x->p.S.nnz + 1));
    x->samples = calloc(bytes, 1);
    x->zeros = calloc(bytes, 1);
    if (x->operation == TAMIS_OP_SDDMM)
        x->out = (tamis_dense){
            .data = x->samples, .rows = x->S.nnz, .cols = 1, .stride = 1, .type = x->type, .batch_stride = x->S.nnz};
    x->A.location = x->B.location = x->D.location = x->out.location = group_case_location;
    if (x->c->flags & GROUP_VALUES) { /* those of the view would be wrong */
        x->call.execution.values = x->S.values;
        x->call.execution.values_stride = x->S.batch_stride;
        x->S.values = x->zeros;
    }
    return x->samples && x->zeros;
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

/* Element of the result, and its number in the oracle's. */
static double found_at(const part *x, int64_t member, int64_t i, int64_t j) {
    return test_load(x->out.data, x->type, test_position(&x->out, member, i, j));
}

static int64_t place_of(const part *x, int64_t i, int64_t j) {
    return x->operation == TAMIS_OP_SDDMM ? x->first_entry + i : (x->first_row + i) * x->c->width + j;
}

/* The output as it is, in its place of the whole problem's, as the oracle has it. */
static double *outputs_of(const part *x, int64_t member) {
    const int64_t count = x->operation == TAMIS_OP_SDDMM ? x->p.S.nnz : x->c->rows * x->c->width;
    double *const outputs = calloc((size_t)count + 1, sizeof *outputs);
    if (!outputs) abort();
    for (int64_t i = 0; i < x->out.rows; i++)
        for (int64_t j = 0; j < x->out.cols; j++) outputs[place_of(x, i, j)] = found_at(x, member, i, j);
    return outputs;
}

static const char *compare(const part *x, double *const *old) {
    const bool exact = x->c->flags & GROUP_INTEGERS &&
                       (x->edge <= TAMIS_EDGE_RESIDUAL || x->operation == TAMIS_OP_SPMM) &&
                       tamis_type_size(x->type) >= 4;
    const char *failed = NULL;
    for (int64_t m = 0; m < x->p.options.batch && !failed; m++) {
        double *want, *bound;
        expect_member(&x->p, x->operation, &x->call, m, old[m], &want, &bound);
        for (int64_t i = 0; i < x->out.rows; i++)
            for (int64_t j = 0; j < x->out.cols; j++) {
                const int64_t at = place_of(x, i, j);
                const double got = found_at(x, m, i, j);
                if (exact ? got == want[at] : expect_fits(x->type, got, want[at], bound[at])) continue;
                char text[120];
                snprintf(text, sizeof text, "member %d, row %lld, column %lld: %.9g instead of %.9g", (int)m,
                         (long long)i, (long long)j, got, want[at]);
                failed = wrong(x, text);
            }
        free(want);
        free(bound);
    }
    return failed;
}

static void put_back(const part *x, double *const *outputs) {
    for (int64_t m = 0; m < x->p.options.batch; m++)
        for (int64_t i = 0; i < x->out.rows; i++)
            for (int64_t j = 0; j < x->out.cols; j++)
                test_store(x->out.data, x->type, test_position(&x->out, m, i, j), outputs[m][place_of(x, i, j)]);
}

static bool same_outputs(const part *x, double *const *outputs) {
    for (int64_t m = 0; m < x->p.options.batch; m++)
        for (int64_t i = 0; i < x->out.rows; i++)
            for (int64_t j = 0; j < x->out.cols; j++)
                if (found_at(x, m, i, j) != outputs[m][place_of(x, i, j)]) return false;
    return true;
}

/* The largest score of each row, which is exact where scores are integers, and the sum of exponentials: of n terms,
   each of which has been multiplied once or twice. */
static const char *compare_pairs(const part *x) {
    const tamis_sparse *const S = &x->p.S;
    const double u = x->type == TAMIS_F64 ? 0x1p-53 : 0x1p-24, scale = x->call.options.edge_scale;
    const tamis_type type = x->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32;
    if (!x->softmax_rows || !(x->c->flags & GROUP_INTEGERS)) return NULL;
    for (int64_t m = 0; m < x->p.options.batch; m++)
        for (int64_t i = 0; i < x->out.rows; i++) {
            const int64_t row = x->first_row + i;
            const int64_t begin = tamis_index_load(S->offsets, S->offset_type, row);
            const int64_t end = tamis_index_load(S->offsets, S->offset_type, row + 1);
            double most = -INFINITY, sum = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int64_t t = begin; t < end; t++) {
                    const int64_t j = tamis_index_load(S->columns, S->index_type, t);
                    double y = S->values ? test_load(S->values, x->type, m * S->batch_stride + t) : 0;
                    for (int64_t k = 0; k < x->c->inner; k++)
                        y += scale * test_load(x->p.A.data, x->type, test_position(&x->p.A, m, row, k)) *
                             test_load(x->p.B.data, x->type, test_position(&x->p.B, m, j, k));
                    if (pass == 0)
                        most = fmax(most, y);
                    else
                        sum += exp(y - most);
                }
            const double got_most = test_load(x->softmax_rows, type, 2 * (m * x->out.rows + i));
            const double got_sum = test_load(x->softmax_rows, type, 2 * (m * x->out.rows + i) + 1);
            if (got_most != most || fabs(got_sum - sum) > ((double)(end - begin) + 20) * u * sum)
                return wrong(x, "the pairs of softmax");
        }
    return NULL;
}

/* Two executions from the same old output. */
static const char *run_twice(part *x, tamis_group_plan *plan) {
    const int64_t batch = x->p.options.batch;
    double *old[BATCH], *first[BATCH] = {NULL};
    const char *failed = NULL;
    for (int64_t m = 0; m < batch; m++) old[m] = outputs_of(x, m);
    failed = execute(x, plan) == TAMIS_OK ? compare(x, old) : wrong(x, tamis_last_error());
    if (!failed) failed = compare_pairs(x);
    for (int64_t m = 0; m < batch; m++) first[m] = outputs_of(x, m);
    put_back(x, old);
    if (!failed && execute(x, plan) != TAMIS_OK) failed = wrong(x, tamis_last_error());
    if (!failed && !same_outputs(x, first)) failed = wrong(x, "the second execution has other bits");
    for (int64_t m = 0; m < batch; m++) {
        free(old[m]);
        free(first[m]);
    }
    return failed;
}

const char *group_case_run(tamis_group *group, const group_case *c, tamis_operation operation, tamis_edge edge,
                           tamis_type type, bool transpose) {
    part x = {.c = c, .operation = operation, .edge = edge, .type = type, .transpose = transpose};
    tamis_group_description about;
    tamis_group_plan *plan = NULL;
    const char *failed = NULL;
    if (tamis_group_describe(group, &about) != TAMIS_OK) return tamis_last_error();
    draw(&x);
    if (take_part(&x, about.rank, about.ranks)) {
        tamis_options o = x.call.options;
        o.operation = operation;
        o.type = type;
        o.inner = c->inner;
        o.width = c->width;
        o.batch = x.p.options.batch;
        o.a_layout = o.b_layout = o.d_layout = o.output_layout = x.p.A.layout;
        o.transpose = transpose;
        if (operation == TAMIS_OP_FUSED && edge == TAMIS_EDGE_SOFTMAX && group_case_location == TAMIS_HOST) {
            o.keep_softmax = true;
            x.softmax_rows = calloc((size_t)(2 * BATCH * (x.out.rows + 1)), sizeof(double));
            x.call.execution.softmax_rows = x.softmax_rows;
        }
        o.threads = 1 + (about.rank + (int)operation) % 2;
        o.overlap = (about.rank + (int)operation + (int)edge + (int)(c - group_cases)) % 2 ? TAMIS_OVERLAP_ALWAYS
                                                                                           : TAMIS_OVERLAP_AUTO;
        if (group_case_exchange >= 0)
            o.exchange = (tamis_exchange)group_case_exchange;
        else
            o.exchange =
                (tamis_exchange)(((int)operation + (int)edge + (int)(c - group_cases)) % (TAMIS_EXCHANGE_COVER + 1));
        failed = tamis_group_plan_create(group, &x.S, x.own_rows, &o, &plan) == TAMIS_OK
                     ? run_twice(&x, plan)
                     : wrong(&x, tamis_last_error());
    } else {
        failed = wrong(&x, "no memory");
    }
    tamis_group_plan_destroy(plan);
    free(x.samples);
    free(x.zeros);
    free(x.softmax_rows);
    for (int i = 0; i < 3; i++) free(x.turned[i]);
    problem_free(&x.p);
    return failed;
}

const char *group_case_run_all(tamis_group *group, int first, int step) {
    static const tamis_type types[] = {TAMIS_F32, TAMIS_F64, TAMIS_F32, TAMIS_F16, TAMIS_BF16};
    int number = 0;
    for (int i = 0; i < group_case_count; i++)
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
            for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++)
                for (int transpose = 0; transpose <= (operation != TAMIS_OP_SDDMM); transpose++) {
                    const bool exact = group_cases[i].flags & GROUP_INTEGERS;
                    if (number++ % step != first % step) continue;
                    const char *const failed =
                        group_case_run(group, &group_cases[i], (tamis_operation)operation, (tamis_edge)edge,
                                       types[exact ? number % 2 : number % 5], transpose);
                    if (failed) return failed;
                }
    return NULL;
}
