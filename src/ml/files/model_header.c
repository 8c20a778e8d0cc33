/* The table of keys of a model's file, and writing its header. */
#include "ml/files/model_header.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ml/files/model_file.h"
#include "ml/methods/method.h"
#include "ml/model.h"

#define FIELD(key, version, member, kind)                                                                              \
    { key, kind, version, offsetof(tamis_model, member), sizeof(((tamis_model *)NULL)->member) }
#define OPTION(name, kind)                FIELD(#name, 1, options.name, kind)
#define OPTION_SINCE(version, name, kind) FIELD(#name, version, options.name, kind)
#define MEMBER(name, kind)                FIELD(#name, 1, name, kind)
#define MEMBER_SINCE(version, name, kind) FIELD(#name, version, name, kind)

const ml_field ml_fields[] = {
    OPTION(method, ML_FIELD_METHOD),
    OPTION(factors, ML_FIELD_INT64),
    OPTION(type, ML_FIELD_TYPE),
    OPTION(iterations, ML_FIELD_INT),
    OPTION(seed, ML_FIELD_UINT64),
    OPTION(tolerance, ML_FIELD_DOUBLE),
    OPTION(skip_loss, ML_FIELD_BOOL),
    OPTION(regularization, ML_FIELD_DOUBLE),
    OPTION(weighted, ML_FIELD_BOOL),
    OPTION(biases, ML_FIELD_BOOL),
    OPTION(cg_steps, ML_FIELD_INT),
    OPTION(confidence, ML_FIELD_DOUBLE),
    OPTION(inner_rounds, ML_FIELD_INT),
    OPTION(nonnegative, ML_FIELD_BOOL),
    OPTION(row_prior, ML_FIELD_DOUBLE),
    OPTION(column_prior, ML_FIELD_DOUBLE),
    OPTION(maximum_a_posteriori, ML_FIELD_BOOL),
    OPTION(batch_rows, ML_FIELD_INT64),
    OPTION(rate_decay, ML_FIELD_DOUBLE),
    OPTION(rate, ML_FIELD_DOUBLE),
    OPTION(column_regularization, ML_FIELD_DOUBLE),
    OPTION(threads, ML_FIELD_INT),
    MEMBER(rows, ML_FIELD_INT64),
    MEMBER(cols, ML_FIELD_INT64),
    MEMBER(nnz, ML_FIELD_INT64),
    MEMBER(width, ML_FIELD_INT64),
    MEMBER(mean, ML_FIELD_DOUBLE),
    MEMBER(least, ML_FIELD_DOUBLE),
    MEMBER(most, ML_FIELD_DOUBLE),
    MEMBER(data_sum, ML_FIELD_UINT64),
    MEMBER(iterations_done, ML_FIELD_INT),
    MEMBER(batches_done, ML_FIELD_INT64),
    MEMBER(steps, ML_FIELD_INT64),
    MEMBER(parts, ML_FIELD_PARTS),
    MEMBER(loss, ML_FIELD_DOUBLE),
    MEMBER(metric, ML_FIELD_DOUBLE),
    MEMBER_SINCE(2, scale, ML_FIELD_DOUBLE),
    MEMBER_SINCE(2, prior_ratings, ML_FIELD_DOUBLE),
    OPTION_SINCE(3, rate_offset, ML_FIELD_DOUBLE),
    OPTION_SINCE(3, learn_row_prior, ML_FIELD_BOOL),
    OPTION_SINCE(3, elbo, ML_FIELD_BOOL),
    MEMBER_SINCE(4, lambda, ML_FIELD_DOUBLE),
    OPTION_SINCE(5, weights, ML_FIELD_INT),
    OPTION_SINCE(5, neighbours, ML_FIELD_INT),
    MEMBER_SINCE(5, share, ML_FIELD_DOUBLE),
    OPTION_SINCE(6, beta, ML_FIELD_DOUBLE),
    OPTION_SINCE(7, warp, ML_FIELD_BOOL),
};
_Static_assert(sizeof ml_fields / sizeof *ml_fields == ML_FIELDS, "the number of fields");

static tamis_status put(ml_header *header, const char *format, ...) __attribute__((format(printf, 2, 3)));
static tamis_status put(ml_header *header, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int room = ML_FILE_HEADER_MOST - header->used;
    const int wrote = vsnprintf(header->text + header->used, (size_t)room, format, arguments);
    va_end(arguments);
    if (wrote < 0 || wrote >= room)
        return tamis_fail(TAMIS_ERROR_INTERNAL, "a model's header has more than %d bytes", ML_FILE_HEADER_MOST);
    header->used += wrote;
    return TAMIS_OK;
}

/* Writes a number as %a does, but with all digits and in any locale. */
static tamis_status put_double(ml_header *header, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const char *const sign = bits >> 63 ? "-" : "";
    if (isnan(value)) return put(header, "nan");
    if (isinf(value)) return put(header, "%sinf", sign);
    const int exponent = (int)(bits >> 52 & 0x7ff);
    const uint64_t fraction = bits & 0xfffffffffffff;
    return put(header, "%s0x%d.%013llxp%+d", sign, exponent > 0, (unsigned long long)fraction,
               exponent > 0 ? exponent - 1023 : -1022);
}

static tamis_status put_field(ml_header *header, const tamis_model *model, const ml_field *f) {
    const char *const at = (const char *)model + f->offset;
    TRY(put(header, "%s=", f->key));
    switch (f->kind) {
    case ML_FIELD_METHOD: TRY(put(header, "%s", model->method->about.name)); break;
    case ML_FIELD_TYPE: TRY(put(header, "%s", tamis_type_name(model->options.type))); break;
    case ML_FIELD_BOOL: TRY(put(header, "%s", *(const bool *)at ? "true" : "false")); break;
    case ML_FIELD_INT: TRY(put(header, "%d", *(const int *)(const void *)at)); break;
    case ML_FIELD_INT64: TRY(put(header, "%lld", (long long)*(const int64_t *)(const void *)at)); break;
    case ML_FIELD_UINT64: TRY(put(header, "%llu", (unsigned long long)*(const uint64_t *)(const void *)at)); break;
    case ML_FIELD_DOUBLE: TRY(put_double(header, *(const double *)(const void *)at)); break;
    case ML_FIELD_PARTS:
        for (int i = 0; i < ML_PARTS; i++) {
            if (i > 0) TRY(put(header, " "));
            TRY(put_double(header, model->parts[i]));
        }
        break;
    }
    return put(header, "\n");
}

tamis_status ml_header_write(const tamis_model *model, const ml_section *sections, ml_header *header) {
    header->used = 0;
    for (int i = 0; i < ML_FIELDS; i++) TRY(put_field(header, model, &ml_fields[i]));
    for (int i = 0; i < ML_FILE_SECTIONS; i++) {
        const ml_section *const s = &sections[i];
        if (!s->present) continue;
        TRY(put(header, "%s=%lld %lld", ml_section_names[i], (long long)s->rows, (long long)s->cols));
        if (ml_section_kind_of(i) == ML_SECTION_MATRIX) TRY(put(header, " %s", tamis_type_name(s->type)));
        TRY(put(header, "\n"));
    }
    return TAMIS_OK;
}
