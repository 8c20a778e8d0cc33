/* The common parts of the oracle's operations: reading a call, the places of nonzeros, samples. */
#include "reference/request.h"

#include <math.h>
#include <string.h>

#include "base/edges.h"
#include "base/reserved.h"
#include "base/scope.h"
#include "reference/places.h"
#include "sparse/check.h"
#include "sparse/element.h"
#include "sparse/structure.h"

double tamis_oracle_dense_at(const tamis_dense *X, int64_t member, int64_t i, int64_t j) {
    const int64_t stride = tamis_dense_stride(X);
    const int64_t at = X->layout == TAMIS_ROW_MAJOR ? i * stride + j : j * stride + i;
    return tamis_element_load(X->data, X->type, member * X->batch_stride + at);
}

bool tamis_oracle_has_values(const tamis_request *r) { return r->given.values != NULL; }

double tamis_oracle_value_at(const tamis_request *r, int64_t t) {
    if (!tamis_oracle_has_values(r)) return 1;
    return tamis_element_load(r->given.values, r->S.value_type,
                              r->member * r->given.values_stride + r->S.offset_base + t);
}

double tamis_oracle_dot(const tamis_request *r, const tamis_dense *A, const tamis_dense *B, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < A->cols; k++)
        sum += tamis_oracle_dense_at(A, r->member, i, k) * tamis_oracle_dense_at(B, r->member, j, k);
    return sum;
}

int64_t tamis_oracle_place_in(const tamis_request *r, int k, int64_t t) {
    const int kind = r->text->value.array[k].kind;
    return kind == TAMIS_STEP_ROW     ? r->row_of[t]
           : kind == TAMIS_STEP_COL   ? r->column_of[t]
           : kind == TAMIS_STEP_ENTRY ? t
                                      : 0;
}

tamis_edge_place tamis_oracle_place(const tamis_request *r, int64_t t) {
    const int64_t row = r->row_of[t];
    tamis_edge_place place = {r->numbers ? r->numbers[row] : row, r->column_of[t], r->member, {0}};
    for (int k = 0; k < r->text->value.arrays; k++)
        place.named[k] = tamis_oracle_dense_at(r->named[k]->values, r->member, tamis_oracle_place_in(r, k, t), 0);
    return place;
}

/* Finds the arrays that the text names. */
static tamis_status take_named(tamis_request *r) {
    for (int64_t n = 0; n < r->given.edge_operand_count; n++)
        if (!r->given.edge_operands || !r->given.edge_operands[n].name || !r->given.edge_operands[n].values)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.edge_operands[%lld] is NULL, or has no name or values",
                              (long long)n);
    for (int k = 0; r->text && k < r->text->value.arrays; k++) {
        const tamis_array_name *const array = &r->text->value.array[k];
        const int64_t counts[] = {r->rows, r->cols, r->S.nnz, 1};
        for (int64_t n = 0; n < r->given.edge_operand_count; n++)
            if (strcmp(r->given.edge_operands[n].name, array->name) == 0) r->named[k] = &r->given.edge_operands[n];
        if (!r->named[k])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.edge_operands have no '%s', which the edge's text reads",
                              array->name);
        TRY(tamis_oracle_check_operand(r, r->named[k]->values, array->name, counts[array->kind - TAMIS_STEP_ROW], 1));
        if (r->named[k]->gradient)
            TRY(tamis_oracle_check_operand(r, r->named[k]->gradient, array->name, counts[array->kind - TAMIS_STEP_ROW],
                                           1));
    }
    return TAMIS_OK;
}

tamis_edge_point tamis_oracle_edge_at(const tamis_request *r, int64_t t, double x) {
    if (r->text)
        return tamis_edge_text_at(r->text, r->options.type, tamis_oracle_value_at(r, t), x, 0,
                                  tamis_oracle_place(r, t));
    const bool absent = r->options.edge == TAMIS_EDGE_SOFTMAX && !tamis_oracle_has_values(r);
    return tamis_edge_at(&r->options, absent ? 0 : tamis_oracle_value_at(r, t), x, 0);
}

tamis_status tamis_oracle_start(tamis_request *r, int arrays, int64_t results) {
    const int64_t nnz = r->S.nnz;
    const bool transpose = r->options.transpose;
    double **const samples[] = {&r->p, &r->x, &r->dp};
    const tamis_status made = tamis_edge_text_make(&r->options, &r->text);
    TRY(tamis_scope_own_memory(r->text)); /* also if its text is refused */
    TRY(made);
    TRY(take_named(r));
    r->options.edge = tamis_edge_of_text(r->text, r->options.edge);
    const int64_t normalised = r->options.edge == TAMIS_EDGE_SOFTMAX ? r->rows : 0;
    TRY(tamis_allocate_array(nnz, "the oracle's row indices", r->row_of));
    TRY(tamis_allocate_array(nnz, "the oracle's column indices", r->column_of));
    for (int i = 0; i < arrays && i < 3; i++) TRY(tamis_allocate_array(nnz, "the oracle's samples", *samples[i]));
    TRY(tamis_allocate_array(normalised, "the oracle's row maxima", r->most));
    TRY(tamis_allocate_array(normalised, "the oracle's row sums", r->sum));
    tamis_oracle_find_places(&r->S, transpose ? r->column_of : r->row_of, transpose ? r->row_of : r->column_of);
    if (results == 0) r->member = r->options.batch;
    return TAMIS_OK;
}

void tamis_oracle_apply_edge(const tamis_request *r) {
    const int64_t *const rows = r->row_of;
    const int64_t nnz = r->S.nnz;
    double *const p = r->p, *const most = r->most, *const sum = r->sum;
    for (int64_t t = 0; t < nnz; t++) p[t] = tamis_oracle_edge_at(r, t, p[t]).p;
    if (r->options.edge != TAMIS_EDGE_SOFTMAX) return;
    for (int64_t i = 0; i < r->rows; i++) most[i] = -INFINITY, sum[i] = 0;
    for (int64_t t = 0; t < nnz; t++) most[rows[t]] = fmax(most[rows[t]], p[t]);
    for (int64_t t = 0; t < nnz; t++) {
        p[t] = exp(p[t] - (most[rows[t]] == -INFINITY ? 0 : most[rows[t]]));
        sum[rows[t]] += p[t];
    }
    for (int64_t t = 0; t < nnz; t++) /* an all-masked row (-infinity) has zeros */
        if (sum[rows[t]] != 0) p[t] /= sum[rows[t]];
}

void tamis_oracle_sample(const tamis_request *r, const tamis_dense *A, const tamis_dense *B) {
    for (int64_t t = 0; t < r->S.nnz; t++) r->p[t] = tamis_oracle_dot(r, A, B, r->row_of[t], r->column_of[t]);
    tamis_oracle_apply_edge(r);
}

/* ------------------------------------------------------------------------------------------ checks */

tamis_status tamis_oracle_read(const tamis_sparse *S, const tamis_options *options, const tamis_execution *execution,
                               tamis_operation operation, tamis_request *r) {
    static const tamis_options defaults = TAMIS_OPTIONS_INIT;
    static const tamis_execution usual = TAMIS_EXECUTION_INIT;
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "S = NULL: expected a sparse matrix");
    TRY(tamis_sparse_check_host(S, "S"));
    *r = (tamis_request){.S = *S, .options = options ? *options : defaults, .given = execution ? *execution : usual};
    TRY(TAMIS_RESERVED(&r->options, "options"));
    TRY(TAMIS_RESERVED(&r->given, "execution"));
    const tamis_options *const o = &r->options;
    if (!tamis_edge_is_valid(o->edge))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge = %d is not a valid tamis_edge", (int)o->edge);
    if (o->batch < 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.batch = %lld: expected 1 or more", (long long)o->batch);
    TRY(tamis_size_check("options", "batch", o->batch));
    if (operation == TAMIS_OP_SDDMM && o->transpose)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.transpose = true is not supported for SDDMM: exchange A and B instead");
    if (r->given.values && !S->values)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.values is not NULL, but S has no values");
    if (!r->given.values) {
        r->given.values = S->values;
        r->given.values_stride = S->batch_stride;
    }
    TRY(tamis_size_check("execution", "values_stride", r->given.values_stride));
    TRY(tamis_batch_check("values", o->batch, r->given.values_stride, S->offset_base + S->nnz, sizeof(double)));
    r->rows = o->transpose ? S->cols : S->rows;
    r->cols = o->transpose ? S->rows : S->cols;
    return o->trust_input ? TAMIS_OK : tamis_validate_threads(S, 1);
}

int64_t tamis_oracle_cols(const tamis_dense *X) { return X ? X->cols : 0; }

double *tamis_oracle_member(double *results, int64_t first) { return results ? results + first : NULL; }

void tamis_oracle_scale_old(const tamis_request *r, double *out, int64_t count) {
    for (int64_t k = 0; out && k < count; k++) out[k] = r->given.beta != 0 ? r->given.beta * out[k] : 0;
}

tamis_status tamis_oracle_check_matrix(const tamis_dense *X, const char *name, int64_t rows, int64_t cols) {
    if (!X) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected a dense matrix", name);
    return tamis_dense_check(X, name, rows, cols, X->type);
}

tamis_status tamis_oracle_check_operand(const tamis_request *r, const tamis_dense *X, const char *name, int64_t rows,
                                        int64_t cols) {
    TRY(tamis_oracle_check_matrix(X, name, rows, cols));
    return tamis_dense_check_at(X, name, rows, cols, X->type, TAMIS_HOST, r->options.batch);
}

tamis_status tamis_oracle_check_output(const double *out, const char *name, int64_t entries) {
    if (!out && entries > 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected an address for the result", name);
    return TAMIS_OK;
}
