/*
 * Copies a matrix into another format and other types, in steps: types, grouping by row or column, sorting, merging,
 * format. Steps without work are skipped. Between steps the current matrix is the caller's or ours.
 */
#include <string.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/element.h"
#include "sparse/order.h"
#include "sparse/structure.h"

/* The current matrix. `owned` is the last step's result; NULL: the matrix is the caller's. */
typedef struct stage {
    tamis_sparse view;
    tamis_owned_sparse *owned;
    void *listed; /* int64: row i of a CSR between two COOs is row listed[i]; NULL: row i */
    int64_t rows; /* with `listed`: the total number of rows */
} stage;

static void take(stage *at, tamis_owned_sparse *made) {
    tamis_owned_sparse_free(at->owned);
    at->owned = made;
    at->view = made->view;
}

/* Makes `made` the view, or frees it after an error. */
static tamis_status take_or_free(stage *at, tamis_owned_sparse *made, tamis_status status) {
    if (status == TAMIS_OK)
        take(at, made);
    else
        tamis_owned_sparse_free(made);
    return status;
}

/* ------------------------------------------------------------------------------------------- types */

typedef struct copying {
    void *to;
    const void *from;
    int64_t count;
    int to_type, from_type;
} copying;

TAMIS_INLINE void copy_indices(const copying *c, tamis_index_type to, tamis_index_type from, int64_t begin,
                               int64_t end) {
    for (int64_t i = begin; i < end; i++) tamis_index_store(c->to, to, i, tamis_index_load(c->from, from, i));
}

static void copy_indices_thread(void *context, int thread, int threads) {
    const copying *const c = context;
    const int64_t begin = tamis_partition_even(c->count, threads, thread);
    const int64_t end = tamis_partition_even(c->count, threads, thread + 1);
    if (c->to_type == TAMIS_I32 && c->from_type == TAMIS_I32)
        copy_indices(c, TAMIS_I32, TAMIS_I32, begin, end);
    else if (c->to_type == TAMIS_I32)
        copy_indices(c, TAMIS_I32, TAMIS_I64, begin, end);
    else if (c->from_type == TAMIS_I32)
        copy_indices(c, TAMIS_I64, TAMIS_I32, begin, end);
    else
        copy_indices(c, TAMIS_I64, TAMIS_I64, begin, end);
}

TAMIS_INLINE void copy_values(const copying *c, tamis_type to, tamis_type from, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) tamis_element_store(c->to, to, i, tamis_element_load(c->from, from, i));
}

TAMIS_INLINE void copy_values_from(const copying *c, tamis_type from, int64_t begin, int64_t end) {
    switch ((tamis_type)c->to_type) {
    case TAMIS_F32: copy_values(c, TAMIS_F32, from, begin, end); return;
    case TAMIS_F64: copy_values(c, TAMIS_F64, from, begin, end); return;
    case TAMIS_F16: copy_values(c, TAMIS_F16, from, begin, end); return;
    case TAMIS_BF16: copy_values(c, TAMIS_BF16, from, begin, end); return;
    }
}

static void copy_values_thread(void *context, int thread, int threads) {
    const copying *const c = context;
    const int64_t begin = tamis_partition_even(c->count, threads, thread);
    const int64_t end = tamis_partition_even(c->count, threads, thread + 1);
    const size_t size = tamis_type_size((tamis_type)c->to_type);
    if (begin == end) return;
    if (!c->from) {
        for (int64_t i = begin; i < end; i++) tamis_element_store(c->to, (tamis_type)c->to_type, i, 1);
        return;
    }
    if (c->to_type == c->from_type) { /* copying keeps the bits of NaNs */
        memcpy((char *)c->to + (size_t)begin * size, (const char *)c->from + (size_t)begin * size,
               (size_t)(end - begin) * size);
        return;
    }
    switch ((tamis_type)c->from_type) {
    case TAMIS_F32: copy_values_from(c, TAMIS_F32, begin, end); return;
    case TAMIS_F64: copy_values_from(c, TAMIS_F64, begin, end); return;
    case TAMIS_F16: copy_values_from(c, TAMIS_F16, begin, end); return;
    case TAMIS_BF16: copy_values_from(c, TAMIS_BF16, begin, end); return;
    }
}

static void copy_parallel(tamis_thread_body *body, copying c) {
    enum { SHARE = 1 << 16 };
    tamis_threads_run(tamis_threads_for(0, c.count, SHARE), body, &c);
}

/* Copies the matrix into the types of `wanted`, with the values if with_values. */
static tamis_status copy_matrix(stage *at, const tamis_sparse *wanted, bool with_values) {
    const tamis_sparse *const from = &at->view;
    tamis_sparse shape = *from;
    shape.index_type = wanted->index_type;
    shape.offset_type = wanted->offset_type;
    shape.value_type = wanted->value_type;
    tamis_owned_sparse *made;
    TRY(tamis_owned_sparse_create(&shape, with_values, &made));
    if (from->format == TAMIS_CSR)
        copy_parallel(copy_indices_thread, (copying){made->offsets, from->offsets, from->rows + 1,
                                                     (int)shape.offset_type, (int)from->offset_type});
    else
        copy_parallel(copy_indices_thread, (copying){made->row_indices, from->row_indices, from->nnz,
                                                     (int)shape.index_type, (int)from->index_type});
    copy_parallel(copy_indices_thread,
                  (copying){made->columns, from->columns, from->nnz, (int)shape.index_type, (int)from->index_type});
    if (with_values)
        copy_parallel(copy_values_thread,
                      (copying){made->values, from->values, from->nnz, (int)shape.value_type, (int)from->value_type});
    take(at, made);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------- steps */

/* Converts to the requested types. No copy is needed for the offsets of a CSR that will be transposed, since grouping
   replaces them, or for absent arrays. */
static tamis_status set_types(stage *at, const tamis_convert_options *options, bool with_values) {
    tamis_sparse *const view = &at->view;
    const bool offsets_stay = view->format == TAMIS_CSR && !options->transpose;
    const bool same = view->index_type == options->index_type &&
                      (!offsets_stay || view->offset_type == options->offset_type) &&
                      (!with_values || (view->values && view->value_type == options->value_type));
    if (!with_values) view->values = NULL;
    if (same) {
        view->value_type = options->value_type;
        return TAMIS_OK;
    }
    const tamis_sparse wanted = {.index_type = options->index_type,
                                 .offset_type = offsets_stay ? options->offset_type : view->offset_type,
                                 .value_type = options->value_type};
    return copy_matrix(at, &wanted, with_values);
}

static tamis_status group(stage *at, bool by_column, tamis_index_type offset_type) {
    tamis_sparse shape = at->view;
    shape.format = TAMIS_CSR;
    shape.offset_type = offset_type;
    if (by_column) {
        shape.rows = at->view.cols;
        shape.cols = at->view.rows;
    }
    tamis_owned_sparse *made;
    TRY(tamis_owned_sparse_create(&shape, at->view.values != NULL, &made));
    const tamis_status status = tamis_group(&at->view, by_column, 0, offset_type, made->offsets,
                                            &(tamis_reordered){made->columns, made->values, NULL});
    return take_or_free(at, made, status);
}

/* Groups a COO by rows on the way to another COO, without empty rows. */
static tamis_status group_listed(stage *at) {
    tamis_sparse shape = at->view;
    tamis_owned_sparse *made;
    shape.format = TAMIS_CSR;
    shape.offset_type = TAMIS_I64;
    shape.rows = shape.nnz;
    at->rows = at->view.rows;
    TRY(tamis_allocate(at->view.nnz + 1, sizeof(int64_t), "rows that have entries", &at->listed));
    TRY(tamis_owned_sparse_create(&shape, at->view.values != NULL, &made));
    const tamis_status status =
        tamis_group_listed(&at->view, false, TAMIS_I64, at->listed, &made->view.rows, made->offsets,
                           &(tamis_reordered){made->columns, made->values, NULL});
    return take_or_free(at, made, status);
}

static tamis_status sort(stage *at) {
    tamis_owned_sparse *made;
    TRY(tamis_owned_sparse_create(&at->view, at->view.values != NULL, &made));
    memcpy(made->offsets, at->view.offsets, (size_t)(at->view.rows + 1) * tamis_index_size(at->view.offset_type));
    const tamis_status status = tamis_sort_rows(&at->view, 0, &(tamis_reordered){made->columns, made->values, NULL});
    return take_or_free(at, made, status);
}

/* counts: gives a pattern ones, whose sums are the multiplicities of entries. */
static tamis_status merge_duplicates(stage *at, bool last, bool counts) {
    if (!at->owned || counts) TRY(copy_matrix(at, &at->view, at->view.values != NULL || counts));
    TRY(tamis_merge_duplicates(at->owned, last));
    at->view = at->owned->view;
    return TAMIS_OK;
}

/* Converts our CSR to COO: row indices replace the offsets. */
static tamis_status ungroup(stage *at) {
    void *row_indices;
    TRY(tamis_allocate(at->view.nnz, tamis_index_size(at->view.index_type), "row indices", &row_indices));
    tamis_expand_rows(&at->view, 0, row_indices);
    tamis_owned_sparse *const made = at->owned;
    if (at->listed) {
        const int64_t *const listed = at->listed;
        for (int64_t t = 0; t < made->view.nnz; t++)
            tamis_index_store(row_indices, made->view.index_type, t,
                              listed[tamis_index_load(row_indices, made->view.index_type, t)]);
        made->view.rows = at->rows;
    }
    tamis_release(made->offsets);
    made->offsets = NULL;
    made->row_indices = row_indices;
    made->view.format = TAMIS_COO;
    made->view.offsets = NULL;
    made->view.row_indices = row_indices;
    at->view = made->view;
    return TAMIS_OK;
}

/* Transposes a COO by swapping rows and columns, without moving data. */
static void swap_sides(stage *at) {
    tamis_sparse *const view = &at->view;
    const tamis_sparse old = *view;
    view->rows = old.cols;
    view->cols = old.rows;
    view->row_indices = old.columns;
    view->columns = old.row_indices;
    if (!at->owned) return;
    void *const columns = at->owned->columns;
    at->owned->columns = at->owned->row_indices;
    at->owned->row_indices = columns;
    at->owned->view = *view;
}

static tamis_status run_steps(stage *at, const tamis_convert_options *options) {
    const bool with_values =
        options->values == TAMIS_VALUES_ONES || (options->values == TAMIS_VALUES_AS_FILED && at->view.values != NULL);
    const bool sorted_rows = options->sort || options->duplicates != TAMIS_DUPLICATES_KEEP;
    TRY(set_types(at, options, with_values));
    if (at->view.format == TAMIS_COO && options->transpose) swap_sides(at);
    if (at->view.format == TAMIS_COO && options->format == TAMIS_COO && sorted_rows &&
        tamis_groups_are_rare(at->view.rows, at->view.nnz))
        TRY(group_listed(at));
    else if (at->view.format == TAMIS_COO && (options->format == TAMIS_CSR || sorted_rows))
        TRY(group(at, false, options->offset_type));
    else if (at->view.format == TAMIS_CSR && options->transpose)
        TRY(group(at, true, options->offset_type));
    if (sorted_rows) {
        int64_t duplicates;
        if (!tamis_is_sorted(&at->view, 0, &duplicates)) TRY(sort(at));
        if (options->duplicates != TAMIS_DUPLICATES_KEEP && duplicates != 0)
            TRY(merge_duplicates(at, options->duplicates == TAMIS_DUPLICATES_LAST,
                                 options->duplicates == TAMIS_DUPLICATES_SUM && !at->view.values &&
                                     options->values == TAMIS_VALUES_AS_FILED));
    }
    if (!at->owned) TRY(copy_matrix(at, &at->view, at->view.values != NULL));
    if (at->view.format != options->format) TRY(ungroup(at));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------- public */

static tamis_status take_options(const tamis_convert_options *given, tamis_convert_options *options) {
    *options = (tamis_convert_options)TAMIS_CONVERT_OPTIONS_INIT;
    if (!given) return TAMIS_OK;
    TRY(TAMIS_RESERVED(given, "options"));
    *options = *given;
    const tamis_range choices[] = {{"format", (int64_t)options->format, 0, TAMIS_COO},
                                   {"index_type", (int64_t)options->index_type, 0, TAMIS_I64},
                                   {"offset_type", (int64_t)options->offset_type, 0, TAMIS_I64},
                                   {"value_type", (int64_t)options->value_type, 0, TAMIS_BF16},
                                   {"values", (int64_t)options->values, 0, TAMIS_VALUES_ONES},
                                   {"duplicates", (int64_t)options->duplicates, 0, TAMIS_DUPLICATES_LAST}};
    return tamis_ranges_check("options", choices, sizeof choices / sizeof *choices);
}

static tamis_status check_fits(const tamis_sparse *S, const tamis_convert_options *options) {
    const bool rows_are_indices = S->format == TAMIS_COO || options->format == TAMIS_COO || options->transpose;
    const struct {
        const char *field;
        int64_t size;
        bool index;
    } sides[] = {{"rows", S->rows, rows_are_indices}, {"cols", S->cols, true}};
    for (int i = 0; i < 2; i++)
        if (sides[i].index) TRY(tamis_index_check("S", sides[i].field, sides[i].size, options->index_type));
    return tamis_offset_check("S", "nnz", S->nnz, options->offset_type);
}

tamis_status tamis_convert(const tamis_sparse *S, const tamis_convert_options *options, tamis_owned_sparse **matrix) {
    tamis_clear_error();
    if (!matrix) return tamis_fail(TAMIS_ERROR_ARGUMENT, "matrix = NULL: expected an address for the result");
    *matrix = NULL;
    tamis_convert_options wanted;
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(take_options(options, &wanted));
    TRY(check_fits(S, &wanted));
    TRY(tamis_validate_threads(S, 0));
    stage at = {.owned = NULL};
    void *offsets = NULL;
    TRY(tamis_slice_rebase(S, &at.view, &offsets));
    const tamis_status status = run_steps(&at, &wanted);
    tamis_release(offsets);
    tamis_release(at.listed);
    if (status != TAMIS_OK) {
        tamis_owned_sparse_free(at.owned);
        return status;
    }
    at.owned->view.offset_type = wanted.offset_type;
    *matrix = at.owned;
    return TAMIS_OK;
}
