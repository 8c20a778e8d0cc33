/* Uniform, banded and block patterns: each row gets a share of the target, at random permitted places. */
#include "generate/kinds.h"

#include "base/status.h"

/* Returns the share of one of `parts` equal parts; the remainder is spread evenly over the parts. */
static int64_t even_share(int64_t total, int64_t parts, int64_t part) {
    return tamis_scale(total, part + 1, parts) - tamis_scale(total, part, parts);
}

static int64_t rounded_up(int64_t total, int64_t parts) { return parts ? total / parts + (total % parts != 0) : 0; }

/* ------------------------------------------------------------------------------------------- uniform */

static tamis_status plan_uniform(tamis_row_plan *plan) {
    plan->bound = plan->recipe->cols;
    plan->most = plan->longest = rounded_up(plan->recipe->nnz, plan->recipe->rows);
    return TAMIS_OK;
}

static int64_t row_uniform(const tamis_row_plan *plan, tamis_row_room *room, int64_t row, int64_t *columns) {
    const tamis_recipe *const recipe = plan->recipe;
    const int64_t count = even_share(recipe->nnz, recipe->rows, row);
    if (columns)
        tamis_draw_subset(&room->subsets, tamis_stream(TAMIS_STREAM_COLUMNS, row), recipe->cols, count, columns);
    return count;
}

const tamis_row_kind tamis_row_kind_uniform = {plan_uniform, row_uniform};

/* ------------------------------------------------------------------------------------------- banded */

__extension__ typedef unsigned __int128 wide;

static wide triangle(int64_t n) { return n > 0 ? (wide)n * ((wide)n + 1) / 2 : 0; }

static int64_t not_negative(int64_t x) { return x > 0 ? x : 0; }

/* Returns the number of places within the band in the rows before `row`: row r has the columns max(0, r - band) ..
   min(cols, r + band + 1) - 1. */
static wide band_places(int64_t row, int64_t cols, int64_t band) {
    if (row - band > cols) row = cols + band; /* the band does not reach rows further down */
    const wide ends = triangle(row + band) - triangle(band) -
                      (triangle(not_negative(row + band - cols)) - triangle(not_negative(band - cols)));
    return ends - triangle(row - 1 - band);
}

/* Returns the number of nonzeros in the rows before `row`, in proportion to their places. */
static int64_t band_share(const tamis_row_plan *plan, int64_t row) {
    const tamis_recipe *const recipe = plan->recipe;
    const wide all = band_places(recipe->rows, recipe->cols, plan->band);
    const wide before = band_places(row, recipe->cols, plan->band), nnz = (wide)recipe->nnz;
    if (all == 0) return 0;
    if (all >> 63) /* the product might overflow: in such a large matrix a share by rows is as good */
        return tamis_scale(recipe->nnz, row, recipe->rows);
    return (int64_t)(nnz * before / all);
}

static tamis_status plan_banded(tamis_row_plan *plan) {
    const tamis_recipe *const recipe = plan->recipe;
    const int64_t side = recipe->rows > recipe->cols ? recipe->rows : recipe->cols;
    const wide nnz = (wide)recipe->nnz;
    plan->band = recipe->band < side ? recipe->band : side;
    if (recipe->band == 0) { /* a quarter full */
        const int64_t mean = rounded_up(recipe->nnz, recipe->rows);
        plan->band = mean < side / 2 ? 2 * mean : side;
        while (plan->band < side && band_places(recipe->rows, recipe->cols, plan->band) < nnz)
            plan->band = plan->band < side / 2 ? 2 * plan->band : side;
    }
    const wide places = band_places(recipe->rows, recipe->cols, plan->band);
    if (places < nnz)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "nnz = %lld: a band of %lld has at most %lld places",
                          (long long)recipe->nnz, (long long)plan->band, (long long)places);
    const int64_t width = plan->band < recipe->cols / 2 ? 2 * plan->band + 1 : recipe->cols;
    plan->bound = width;
    plan->most = plan->longest = width < recipe->nnz ? width : recipe->nnz;
    return TAMIS_OK;
}

static int64_t row_banded(const tamis_row_plan *plan, tamis_row_room *room, int64_t row, int64_t *columns) {
    const int64_t count = band_share(plan, row + 1) - band_share(plan, row);
    if (!columns || count == 0) return count;
    const int64_t begin = not_negative(row - plan->band);
    const int64_t last = plan->recipe->cols - 1;
    const int64_t end = last - row < plan->band ? last : row + plan->band;
    tamis_draw_subset(&room->subsets, tamis_stream(TAMIS_STREAM_COLUMNS, row), end - begin + 1, count, columns);
    for (int64_t i = 0; i < count; i++) columns[i] += begin;
    return count;
}

const tamis_row_kind tamis_row_kind_banded = {plan_banded, row_banded};

/* ------------------------------------------------------------------------------------------- blocks */

/* Plans the number of blocks that is nearest to the target. Blocks may be cut at the right and lower edge. */
static tamis_status plan_block(tamis_row_plan *plan) {
    const tamis_recipe *const recipe = plan->recipe;
    plan->groups = rounded_up(recipe->rows, recipe->block);
    plan->group_bound = rounded_up(recipe->cols, recipe->block);
    if (recipe->nnz == 0) return TAMIS_OK;
    const double blocks = (double)plan->groups * (double)plan->group_bound;
    const double area =
        (double)recipe->rows / (double)plan->groups * ((double)recipe->cols / (double)plan->group_bound);
    const double wanted = (double)recipe->nnz / area + 0.5;
    if (blocks > 0x1p62)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "block = %lld: too many blocks", (long long)recipe->block);
    const int64_t most = plan->groups * plan->group_bound;
    plan->group_total = wanted < (double)most ? (int64_t)wanted : most;
    plan->bound = plan->group_bound;
    plan->most = plan->group_longest = rounded_up(plan->group_total, plan->groups);
    const int64_t width = recipe->block < recipe->cols ? recipe->block : recipe->cols;
    if (__builtin_mul_overflow(plan->group_longest, width, &plan->longest) || plan->longest > recipe->cols)
        plan->longest = recipe->cols;
    return TAMIS_OK;
}

static int64_t row_block(const tamis_row_plan *plan, tamis_row_room *room, int64_t row, int64_t *columns) {
    const tamis_recipe *const recipe = plan->recipe;
    const int64_t group = row / recipe->block;
    if (plan->group_total == 0) return 0;
    if (room->group != group) {
        room->group = group;
        room->chosen_count = even_share(plan->group_total, plan->groups, group);
        tamis_draw_subset(&room->subsets, tamis_stream(TAMIS_STREAM_BLOCKS, group), plan->group_bound,
                          room->chosen_count, room->chosen);
    }
    int64_t count = 0;
    for (int64_t i = 0; i < room->chosen_count; i++) {
        const int64_t begin = room->chosen[i] * recipe->block;
        const int64_t width = recipe->cols - begin < recipe->block ? recipe->cols - begin : recipe->block;
        for (int64_t j = 0; columns && j < width; j++) columns[count + j] = begin + j;
        count += width;
    }
    return count;
}

const tamis_row_kind tamis_row_kind_block = {plan_block, row_block};
