/* The file format of models, shared by writing and reading: the checksum, the sections' offsets, and consistency checks
   between fields. */
#include "ml/files/model_file.h"

#include <math.h>
#include <string.h>

#include "ml/factors.h"
#include "ml/methods/method.h"
#include "ml/model.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "models are written as numbers lie in memory");

const unsigned char ml_file_magic[8] = {0x89, 'T', 'A', 'M', 'I', 'S', '\r', '\n'};

const char *const ml_section_names[ML_FILE_SECTIONS] = {"row_factors", "column_factors", "state0",    "state1",
                                                        "state2",      "state3",         "row_names", "column_names"};

/* ------------------------------------------------------------------------------------------ checksum */

static uint64_t step(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15; /* odd: one-to-one */
    return sum ^ sum >> 32;                  /* folds the high bits into the low ones, else they would be lost */
}

ml_checksum ml_checksum_start(void) { return (ml_checksum){.sum = 0x54414d4953}; }

void ml_checksum_add(ml_checksum *checksum, const void *data, int64_t bytes) {
    const unsigned char *at = data;
    uint64_t sum = checksum->sum, word = checksum->word;
    int held = checksum->held;
    for (; bytes > 0 && held > 0; bytes--) {
        word |= (uint64_t)*at++ << 8 * held;
        held = (held + 1) % 8;
        if (held > 0) continue;
        sum = step(sum, word);
        word = 0;
    }
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t whole;
        memcpy(&whole, at, sizeof whole);
        sum = step(sum, whole);
    }
    for (; bytes > 0; bytes--) word |= (uint64_t)*at++ << 8 * held++;
    *checksum = (ml_checksum){sum, word, held};
}

uint64_t ml_checksum_end(const ml_checksum *checksum) {
    return step(step(checksum->sum, checksum->word), (uint64_t)checksum->held);
}

/* ------------------------------------------------------------------------------------------ sections */

tamis_dense *ml_section_matrix(tamis_model *model, int section) {
    if (section == 0) return &model->row_factors;
    return section == 1 ? &model->column_factors : &model->states[section - 2];
}

static bool align(int64_t *at) {
    if (*at > INT64_MAX - ML_FILE_ALIGNMENT) return false;
    *at = (*at + ML_FILE_ALIGNMENT - 1) / ML_FILE_ALIGNMENT * ML_FILE_ALIGNMENT;
    return true;
}

static bool size_of(int section, ml_section *s) {
    s->bytes = s->cols;
    if (ml_section_kind_of(section) == ML_SECTION_NAMES) return true;
    return !__builtin_mul_overflow(s->rows, s->cols, &s->bytes) &&
           !__builtin_mul_overflow(s->bytes, (int64_t)tamis_type_size(s->type), &s->bytes);
}

tamis_status ml_sections_place(int64_t header_bytes, ml_section *sections, int64_t *file_bytes) {
    int64_t at = ML_FILE_PREAMBLE + header_bytes;
    bool fits = align(&at);
    for (int i = 0; fits && i < ML_FILE_SECTIONS; i++) {
        if (!sections[i].present) continue;
        sections[i].begin = at;
        fits = size_of(i, &sections[i]) && !__builtin_add_overflow(at, sections[i].bytes, &at) && align(&at);
    }
    if (!fits || __builtin_add_overflow(at, (int64_t)sizeof(uint64_t), file_bytes))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "the model's size in bytes overflows 64 bits");
    return TAMIS_OK;
}

static tamis_status disagree(tamis_status status, const char *path, int section, const ml_section *s, int64_t rows,
                             int64_t cols) {
    return tamis_fail(status, "%s: %s is %lld x %lld, but the model's sizes make it %lld x %lld", path,
                      ml_section_names[section], (long long)s->rows, (long long)s->cols, (long long)rows,
                      (long long)cols);
}

/* Sets the expected size of a section's matrix. Returns false if the model has no such matrix; *optional: it may be
   absent. */
static bool size_expected(const tamis_model *model, int section, int64_t size[2], bool *optional) {
    const ml_method *const method = model->method;
    *optional = false;
    if (section >= 2) {
        *optional = method->states[section - 2].optional;
        return ml_state_size(method, &model->options, model->rows, model->cols, section - 2, size);
    }
    size[0] = section == 0 ? model->rows : model->cols;
    size[1] = method->column_width ? method->column_width(&model->options, model->cols) : model->width;
    *optional = section == 0 && method->about.mini_batches; /* fits of streams keep no rows */
    return section == 1 || method->about.row_factors;
}

static tamis_status check_matrix(tamis_status status, const char *path, const tamis_model *model, int section,
                                 const ml_section *s) {
    const char *const name = ml_section_names[section];
    int64_t size[2];
    bool optional;
    const bool expected = size_expected(model, section, size, &optional);
    if (!s->present && expected && !optional) return tamis_fail(status, "%s: the model has no %s", path, name);
    if (!s->present) return TAMIS_OK;
    if (!expected)
        return tamis_fail(status, "%s: the model has %s, which %s with these options has not", path, name,
                          model->method->about.name);
    if (size[0] < 0) size[0] = s->rows; /* the data make it, which a fit that goes on compares */
    if (section == 0 && optional && s->rows == 0) size[0] = 0;
    if (s->rows != size[0] || s->cols != size[1]) return disagree(status, path, section, s, size[0], size[1]);
    if (s->type != model->options.type)
        return tamis_fail(status, "%s: %s is %s, but the model is %s", path, name, tamis_type_name(s->type),
                          tamis_type_name(model->options.type));
    return TAMIS_OK;
}

/* Returns true if a count is plausible, and small enough for a fit to add to it without overflow. */
static bool is_count(int64_t count) { return count >= 0 && count < (int64_t)1 << 55; }

tamis_status ml_sections_check(tamis_status status, const char *path, const tamis_model *model,
                               const ml_section *sections) {
    if (!is_count(model->rows) || !is_count(model->cols) || model->cols == 0 || !is_count(model->nnz) ||
        !is_count(model->batches_done) || !is_count(model->steps) || model->iterations_done < 0 ||
        model->iterations_done > INT32_MAX / 2)
        return tamis_fail(status,
                          "%s: a model of %lld x %lld with %lld entries after %d iterations, %lld batches and %lld "
                          "steps is invalid",
                          path, (long long)model->rows, (long long)model->cols, (long long)model->nnz,
                          model->iterations_done, (long long)model->batches_done, (long long)model->steps);
    if (!(model->scale > 0 && isfinite(model->scale)))
        return tamis_fail(status, "%s: scale = %g, expected a positive number", path, model->scale);
    if (!isfinite(model->mean)) return tamis_fail(status, "%s: mean = %g, expected a finite number", path, model->mean);
    if (!(model->prior_ratings >= 0 && isfinite(model->prior_ratings)))
        return tamis_fail(status, "%s: prior_ratings = %g, expected 0 or more", path, model->prior_ratings);
    const tamis_model_options *const o = &model->options;
    const bool by_noise = ml_by_noise(model->method, o);
    if (by_noise ? !(model->lambda > 0 && isfinite(model->lambda)) : model->lambda != 0)
        return tamis_fail(status, "%s: lambda = %g, expected %s", path, model->lambda,
                          by_noise ? "a positive number" : "0: it is not found by the noise");
    if (ml_chooses_lambda(model->method, o->regularization))
        return tamis_fail(status, "%s: regularization = 0, expected the positive number that was chosen", path);
    if (!(model->share > 0 && isfinite(model->share)))
        return tamis_fail(status, "%s: share = %g, expected a positive number", path, model->share);
    if (o->factors < 1 || (model->method->weighs && o->weights == TAMIS_WEIGHTS_AUTO))
        return tamis_fail(status, "%s: factors = %lld and weights = %d: a fit would have chosen them", path,
                          (long long)o->factors, (int)o->weights);
    if (model->method->priors && (isnan(o->row_prior) || isnan(o->column_prior)))
        return tamis_fail(status, "%s: row_prior = %g and column_prior = %g: a fit would have chosen them", path,
                          o->row_prior, o->column_prior);
    if (model->method->confident && isnan(o->confidence))
        return tamis_fail(status, "%s: confidence = nan: a fit would have chosen it", path);
    if (model->method->lists && o->neighbours < 0)
        return tamis_fail(status, "%s: neighbours = %d: a fit would have chosen them", path, o->neighbours);
    const bool pairs = model->method->column_width != NULL;
    const int64_t width = pairs ? model->cols : ml_width(model->method, o);
    if (model->width != width)
        return tamis_fail(status, "%s: width = %lld, but the options make it %lld", path, (long long)model->width,
                          (long long)width);
    for (int i = 0; i < 2 + ML_STATES; i++) TRY(check_matrix(status, path, model, i, &sections[i]));
    return TAMIS_OK;
}
