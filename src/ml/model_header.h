/* The header of a model's file: lines of key=value. */
#ifndef TAMIS_ML_MODEL_HEADER_H
#define TAMIS_ML_MODEL_HEADER_H

#include "ml/model_file.h"

typedef struct ml_header {
    char text[ML_FILE_HEADER_MOST];
    int used;
} ml_header;

/* The header of a model with these sections. */
tamis_status ml_header_write(const tamis_model *model, const ml_section *sections, ml_header *header);

/* Reads a header into the plain fields of `model`, which is all zeros, and into sections without places. `path` is for
   messages. */
tamis_status ml_header_read(const char *path, int version, const char *text, int64_t bytes, tamis_model *model,
                            ml_section *sections);

#endif
