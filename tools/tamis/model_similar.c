/* tamis similar: the columns (or rows) of a model whose factors point the same way. */
#include <math.h>
#include <stdlib.h>

#include "exit.h"
#include "model_use.h"
#include "operands.h"
#include "progress.h"

typedef struct settings {
    tool_use_settings use;
    int64_t top;
    bool rows;
} settings;

static const tool_option options[] = {
    {"top", 'n', TOOL_INTEGER, "N", "10", "number of similar ones for each", offsetof(settings, top), 1, 1e6, NULL},
    {"rows", 0, TOOL_FLAG, NULL, NULL, "similar rows (users, documents) instead of columns", offsetof(settings, rows),
     0, 0, NULL},
    TOOL_USE_JSON(settings, "a line of JSON for each similar one"),
    TOOL_USE_OUTPUT(settings),
    TOOL_USE_DEVICE(settings),
    TOOL_USE_THREADS(settings),
    {.name = NULL},
};

/* Unit vectors without the bias; those of all zeros stay so, and are similar to nothing. */
typedef struct directions {
    int64_t count, length;
    float *at;
} directions;

static directions find_directions(const tamis_dense *factors, int64_t length) {
    directions all = {.count = factors->rows, .length = length};
    all.at = tool_allocate((size_t)(all.count * length), sizeof *all.at);
    for (int64_t i = 0; i < all.count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < length; k++) sum += pow(tool_dense_get(factors, i, k), 2);
        for (int64_t k = 0; k < length && sum > 0; k++) {
            all.at[i * length + k] = (float)(tool_dense_get(factors, i, k) / sqrt(sum));
        }
    }
    return all;
}

typedef struct neighbour {
    int64_t index;
    double cosine;
} neighbour;

/* The nearest first; of equal ones the one with the lower index. Returns how many there are. */
static int64_t find_nearest(const directions *all, int64_t of, int64_t top, neighbour *nearest) {
    int64_t found = 0;
    const float *own = all->at + of * all->length;
    for (int64_t i = 0; i < all->count; i++) {
        const float *other = all->at + i * all->length;
        double cosine = 0;
        bool any = false;
        for (int64_t k = 0; k < all->length; k++) {
            cosine += (double)own[k] * (double)other[k];
            any |= other[k] != 0;
        }
        if (i == of || !any || (found == top && !(cosine > nearest[top - 1].cosine))) continue;
        int64_t place = found < top ? found++ : top - 1;
        for (; place > 0 && cosine > nearest[place - 1].cosine; place--) nearest[place] = nearest[place - 1];
        nearest[place] = (neighbour){i, cosine};
    }
    return found;
}

static int show_similar(const tool_use *use, const settings *set, int count, char **wanted) {
    const tamis_names *names = set->rows ? use->rows : use->columns;
    tamis_owned_dense *factors = NULL;
    if (set->rows && use->description.rows == 0) return tool_use_no_rows(use, "--rows");
    const tamis_status status =
        set->rows ? tamis_model_row_factors(use->model, &factors) : tamis_model_column_factors(use->model, &factors);
    if (status != TAMIS_OK) return tool_library_error(status, use->path);
    directions all = find_directions(tamis_owned_dense_view(factors), use->description.options.factors);
    tamis_owned_dense_free(factors);
    const int64_t top = set->top < all.count ? set->top : all.count;
    neighbour *nearest = tool_allocate((size_t)top, sizeof *nearest);
    int64_t *chosen = NULL, asked = 0;
    const char *what = set->rows ? "row" : "column";
    const int code = tool_use_choose(names, all.count, count, wanted, what, use->path, &chosen, &asked);
    for (int64_t i = 0; i < asked && code == 0 && !tool_interrupted(); i++) {
        if (use->out != stdout) tool_progress((double)i / (double)asked, "comparing");
        const int64_t found = find_nearest(&all, chosen[i], top, nearest);
        for (int64_t rank = 0; rank < found; rank++) {
            tool_use_line(use, 4,
                          (tool_field[]){{what, .names = names, .index = chosen[i]},
                                         {"rank", .index = rank + 1},
                                         {"similar", .names = names, .index = nearest[rank].index},
                                         {"cosine", .number = nearest[rank].cosine, .real = true}});
        }
    }
    tool_progress_clear();
    free(all.at);
    free(nearest);
    free(chosen);
    return code ? code : tool_interrupted() ? TOOL_INTERRUPTED : TOOL_OK;
}

static int run_similar(const void *given, int count, char **operands) {
    const settings *set = given;
    tool_use use;
    tool_interrupt_catch();
    const int code = tool_use_open(&set->use, operands[0], &use);
    return code ? code : tool_use_close(&use, show_similar(&use, set, count - 1, operands + 1));
}

const tool_command tool_similar_command = {
    .name = "similar",
    .summary = "find the items or words of a model that are most alike",
    .operands = "MODEL [ITEM ...]",
    .least = 1,
    .most = -1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run_similar,
};
