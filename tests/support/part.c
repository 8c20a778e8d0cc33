#include "support/part.h"

#include <math.h>
#include <stdlib.h>
#include <tamis/structure.h>

void part_draw(part *x, int64_t members, tamis_random random) {
    const part_case *const c = x->c;
    const unsigned flags = c->flags;
    const tamis_layout layout = flags & PART_COLUMN_MAJOR ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
    const tamis_index_type wide = flags & PART_WIDE ? TAMIS_I64 : TAMIS_I32;
    const problem_options o = {.rows = x->transpose ? c->cols : c->rows,
                               .cols = x->transpose ? c->rows : c->cols,
                               .nnz = c->nnz,
                               .inner = c->inner,
                               .width = c->width,
                               .batch = flags & PART_BATCH ? members : 1,
                               .shape = c->shape,
                               .type = x->type,
                               .index_type = wide,
                               .offset_type = wide,
                               .layouts = {layout, layout, layout, layout},
                               .pattern = flags & PART_PATTERN,
                               .transpose = x->transpose,
                               .turned = x->transpose,
                               .shared = flags & PART_SHARED_B ? PROBLEM_SHARES_B : 0,
                               .padding = flags & PART_PADDED ? 3 : 0};
    x->p = problem_make(&o, &random);
    if (flags & PART_INTEGERS) problem_round(&x->p);
    if (flags & PART_SAME) x->p.D = x->p.B;
    x->call = call_of(x->edge, flags & PART_INTEGERS ? 2 : 0.75, flags & PART_BETA ? -1 : 0);
    x->call.options.edge_scale = 0.5;
    x->call.options.edge_epsilon = 0.25;
    x->result = problem_result(&x->p, x->operation);
    if (flags & PART_BETA) {
        matrix_draw(&x->result, -1, 1, &random);
        OWN(double) *const values = matrix_values(&x->result);
        for (int64_t i = 0; i < x->result.members * x->result.here.rows * x->result.here.cols; i++)
            values[i] = flags & PART_INTEGERS ? rint(3 * values[i]) : values[i];
        matrix_fill(&x->result, values);
    }
    x->old = matrix_copy(&x->result);
    x->right = expect_members(&x->p, x->operation, &x->call, &x->result);
    x->zeros = test_room(o.batch * (x->p.S.nnz + 1), sizeof(double));
}

static int64_t cut(int64_t total, int rank, int ranks) { return total * rank / ranks; }

part_rows part_rows_of(const tamis_sparse *S, bool transpose, bool uneven, int rank, int ranks) {
    const int64_t first = uneven ? 0 : cut(S->rows, rank, ranks);
    const int64_t rows = (uneven ? (rank == ranks - 1 ? S->rows : 0) : cut(S->rows, rank + 1, ranks)) - first;
    const int64_t of_own = uneven ? (rank == 0 ? 0 : S->cols) : cut(S->cols, rank, ranks);
    const int64_t own = (uneven ? S->cols : cut(S->cols, rank + 1, ranks)) - of_own;
    /* A and the output go with the rows of op(S), B and D with its columns */
    return transpose ? (part_rows){first, rows, of_own, own, first, rows, own}
                     : (part_rows){first, rows, first, rows, of_own, own, own};
}

bool part_take(part *x, const part_rows *rows) {
    const bool sddmm = x->operation == TAMIS_OP_SDDMM;
    if (tamis_slice(&x->p.S, rows->first, rows->rows, 0, 0, &x->S) != TAMIS_OK) return false;
    x->first = sddmm ? x->S.offset_base : rows->left;
    x->A = test_rows_of(&x->p.A, rows->left, rows->left_rows);
    x->B = test_rows_of(x->operation == TAMIS_OP_SPMM ? &x->p.D : &x->p.B, rows->right, rows->right_rows);
    x->D = test_rows_of(&x->p.D, rows->right, rows->right_rows);
    x->out = test_rows_of(&x->result.here, x->first, sddmm ? x->S.nnz : rows->left_rows);
    if (x->c->flags & PART_VALUES) { /* those of the view would be wrong */
        x->call.execution.values = x->S.values;
        x->call.execution.values_stride = x->S.batch_stride;
        x->S.values = x->zeros;
    }
    return true;
}

void part_free(part *x) {
    problem_free(&x->p);
    matrix_free(&x->result);
    expect_free(&x->right);
    free(x->old);
    free(x->zeros);
}

tamis_options part_options(const part *x) { return problem_call(&x->p, x->operation, &x->call.options); }

static bool others_are_old(const part *x) {
    matrix old = x->result;
    bool same = matrix_touched(&x->result) < 0;
    old.here.data = x->old;
    for (int64_t m = 0; m < old.members; m++)
        for (int64_t i = 0; i < old.here.rows && same; i++)
            for (int64_t j = 0; j < old.here.cols && same && (i < x->first || i >= x->first + x->out.rows); j++) {
                const double was = matrix_at(&old, m, i, j), is = matrix_at(&x->result, m, i, j);
                same = is == was || (isnan(is) && isnan(was));
            }
    return same;
}

const char *part_wrong(const part *x) {
    const bool exact = x->c->flags & PART_INTEGERS &&
                       (x->edge <= TAMIS_EDGE_RESIDUAL || x->operation == TAMIS_OP_SPMM) &&
                       tamis_type_size(x->type) >= 4;
    const char *wrong = others_are_old(x) ? NULL : "another's row or a gap was written to";
    for (int64_t m = 0; m < x->result.members && !wrong; m++) {
        const int64_t at = x->first * x->out.cols;
        wrong = expect_wrong(&x->out, m, x->right.want[m] + at, exact ? NULL : x->right.bound[m] + at);
    }
    return wrong;
}
