/* Random entries of R-MAT matrices and of circuits. */
#include "generate/kinds.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

/* ------------------------------------------------------------------------------------------- rmat */

/* Cumulative probabilities of the quadrants, scaled by 2^32: a = 0.57, b = c = 0.19; share_one is a / (a + b), for
   levels on which only one side is halved. */
static const uint32_t share_a = 2448131359u, share_ab = 3264175145u, share_abc = 4080218931u, share_one = 3221225472u;

/* Makes a random permutation of 0 .. count - 1. */
static tamis_status shuffle(uint64_t seed, int purpose, int64_t count, int64_t **names) {
    void *memory;
    TRY(tamis_allocate(count, sizeof(int64_t), "names of nodes", &memory));
    int64_t *const all = memory;
    tamis_random random = tamis_random_start(seed, tamis_stream(purpose, 0));
    for (int64_t i = 0; i < count; i++) {
        const int64_t j = tamis_scale_bits(tamis_random_next(&random), i + 1);
        all[i] = all[j];
        all[j] = i;
    }
    *names = all;
    return TAMIS_OK;
}

/* Each level chooses a quadrant of the current square, from the level of the longer side down. It never chooses a half
   beyond the edge of the matrix. */
static tamis_coordinates draw_rmat(const tamis_edge_plan *plan, const uint64_t *bits) {
    const tamis_recipe *const recipe = plan->recipe;
    int64_t row = 0, column = 0;
    for (int level = plan->levels - 1; level >= 0; level--) {
        const uint32_t u = (uint32_t)(bits[level / 2] >> (level % 2 * 32));
        const int64_t half = (int64_t)1 << level;
        const bool row_open = row + half < recipe->rows, column_open = column + half < recipe->cols;
        const bool lower = row_open & (column_open ? u >= share_ab : u >= share_one);
        const bool right =
            column_open & (row_open ? ((u >= share_a) & (u < share_ab)) | (u >= share_abc) : u >= share_one);
        row += lower ? half : 0;
        column += right ? half : 0;
    }
    return (tamis_coordinates){plan->row_names[row], plan->column_names[column]};
}

tamis_status tamis_plan_rmat(tamis_edge_plan *plan) {
    const tamis_recipe *const recipe = plan->recipe;
    const int64_t side = recipe->rows > recipe->cols ? recipe->rows : recipe->cols;
    while (plan->levels < 62 && (int64_t)1 << plan->levels < side) plan->levels++;
    plan->draw = draw_rmat;
    plan->draws = plan->levels < 2 ? 1 : (plan->levels + 1) / 2; /* two levels each */
    TRY(shuffle(recipe->seed, TAMIS_STREAM_ROW_NAMES, recipe->rows, &plan->row_names));
    if (recipe->rows == recipe->cols) {
        plan->column_names = plan->row_names;
        return TAMIS_OK;
    }
    return shuffle(recipe->seed, TAMIS_STREAM_COLUMN_NAMES, recipe->cols, &plan->column_names);
}

/* ------------------------------------------------------------------------------------------- scatter */

/* Three of five entries lie near the diagonal, with the probability of a distance proportional to one over its square,
   as in the wiring of a circuit. The others are uniform. */
static tamis_coordinates draw_scatter(const tamis_edge_plan *plan, const uint64_t *bits) {
    const tamis_recipe *const recipe = plan->recipe;
    const int64_t row = tamis_scale_bits(bits[0], recipe->rows);
    if (tamis_scale_bits(bits[2], 5) >= 3) return (tamis_coordinates){row, tamis_scale_bits(bits[1], recipe->cols)};
    const double uniform = (double)(bits[1] >> 11) * 0x1p-53, away = 8 * uniform / (1 - uniform);
    const int64_t distance = 1 + (away < 1e6 ? (int64_t)away : 1000000);
    const int64_t column = bits[2] & 1 ? row + distance : row - distance;
    const int64_t last = recipe->cols - 1;
    return (tamis_coordinates){row, column < 0 ? 0 : column > last ? last : column};
}

tamis_status tamis_plan_scatter(tamis_edge_plan *plan) {
    const tamis_recipe *const recipe = plan->recipe;
    const int64_t diagonal = recipe->rows < recipe->cols ? recipe->rows : recipe->cols;
    plan->diagonal = recipe->nnz >= diagonal ? diagonal : 0;
    plan->draw = draw_scatter;
    plan->draws = 3;
    return TAMIS_OK;
}
