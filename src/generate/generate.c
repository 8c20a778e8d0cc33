/* The public generator: the table of kinds, the options, and the values. */
#include "generate/recipe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "base/threads.h"
#include "generate/kinds.h"
#include "sparse/check.h"

typedef struct kind_row {
    const char *name;
    int64_t block; /* the default; 1: the kind has no blocks */
    /* exactly one is set: the kind is made row by row, or entry by entry */
    const tamis_row_kind *rows;
    tamis_status (*draws)(tamis_edge_plan *plan);
} kind_row;

static const kind_row kinds[] = {
    [TAMIS_KIND_UNIFORM] = {"uniform", 1, .rows = &tamis_row_kind_uniform},
    [TAMIS_KIND_RMAT] = {"rmat", 1, .draws = tamis_plan_rmat},
    [TAMIS_KIND_BANDED] = {"banded", 1, .rows = &tamis_row_kind_banded},
    [TAMIS_KIND_FEM] = {"fem", 3, .rows = &tamis_row_kind_fem},
    [TAMIS_KIND_BLOCK] = {"block", 16, .rows = &tamis_row_kind_block},
    [TAMIS_KIND_SCATTER] = {"scatter", 1, .draws = tamis_plan_scatter},
    [TAMIS_KIND_WINDOW] = {"window", 1, .rows = &tamis_row_kind_window},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

const char *tamis_kind_name(tamis_kind kind) { return (unsigned)kind < KINDS ? kinds[kind].name : "unknown"; }

tamis_status tamis_kind_from_name(const char *name, tamis_kind *kind) {
    tamis_clear_error();
    if (!name) return tamis_fail(TAMIS_ERROR_ARGUMENT, "name = NULL: expected the name of a kind");
    if (!kind) return tamis_fail(TAMIS_ERROR_ARGUMENT, "kind = NULL: expected an address for the result");
    char names[160] = "";
    for (int k = 0, used = 0; k < KINDS; k++) {
        if (strcmp(name, kinds[k].name) == 0) {
            *kind = (tamis_kind)k;
            return TAMIS_OK;
        }
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%s",
                         k == 0           ? ""
                         : k == KINDS - 1 ? " or "
                                          : ", ",
                         kinds[k].name);
    }
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "name = \"%s\": expected %s", name, names);
}

/* ------------------------------------------------------------------------------------------- options */

static tamis_status take_options(const tamis_generate_options *given, tamis_generate_options *options) {
    *options = (tamis_generate_options)TAMIS_GENERATE_OPTIONS_INIT;
    if (!given) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected generator options");
    TRY(TAMIS_RESERVED(given, "options"));
    *options = *given;
    const tamis_range ranges[] = {{"kind", (int64_t)options->kind, 0, KINDS - 1},
                                  {"value_type", (int64_t)options->value_type, 0, TAMIS_BF16},
                                  {"index_type", (int64_t)options->index_type, 0, TAMIS_I64},
                                  {"offset_type", (int64_t)options->offset_type, 0, TAMIS_I64},
                                  {"rows", options->rows, 0, TAMIS_SIZE_MOST},
                                  {"cols", options->cols, 0, TAMIS_SIZE_MOST},
                                  {"nnz", options->nnz, 0, TAMIS_SIZE_MOST},
                                  {"band", options->band, 0, TAMIS_SIZE_MOST},
                                  {"block", options->block, 0, TAMIS_SIZE_MOST},
                                  {"global", options->global, 0, TAMIS_SIZE_MOST}};
    TRY(tamis_ranges_check("options", ranges, sizeof ranges / sizeof *ranges));
    if (!(options->density >= 0 && options->density <= 1))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.density = %g: expected 0 .. 1", options->density);
    if (options->cols == 0) options->cols = options->rows;
    return TAMIS_OK;
}

/* Computes nnz from the density if it is not given, and checks that it fits. */
static tamis_status settle_nnz(tamis_generate_options *options) {
    const double cells = (double)options->rows * (double)options->cols;
    if (options->nnz == 0) {
        const double count = floor(options->density * cells + 0.5);
        if (count > 0x1p60)
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "options.density = %g: %.0f nonzeros are too many",
                              options->density, count);
        options->nnz = (int64_t)count;
    }
    int64_t most;
    if (!__builtin_mul_overflow(options->rows, options->cols, &most) && options->nnz > most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.nnz = %lld: a matrix of %lld x %lld has at most %lld",
                          (long long)options->nnz, (long long)options->rows, (long long)options->cols, (long long)most);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------- making */

static tamis_status add_values(const tamis_recipe *recipe, tamis_type type, tamis_owned_sparse *matrix) {
    TRY(tamis_allocate(matrix->view.nnz, tamis_type_size(type), "values", &matrix->values));
    matrix->view.values = matrix->values;
    tamis_fill_values(matrix->values, type, matrix->view.nnz, recipe->seed, tamis_stream(TAMIS_STREAM_VALUES, 0), -1,
                      1);
    return TAMIS_OK;
}

tamis_status tamis_generate_pattern(tamis_kind kind, const tamis_recipe *recipe, tamis_owned_sparse **matrix) {
    const kind_row *const row = &kinds[kind];
    return row->rows ? tamis_make_rows(recipe, row->rows, matrix) : tamis_make_edges(recipe, row->draws, matrix);
}

tamis_status tamis_generate(const tamis_generate_options *options, tamis_owned_sparse **matrix) {
    tamis_clear_error();
    if (!matrix) return tamis_fail(TAMIS_ERROR_ARGUMENT, "matrix = NULL: expected an address for the result");
    *matrix = NULL;
    tamis_generate_options requested;
    TRY(take_options(options, &requested));
    TRY(settle_nnz(&requested));
    TRY(tamis_index_check("options", "cols", requested.cols, requested.index_type));
    TRY(tamis_offset_check("options", "nnz", requested.nnz, requested.offset_type));
    const tamis_recipe recipe = {.rows = requested.rows,
                                 .cols = requested.cols,
                                 .nnz = requested.nnz,
                                 .band = requested.band,
                                 .block = requested.block ? requested.block : kinds[requested.kind].block,
                                 .global = requested.global,
                                 .seed = requested.seed,
                                 .index_type = requested.index_type,
                                 .offset_type = requested.offset_type,
                                 .threads = tamis_threads_default()};
    tamis_owned_sparse *made = NULL;
    TRY(tamis_generate_pattern(requested.kind, &recipe, &made));
    made->view.value_type = requested.value_type;
    if (!requested.pattern) {
        const tamis_status status = add_values(&recipe, requested.value_type, made);
        if (status != TAMIS_OK) {
            tamis_owned_sparse_free(made);
            return status;
        }
    }
    *matrix = made;
    return TAMIS_OK;
}
