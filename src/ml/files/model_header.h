/* The header of a model's file: lines of key=value. */
#ifndef TAMIS_ML_MODEL_HEADER_H
#define TAMIS_ML_MODEL_HEADER_H

#include "ml/files/model_file.h"

typedef enum ml_field_kind {
    ML_FIELD_METHOD,
    ML_FIELD_TYPE,
    ML_FIELD_BOOL,
    ML_FIELD_INT,
    ML_FIELD_INT64,
    ML_FIELD_UINT64,
    ML_FIELD_DOUBLE,
    ML_FIELD_PARTS
} ml_field_kind;

typedef struct ml_field {
    const char *key;
    ml_field_kind kind;
    int since;           /* the first version of the format that has it */
    size_t offset, size; /* in tamis_model */
} ml_field;

/* The keys in the order of the file. The method comes first, because the meaning of the rest depends on it. */
enum { ML_FIELDS = 47 };
extern const ml_field ml_fields[ML_FIELDS];

typedef struct ml_header {
    char text[ML_FILE_HEADER_MOST];
    int used;
} ml_header;

/* Writes the header of a model with these sections. */
tamis_status ml_header_write(const tamis_model *model, const ml_section *sections, ml_header *header);

#endif
