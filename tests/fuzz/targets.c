/*
 * The fuzz targets. A target aborts when a reader accepts what is no valid matrix, refuses without a message, or leaks;
 * the sanitizers see to the rest. The options follow from the number of bytes, so that seeds are plain files.
 */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/matrix.h>
#include <tamis/structure.h>

#include "base/memory.h"
#include "io/text/number.h"

/* Results with more rows or columns than this are read as an unsorted COO only: a file of 20 bytes may rightly need 8
   TB of offsets. */
enum { MOST_LINES = 1 << 16 };

void fuzz_demand(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s: %s\n", what, tamis_last_error());
    abort();
}

static bool go_on(void *context, double share) { return --*(int *)context != 0; }

/* Reads as `format`; returns the larger of rows and columns, -1 when the file is refused. */
static int64_t read_as(const fuzz_target *target, const uint8_t *data, size_t size, tamis_format format,
                       tamis_duplicates duplicates) {
    int reports_left = (size & 63) == 7 ? 3 : -1; /* now and then it is cancelled */
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.file_format = (tamis_file_format)target->format;
    options.format = format;
    options.value_type = (tamis_type)(size & 3);
    options.index_type = options.offset_type = (tamis_index_type)(size >> 2 & 1);
    options.values = (tamis_values)(size % 3);
    options.duplicates = duplicates;
    options.undirected = size >> 4 & 1;
    options.relabel = size >> 5 & 1;
    options.threads = 2;
    options.progress = go_on;
    options.progress_context = &reports_left;
    tamis_owned_sparse *matrix = NULL;
    const tamis_status status = tamis_read_sparse_memory("fuzz", data, size, &options, &matrix);
    if (status != TAMIS_OK) {
        fuzz_demand(*tamis_last_error() != '\0' && !matrix, "refused without a message");
        return -1;
    }
    fuzz_demand(*tamis_last_error() == '\0', "accepted with a message");
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    fuzz_demand(tamis_validate(S) == TAMIS_OK, "accepted an invalid matrix");
    fuzz_demand(S->format == format && S->index_type == options.index_type, "not what was asked for");
    fuzz_demand(!S->values || S->value_type == options.value_type, "not the type that was asked for");
    const int64_t lines = S->rows > S->cols ? S->rows : S->cols;
    tamis_owned_sparse_free(matrix);
    return lines;
}

static void read_sparse(const fuzz_target *target, const uint8_t *data, size_t size) {
    const int64_t live = tamis_memory_live();
    const int64_t lines = read_as(target, data, size, TAMIS_COO, TAMIS_DUPLICATES_KEEP);
    if (lines >= 0 && lines <= MOST_LINES)
        read_as(target, data, size, (tamis_format)(size >> 6 & 1), (tamis_duplicates)(size >> 3 & 1));
    fuzz_demand(tamis_memory_live() == live, "leaked");
}

static void read_dense(const fuzz_target *target, const uint8_t *data, size_t size) {
    const int64_t live = tamis_memory_live();
    tamis_owned_dense *array = NULL;
    const tamis_type type = (tamis_type)(size & 3);
    const tamis_status status = tamis_read_dense_memory("fuzz", data, size, type, &array);
    fuzz_demand((status == TAMIS_OK) == (*tamis_last_error() == '\0'), "message and status disagree");
    if (status == TAMIS_OK) {
        const tamis_dense *const dense = tamis_owned_dense_view(array);
        fuzz_demand(dense->type == type && dense->rows >= 0 && dense->cols >= 0, "not what was asked for");
        tamis_owned_dense_free(array);
    }
    fuzz_demand(tamis_memory_live() == live, "leaked");
}

/* Against the C library, in its C locale. */
static void read_number(const fuzz_target *target, const uint8_t *data, size_t size) {
    char text[2048] = {0};
    if (size > sizeof text - 32) return;
    if (size > 0) memcpy(text, data, size);
    for (size_t i = 0; i < size; i++) /* what strtod reads and files do not have */
        if (text[i] == 'x' || text[i] == 'X' || text[i] == '(' || text[i] == 'd' || text[i] == 'D') text[i] = ';';
    const bool starts = (text[0] >= '0' && text[0] <= '9') || text[0] == '+' || text[0] == '-' || text[0] == '.';
    if (!starts) return;
    char *end;
    double value = 0;
    const double expected = strtod(text, &end);
    const char *const after = tamis_parse_real(text, &value);
    fuzz_demand(after ? after == end : end == text, "not the same end");
    fuzz_demand(!after || memcmp(&value, &expected, sizeof value) == 0 || (isnan(value) && isnan(expected)),
                "not the same number");
    int64_t integer;
    tamis_parse_integer(text, &integer);
    tamis_parse_index(text, &integer);
    tamis_parse_fortran_real(text, (int)(size & 7), (int)(size & 3), &value);
}

static const fuzz_target targets[] = {
    {"auto", read_sparse, TAMIS_FILE_AUTO},
    {"matrix-market", read_sparse, TAMIS_FILE_MATRIX_MARKET},
    {"harwell-boeing", read_sparse, TAMIS_FILE_HARWELL_BOEING},
    {"metis", read_sparse, TAMIS_FILE_METIS},
    {"smtx", read_sparse, TAMIS_FILE_SMTX},
    {"edges", read_sparse, TAMIS_FILE_EDGES},
    {"docword", read_sparse, TAMIS_FILE_DOCWORD},
    {"ldac", read_sparse, TAMIS_FILE_LDAC},
    {"ratings", read_sparse, TAMIS_FILE_RATINGS},
    {"svmlight", read_sparse, TAMIS_FILE_SVMLIGHT},
    {"npz", read_sparse, TAMIS_FILE_NPZ},
    {"dense", read_dense, TAMIS_FILE_NPY},
    {"number", read_number, TAMIS_FILE_AUTO},
    {"model", fuzz_model, TAMIS_FILE_AUTO},
    {"plans", fuzz_plans, TAMIS_FILE_AUTO},
    {"program", fuzz_program, TAMIS_FILE_AUTO},
    {"timings", fuzz_timings, TAMIS_FILE_AUTO},
    {"rates", fuzz_rates, TAMIS_FILE_AUTO},
};
enum { TARGETS = sizeof targets / sizeof *targets };

const fuzz_target *fuzz_target_at(int number) { return number >= 0 && number < TARGETS ? &targets[number] : NULL; }

const fuzz_target *fuzz_target_named(const char *name) {
    for (int i = 0; i < TARGETS; i++)
        if (strcmp(targets[i].name, name) == 0) return &targets[i];
    return NULL;
}
