/* What a method calls in a fit on a group, and on one device alike. */
#include "ml/team.h"

#include <string.h>

int64_t ml_own_columns(const tamis_model *model, const tamis_sparse *data) {
    const ml_team *const team = model->team;
    return team ? team->column_starts[team->rank + 1] - team->column_starts[team->rank] : data->cols;
}

int64_t ml_first_column(const tamis_model *model) {
    const ml_team *const team = model->team;
    return team ? team->column_starts[team->rank] : 0;
}

tamis_status ml_half_place(const tamis_model *model, const tamis_sparse *data, bool transpose, ml_sparse *placed) {
    const ml_team *const team = model->team;
    tamis_status status;
    if (!team) return ml_sparse_place(model, data, transpose, placed);
    *placed = (ml_sparse){0};
    const tamis_sparse *const part = transpose ? &team->by_columns : data;
    const int64_t *const starts = transpose ? team->row_starts : team->column_starts;
    TRY_GOTO(failed, ml_sparse_convert(model, part, false, placed));
    TRY_GOTO(failed, tamis_group_rows_create(team->group, &placed->view, starts[team->rank + 1] - starts[team->rank],
                                             model->width, model->options.type, &placed->others));
    placed->view = *tamis_group_rows_pattern(placed->others);
    TRY_GOTO(failed, ml_sparse_send(model, placed));
    return TAMIS_OK;
failed:
    ml_sparse_free(model, placed);
    return status;
}

tamis_status ml_gather(const tamis_model *model, const ml_sparse *half, const tamis_dense *Y, tamis_dense *all) {
    *all = *Y;
    if (!half->others) return TAMIS_OK;
    return tamis_group_rows_fetch(half->others, Y, NULL, model->team->generation, all);
}

void ml_changed(tamis_model *model) {
    if (model->team) model->team->generation++;
}

tamis_status ml_add_ranks(const tamis_model *model, double *numbers, int64_t count) {
    return model->team ? tamis_group_sum(model->team->group, numbers, count) : TAMIS_OK;
}

tamis_status ml_gram(const tamis_model *model, const tamis_dense *Y, double diagonal, const tamis_dense *G) {
    const int64_t width = G->cols;
    double *numbers = NULL;
    tamis_status status;
    if (!model->team) return tamis_dense_gram(model->device, NULL, model->workspace, 1, Y, diagonal, G);
    TRY(tamis_dense_gram(model->device, NULL, model->workspace, 1, Y, 0, G));
    TRY(ml_dense_read_doubles(model, G, &numbers));
    TRY_GOTO(done, tamis_group_sum(model->team->group, numbers, width * width));
    for (int64_t i = 0; i < width; i++) numbers[i * width + i] += diagonal;
    TRY_GOTO(done, ml_dense_write_doubles(model, G, numbers));
done:
    tamis_release(numbers);
    return status;
}

int ml_threads(const tamis_model *model) {
    const int asked = model->options.threads;
    return asked == 0 && model->team ? tamis_group_threads(model->team->group) : asked;
}

tamis_status ml_stop_together(tamis_model *model) {
    const ml_team *const team = model->team;
    int32_t stopped = model->stopped;
    if (!team) return TAMIS_OK;
    TRY(tamis_group_share(team->group, TAMIS_OK, &stopped, sizeof stopped));
    for (int r = 0; r < team->ranks; r++) {
        memcpy(&stopped, tamis_group_shared(team->group, r, sizeof stopped), sizeof stopped);
        model->stopped = model->stopped || stopped;
    }
    return TAMIS_OK;
}
