/* Functions that methods call in fits on one device and on a group alike. */
#include "ml/fit/group.h"

#include <string.h>

#include "base/scope.h"
#include "ml/fit/place.h"
#include "ml/model.h"

int64_t ml_own_columns(const tamis_model *model, const tamis_sparse *data) {
    const ml_rank *const rank = model->rank;
    return rank ? rank->column_starts[rank->number + 1] - rank->column_starts[rank->number] : data->cols;
}

int64_t ml_first_column(const tamis_model *model) {
    const ml_rank *const rank = model->rank;
    return rank ? rank->column_starts[rank->number] : 0;
}

static void destroy_rows(void *rows) { tamis_group_rows_destroy(rows); }

tamis_status ml_half_place(const tamis_model *model, const tamis_sparse *data, bool transpose, ml_sparse *placed) {
    const ml_rank *const rank = model->rank;
    if (!rank) return ml_sparse_place(model, data, transpose, placed);
    *placed = (ml_sparse){0};
    const tamis_sparse *const part = transpose ? &rank->by_columns : data;
    const int64_t *const starts = transpose ? rank->row_starts : rank->column_starts;
    TRY(ml_sparse_convert(model, part, false, placed));
    TRY(tamis_group_rows_create(rank->group, &placed->view, starts[rank->number + 1] - starts[rank->number],
                                model->width, model->options.type, &placed->others));
    TRY(tamis_scope_own(destroy_rows, placed->others));
    placed->view = *tamis_group_rows_pattern(placed->others);
    return ml_sparse_send(model, placed);
}

tamis_status ml_exchange(const ml_rank *rank, const tamis_transfer *transfer) {
    const int64_t mine = transfer->send_starts[rank->number], bytes = transfer->send_starts[rank->number + 1] - mine;
    if (bytes > 0)
        memcpy((char *)transfer->receive + transfer->receive_starts[rank->number], (const char *)transfer->send + mine,
               (size_t)bytes);
    return tamis_group_exchange(rank->group, transfer);
}

tamis_status ml_gather(const tamis_model *model, const ml_sparse *half, const tamis_dense *Y, tamis_dense *all) {
    *all = *Y;
    if (!half->others) return TAMIS_OK;
    return tamis_group_rows_fetch(half->others, Y, NULL, model->rank->generation, all);
}

void ml_changed(tamis_model *model) {
    if (model->rank) model->rank->generation++;
}

tamis_status ml_add_ranks(const tamis_model *model, double *numbers, int64_t count) {
    return model->rank ? tamis_group_sum(model->rank->group, numbers, count) : TAMIS_OK;
}

tamis_status ml_gram(const tamis_model *model, const tamis_dense *Y, double diagonal, const tamis_dense *G) {
    const int64_t width = G->cols;
    double *numbers;
    if (!model->rank) return tamis_dense_gram(model->device, NULL, model->workspace, 1, Y, diagonal, G);
    TRY(tamis_dense_gram(model->device, NULL, model->workspace, 1, Y, 0, G));
    TAMIS_SCOPE;
    TRY(ml_dense_read_doubles(model, G, &numbers));
    TRY(tamis_group_sum(model->rank->group, numbers, width * width));
    for (int64_t i = 0; i < width; i++) numbers[i * width + i] += diagonal;
    return ml_dense_write_doubles(model, G, numbers);
}

int ml_threads(const tamis_model *model) {
    const int asked = model->options.threads;
    return asked == 0 && model->rank ? tamis_group_threads(model->rank->group) : asked;
}

tamis_status ml_group_stop(tamis_model *model) {
    const ml_rank *const rank = model->rank;
    int32_t stopped = model->stopped;
    if (!rank) return TAMIS_OK;
    TRY(tamis_group_share(rank->group, TAMIS_OK, &stopped, sizeof stopped));
    for (int r = 0; r < rank->ranks; r++) {
        memcpy(&stopped, tamis_group_shared(rank->group, r, sizeof stopped), sizeof stopped);
        model->stopped = model->stopped || stopped;
    }
    return TAMIS_OK;
}
