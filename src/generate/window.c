/*
 * Sliding-window attention masks. A row has the columns of a window around its own position, and the global columns; a
 * global row has all columns. In a matrix that is not square, positions follow the diagonal.
 */
#include "generate/kinds.h"

typedef struct window {
    int64_t begin, end; /* range of the window's non-global columns */
} window;

static window window_of(const tamis_recipe *recipe, int64_t width, int64_t row) {
    const int64_t centre = tamis_scale(row, recipe->cols, recipe->rows);
    int64_t begin = centre - width / 2, end = begin + width;
    if (begin < recipe->global) begin = recipe->global;
    if (end > recipe->cols) end = recipe->cols;
    if (end < begin) end = begin;
    return (window){begin, end};
}

static int64_t global_columns(const tamis_recipe *recipe) {
    return recipe->global < recipe->cols ? recipe->global : recipe->cols;
}

static int64_t count_row(const tamis_recipe *recipe, int64_t width, int64_t row) {
    if (row < recipe->global) return recipe->cols;
    const window w = window_of(recipe, width, row);
    return global_columns(recipe) + (w.end - w.begin);
}

/* Returns the number of entries of all rows, limited to `most`. */
static int64_t count_all(const tamis_recipe *recipe, int64_t width, int64_t most) {
    int64_t count = 0;
    for (int64_t row = 0; row < recipe->rows; row++) {
        const int64_t more = count_row(recipe, width, row);
        if (more >= most - count) return most;
        count += more;
    }
    return count;
}

/* Returns the width whose number of entries is nearest to the target, by bisection. */
static int64_t width_for(const tamis_recipe *recipe) {
    int64_t low = 0, high = 2 * recipe->cols; /* wide enough that every row is full */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (count_all(recipe, middle, INT64_MAX) >= recipe->nnz)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0) return 0;
    const int64_t above = count_all(recipe, low, INT64_MAX), below = count_all(recipe, low - 1, INT64_MAX);
    return above - recipe->nnz <= recipe->nnz - below ? low : low - 1;
}

static tamis_status plan_window(tamis_row_plan *plan) {
    const tamis_recipe *const recipe = plan->recipe;
    plan->band = recipe->band;
    if (recipe->band == 0 && recipe->nnz > 0) plan->band = width_for(recipe);
    if (recipe->band == 0 && recipe->nnz == 0) plan->band = recipe->cols / 16 + 1;
    if (plan->band > 2 * recipe->cols) plan->band = 2 * recipe->cols;
    plan->longest = recipe->global > 0 || plan->band > recipe->cols ? recipe->cols : plan->band;
    return TAMIS_OK;
}

static int64_t row_window(const tamis_row_plan *plan, tamis_row_room *room, int64_t row, int64_t *columns) {
    const tamis_recipe *const recipe = plan->recipe;
    (void)room;
    if (!columns) return count_row(recipe, plan->band, row);
    int64_t count = row < recipe->global ? recipe->cols : global_columns(recipe);
    for (int64_t j = 0; j < count; j++) columns[j] = j;
    if (row < recipe->global) return count;
    const window w = window_of(recipe, plan->band, row);
    for (int64_t j = w.begin; j < w.end; j++) columns[count++] = j;
    return count;
}

const tamis_row_kind tamis_row_kind_window = {plan_window, row_window};
