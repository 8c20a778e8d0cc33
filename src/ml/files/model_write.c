/* tamis_model_save. It downloads the device's matrices piece by piece, so there is no second copy of the model. */
#include <string.h>

#include "base/scope.h"
#include "io/files/output.h"
#include "ml/files/model_file.h"
#include "ml/files/model_header.h"
#include "ml/model.h"
#include "ml/serve/predict.h"

enum { PIECE = 1 << 20 };

typedef struct writer {
    tamis_output output;
    ml_checksum checksum;
} writer;

static tamis_status put(writer *w, const void *data, int64_t bytes) {
    ml_checksum_add(&w->checksum, data, bytes);
    return tamis_output_write(&w->output, data, bytes);
}

static tamis_status put_zeros(writer *w) {
    static const char zeros[ML_FILE_ALIGNMENT];
    const int64_t over = w->output.position % ML_FILE_ALIGNMENT;
    return over > 0 ? put(w, zeros, ML_FILE_ALIGNMENT - over) : TAMIS_OK;
}

static void describe_names(const tamis_names *names, ml_section *s) {
    if (!names) return;
    *s = (ml_section){.rows = tamis_names_count(names), .present = true};
    for (int64_t i = 0; i < s->rows; i++) s->cols += (int64_t)strlen(tamis_names_at(names, i)) + 1;
}

static const tamis_names *names_of(const tamis_model *model, int section) {
    return section == ML_FILE_SECTIONS - 1 ? model->column_names : model->row_names;
}

static void describe(tamis_model *model, ml_section *sections) {
    for (int i = 0; i < ML_FILE_SECTIONS; i++) {
        if (ml_section_kind_of(i) == ML_SECTION_NAMES) {
            describe_names(names_of(model, i), &sections[i]);
            continue;
        }
        const tamis_dense *const dense = ml_section_matrix(model, i); /* without a column it was never made */
        sections[i] = (ml_section){
            .rows = dense->rows, .cols = dense->cols, .type = model->options.type, .present = dense->cols > 0};
    }
}

static tamis_status put_matrix(writer *w, const tamis_model *model, const tamis_dense *dense, int64_t bytes,
                               void *piece) {
    for (int64_t at = 0; at < bytes; at += PIECE) {
        const int64_t part = bytes - at < PIECE ? bytes - at : PIECE;
        if (dense->location == TAMIS_HOST) { /* even on a GPU, in a fit on a group: the gathered rows of all ranks */
            TRY(put(w, (const char *)dense->data + at, part));
            continue;
        }
        TRY(tamis_device_download(model->device, NULL, piece, dense->data, (size_t)at, (size_t)part));
        TRY(put(w, piece, part));
    }
    return TAMIS_OK;
}

static tamis_status put_names(writer *w, const tamis_names *names) {
    for (int64_t i = 0; i < tamis_names_count(names); i++) {
        const char *const name = tamis_names_at(names, i);
        TRY(put(w, name, (int64_t)strlen(name) + 1));
    }
    return TAMIS_OK;
}

static tamis_status put_all(writer *w, tamis_model *model, const ml_section *sections, const ml_header *header,
                            int64_t file_bytes, void *piece) {
    const uint32_t numbers[2] = {ML_FILE_VERSION, (uint32_t)header->used};
    const uint64_t bytes = (uint64_t)file_bytes;
    TRY(put(w, ml_file_magic, sizeof ml_file_magic));
    TRY(put(w, numbers, sizeof numbers));
    TRY(put(w, &bytes, sizeof bytes));
    TRY(put(w, header->text, header->used));
    for (int i = 0; i < ML_FILE_SECTIONS; i++) {
        if (!sections[i].present) continue;
        TRY(put_zeros(w));
        if (ml_section_kind_of(i) == ML_SECTION_NAMES)
            TRY(put_names(w, names_of(model, i)));
        else
            TRY(put_matrix(w, model, ml_section_matrix(model, i), sections[i].bytes, piece));
    }
    TRY(put_zeros(w));
    const uint64_t sum = ml_checksum_end(&w->checksum);
    TRY(put(w, &sum, sizeof sum));
    return TAMIS_OK;
}

tamis_status tamis_model_save(const tamis_model *model, const char *path) {
    tamis_clear_error();
    TRY(ml_check_fitted(model));
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path is NULL");
    ml_section sections[ML_FILE_SECTIONS] = {0};
    ml_header header;
    int64_t file_bytes;
    tamis_model now = *model; /* including the sums of the current pass */
    describe(&now, sections);
    TRY(ml_sections_check(TAMIS_ERROR_INTERNAL, path, model, sections)); /* else the file could not be read back */
    if (model->method->pending) TRY(model->method->pending(model, now.parts));
    TRY(ml_header_write(&now, sections, &header));
    TRY(ml_sections_place(header.used, sections, &file_bytes));
    void *piece;
    TAMIS_SCOPE;
    TRY(tamis_scope_allocate(PIECE, 1, "writing a model", &piece));
    writer w = {.checksum = ml_checksum_start()};
    TRY(tamis_output_open(path, false, &w.output));
    return tamis_output_close(&w.output, put_all(&w, &now, sections, &header, file_bytes, piece));
}
