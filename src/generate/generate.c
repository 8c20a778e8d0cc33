/* Generators: their names, options and the values of what they make. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "base/threads.h"
#include "generate/recipe.h"
#include "sparse/index.h"

typedef struct kind_row {
    const char *name;
    tamis_maker *make;
    int64_t block; /* where none is given; 1: the kind has no blocks */
} kind_row;

static const kind_row kinds[] = {
    [TAMIS_KIND_UNIFORM] = {"uniform", tamis_make_rows, 1}, [TAMIS_KIND_RMAT] = {"rmat", tamis_make_edges, 1},
    [TAMIS_KIND_BANDED] = {"banded", tamis_make_rows, 1},   [TAMIS_KIND_FEM] = {"fem", tamis_make_rows, 3},
    [TAMIS_KIND_BLOCK] = {"block", tamis_make_rows, 16},    [TAMIS_KIND_SCATTER] = {"scatter", tamis_make_edges, 1},
    [TAMIS_KIND_WINDOW] = {"window", tamis_make_rows, 1},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

const char *tamis_kind_name(tamis_kind kind) { return (unsigned)kind < KINDS ? kinds[kind].name : "unknown"; }

tamis_status tamis_kind_from_name(const char *name, tamis_kind *kind) {
    tamis_clear_error();
    if (!name) return tamis_fail(TAMIS_ERROR_ARGUMENT, "name = NULL: expected the name of a kind");
    if (!kind) return tamis_fail(TAMIS_ERROR_ARGUMENT, "kind = NULL: expected an address for the result");
    for (unsigned k = 0; k < KINDS; k++)
        if (strcmp(name, kinds[k].name) == 0) {
            *kind = (tamis_kind)k;
            return TAMIS_OK;
        }
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "name = \"%s\": expected uniform, rmat, banded, fem, block, scatter or window", name);
}

/* ------------------------------------------------------------------------------------------- options */

static tamis_status take_options(const tamis_generate_options *given, tamis_generate_options *options) {
    *options = (tamis_generate_options)TAMIS_GENERATE_OPTIONS_INIT;
    if (!given) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected generator options");
    TRY(TAMIS_RESERVED(given, "options"));
    *options = *given;
    const struct {
        const char *field;
        long long value, most;
    } ranges[] = {{"kind", (long long)options->kind, KINDS - 1},
                  {"value_type", (long long)options->value_type, TAMIS_BF16},
                  {"index_type", (long long)options->index_type, TAMIS_I64},
                  {"offset_type", (long long)options->offset_type, TAMIS_I64},
                  {"rows", (long long)options->rows, (long long)1 << 60},
                  {"cols", (long long)options->cols, (long long)1 << 60},
                  {"nnz", (long long)options->nnz, (long long)1 << 60},
                  {"band", (long long)options->band, INT64_MAX},
                  {"block", (long long)options->block, INT64_MAX},
                  {"global", (long long)options->global, INT64_MAX}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].value < 0 || ranges[i].value > ranges[i].most)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.%s = %lld: expected 0 .. %lld", ranges[i].field,
                              ranges[i].value, ranges[i].most);
    if (!(options->density >= 0 && options->density <= 1))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.density = %g: expected 0 .. 1", options->density);
    if (options->cols == 0) options->cols = options->rows;
    return TAMIS_OK;
}

/* nnz from the density, and whether it fits. */
static tamis_status settle_nnz(tamis_generate_options *options) {
    const double cells = (double)options->rows * (double)options->cols;
    if (options->nnz == 0) {
        const double wanted = floor(options->density * cells + 0.5);
        if (wanted > 0x1p60)
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "options.density = %g: %.0f nonzeros are too many",
                              options->density, wanted);
        options->nnz = (int64_t)wanted;
    }
    int64_t most;
    if (!__builtin_mul_overflow(options->rows, options->cols, &most) && options->nnz > most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.nnz = %lld: a matrix of %lld x %lld has at most %lld",
                          (long long)options->nnz, (long long)options->rows, (long long)options->cols, (long long)most);
    return TAMIS_OK;
}

static tamis_status check_types(const tamis_generate_options *options) {
    if (!tamis_index_spans(options->index_type, options->cols))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "options.cols = %lld: an index_type of %s cannot hold 0 .. %lld",
                          (long long)options->cols, tamis_index_type_name(options->index_type),
                          (long long)(options->cols - 1));
    if (!tamis_index_holds(options->offset_type, options->nnz))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "options.nnz = %lld: an offset_type of %s cannot hold it",
                          (long long)options->nnz, tamis_index_type_name(options->offset_type));
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

tamis_status tamis_generate(const tamis_generate_options *options, tamis_owned_sparse **matrix) {
    tamis_clear_error();
    if (!matrix) return tamis_fail(TAMIS_ERROR_ARGUMENT, "matrix = NULL: expected an address for the result");
    *matrix = NULL;
    tamis_generate_options wanted;
    TRY(take_options(options, &wanted));
    TRY(settle_nnz(&wanted));
    TRY(check_types(&wanted));
    const kind_row *const kind = &kinds[wanted.kind];
    const tamis_recipe recipe = {.kind = wanted.kind,
                                 .rows = wanted.rows,
                                 .cols = wanted.cols,
                                 .nnz = wanted.nnz,
                                 .band = wanted.band,
                                 .block = wanted.block ? wanted.block : kind->block,
                                 .global = wanted.global,
                                 .seed = wanted.seed,
                                 .index_type = wanted.index_type,
                                 .offset_type = wanted.offset_type,
                                 .threads = tamis_threads_default()};
    tamis_owned_sparse *made = NULL;
    TRY(kind->make(&recipe, &made));
    made->view.value_type = wanted.value_type;
    if (!wanted.pattern) {
        const tamis_status status = add_values(&recipe, wanted.value_type, made);
        if (status != TAMIS_OK) {
            tamis_owned_sparse_free(made);
            return status;
        }
    }
    *matrix = made;
    return TAMIS_OK;
}
