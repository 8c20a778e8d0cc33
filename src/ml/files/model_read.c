/*
 * tamis_model_load. It reads the whole file and compares the checksum first. Then it still checks every number, because
 * a checksum protects from accidents, not from attacks. No allocation is out of proportion to the file's length.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "io/files/input.h"
#include "ml/files/model_file.h"
#include "ml/files/model_header.h"
#include "ml/files/model_header_read.h"
#include "ml/fit/options.h"
#include "ml/fit/place.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/popular.h"

static uint64_t number_at(const char *at, size_t bytes) {
    uint64_t number = 0;
    memcpy(&number, at, bytes);
    return number;
}

/* Checks the preamble and the checksum. */
static tamis_status check_file(const tamis_bounded_text *text, int *version, int64_t *header_bytes) {
    const int64_t bytes = text->end - text->begin;
    if (bytes < (int64_t)sizeof ml_file_magic || memcmp(text->begin, ml_file_magic, sizeof ml_file_magic) != 0)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: not a Tamis model", text->name);
    if (bytes < ML_FILE_PREAMBLE)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the model is truncated: %lld bytes", text->name, (long long)bytes);
    const uint64_t written = number_at(text->begin + 8, 4), told = number_at(text->begin + 16, 8);
    if (written < 1 || written > ML_FILE_VERSION)
        return tamis_fail(TAMIS_ERROR_FORMAT,
                          "%s: the model has version %llu of the format, this library reads 1 to %d", text->name,
                          (unsigned long long)written, ML_FILE_VERSION);
    *version = (int)written;
    if (told != (uint64_t)bytes)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the model has %lld bytes, but was written with %llu: %s", text->name,
                          (long long)bytes, (unsigned long long)told,
                          told > (uint64_t)bytes ? "it is truncated" : "there are extra bytes after it");
    *header_bytes = (int64_t)number_at(text->begin + 12, 4);
    const int64_t content = bytes - (int64_t)sizeof(uint64_t);
    if (*header_bytes > content - ML_FILE_PREAMBLE)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the model is damaged: its header has %lld bytes of %lld", text->name,
                          (long long)*header_bytes, (long long)bytes);
    ml_checksum checksum = ml_checksum_start();
    ml_checksum_add(&checksum, text->begin, content);
    const uint64_t sum = ml_checksum_end(&checksum), kept = number_at(text->begin + content, 8);
    if (sum != kept)
        return tamis_fail(TAMIS_ERROR_FORMAT,
                          "%s: the model is damaged: its checksum is %016llx, but the file says %016llx", text->name,
                          (unsigned long long)sum, (unsigned long long)kept);
    return TAMIS_OK;
}

/* Applies the checks of callers' options to the header's options, and names the file in the message. */
static tamis_status check_options(const char *path, const tamis_model_options *options) {
    if (ml_options_check(options) == TAMIS_OK) return TAMIS_OK;
    char why[256];
    snprintf(why, sizeof why, "%s", tamis_last_error());
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the model's options are invalid: %s", path, why);
}

static tamis_status read_names(const tamis_bounded_text *text, const ml_section *s, const char *what,
                               tamis_names **names) {
    tamis_status status;
    tamis_names *made;
    const char *at = text->begin + s->begin, *const end = at + s->bytes;
    if (s->rows > s->bytes) /* each has a byte at least */
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: %s has %lld names in %lld bytes", text->name, what,
                          (long long)s->rows, (long long)s->bytes);
    TRY(tamis_names_create(&made));
    for (int64_t i = 0; i < s->rows; i++) {
        const char *const stop = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        if (!stop || stop == at) {
            status = tamis_fail(TAMIS_ERROR_FORMAT, "%s: %s has no name %lld", text->name, what, (long long)i);
            goto failed;
        }
        int64_t index;
        TRY_GOTO(failed, tamis_names_add(made, at, (size_t)(stop - at), &index));
        if (index != i) {
            status = tamis_fail(TAMIS_ERROR_FORMAT, "%s: %s has the name %lld twice, as %lld", text->name, what,
                                (long long)index, (long long)i);
            goto failed;
        }
        at = stop + 1;
    }
    if (at != end) {
        status = tamis_fail(TAMIS_ERROR_FORMAT, "%s: %s has more bytes than names", text->name, what);
        goto failed;
    }
    *names = made;
    return TAMIS_OK;
failed:
    tamis_names_free(made); /* it keeps the message */
    return status;
}

/* Returns the permitted values of a matrix. Fits never leave non-finite factors (ml_check_finite). */
static ml_range range_of(const tamis_model *model, int section) {
    if (section >= 2) return model->method->states[section - 2].range;
    return ml_has_whole_factors(model->method, &model->options) ? ML_NOT_NEGATIVE : ML_FINITE;
}

static tamis_status check_numbers(const tamis_bounded_text *text, int section, const ml_section *s,
                                  const tamis_model *model) {
    static const struct {
        double least, most;
        const char *words;
    } ranges[] = {[ML_FINITE] = {-DBL_MAX, DBL_MAX, "a finite number"},
                  [ML_NOT_NEGATIVE] = {0, DBL_MAX, "a finite number of 0 or more"},
                  [ML_SQUARES] = {0, INFINITY, "0 or more"},
                  [ML_POSITIVE] = {5e-324, DBL_MAX, "a finite number above 0"}};
    const ml_range range = range_of(model, section);
    if (section == 1 && model->method->check_kept) return TAMIS_OK; /* check_kept is stricter and is called later */
    for (int64_t i = 0; i < s->rows * s->cols; i++) {
        const double number = ml_number(text->begin + s->begin, s->type, i);
        if (number >= ranges[range].least && number <= ranges[range].most) continue;
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: %s(%lld, %lld) = %g, expected %s", text->name,
                          ml_section_names[section], (long long)(i / s->cols), (long long)(i % s->cols), number,
                          ranges[range].words);
    }
    return TAMIS_OK;
}

static tamis_status read_section(const tamis_bounded_text *text, int number, const ml_section *s, tamis_model *model) {
    if (ml_section_kind_of(number) == ML_SECTION_NAMES)
        return read_names(text, s, ml_section_names[number],
                          number == ML_FILE_SECTIONS - 1 ? &model->column_names : &model->row_names);
    tamis_dense *const dense = ml_section_matrix(model, number);
    TRY(check_numbers(text, number, s, model));
    TRY(ml_dense_make(model, s->rows, s->cols, dense));
    return ml_dense_write(model, dense, text->begin + s->begin);
}

/* Checks consistency of the whole: names match rows and columns, and the column data suit the method. */
static tamis_status check_content(const char *path, const tamis_model *model) {
    const int64_t rows = tamis_names_count(model->row_names), columns = tamis_names_count(model->column_names);
    if (rows > model->rows)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: row_names has %lld names, but the model has %lld rows", path,
                          (long long)rows, (long long)model->rows);
    if (model->column_names && columns != model->cols)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: column_names has %lld names, but the model has %lld columns", path,
                          (long long)columns, (long long)model->cols);
    if (!model->method->check_kept) return TAMIS_OK;
    tamis_dense kept;
    TAMIS_SCOPE;
    TRY(ml_dense_here(model, &model->column_factors, &kept));
    return model->method->check_kept(path, model, &kept);
}

/* Copies the fields that a file holds; the options among them are the same already. */
static void take_over(const tamis_model *from, tamis_model *model) {
    for (int i = 0; i < ML_FIELDS; i++)
        memcpy((char *)model + ml_fields[i].offset, (const char *)from + ml_fields[i].offset, ml_fields[i].size);
}

static tamis_status read_model(tamis_device *device, const tamis_bounded_text *text, tamis_model **model) {
    tamis_status status;
    tamis_model told = {0}, *made;
    ml_section sections[ML_FILE_SECTIONS] = {0};
    int64_t header_bytes = 0, file_bytes = 0;
    int version = 0;
    TRY(check_file(text, &version, &header_bytes));
    TRY(ml_header_read(text->name, version, text->begin + ML_FILE_PREAMBLE, header_bytes, &told, sections));
    TRY(check_options(text->name, &told.options));
    TRY(ml_sections_check(TAMIS_ERROR_FORMAT, text->name, &told, sections));
    if (ml_sections_place(header_bytes, sections, &file_bytes) != TAMIS_OK || file_bytes != text->end - text->begin)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the model's sizes do not match a file of %lld bytes", text->name,
                          (long long)(text->end - text->begin));
    TRY(ml_model_make(device, &told.options, &made));
    take_over(&told, made);
    for (int i = 0; i < ML_FILE_SECTIONS; i++)
        if (sections[i].present) TRY_GOTO(failed, read_section(text, i, &sections[i], made));
    TRY_GOTO(failed, check_content(text->name, made));
    made->options.by_prediction = made->method->chance && made->states[ML_POPULARITY].cols == 0;
    *model = made;
    return TAMIS_OK;
failed:
    return ml_model_give_up(status, made);
}

tamis_status tamis_model_load(tamis_device *device, const char *path, tamis_model **model) {
    tamis_clear_error();
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    *model = NULL;
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device is NULL");
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path is NULL");
    tamis_input input;
    TRY(tamis_input_open(path, &(tamis_progress){.high = 1}, &input));
    tamis_status status = read_model(device, &input.text, model);
    tamis_input_close(&input);
    if (status == TAMIS_OK) tamis_clear_error(); /* left by the checks of names and options */
    return status;
}
