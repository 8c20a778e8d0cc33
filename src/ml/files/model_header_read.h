/* Reading the header of a model's file. */
#ifndef TAMIS_ML_MODEL_HEADER_READ_H
#define TAMIS_ML_MODEL_HEADER_READ_H

#include "ml/files/model_file.h"

/* Parses a header into the plain fields and the method of `model`, which must be all zeros, and into sections without
   offsets. path: for messages. */
tamis_status ml_header_read(const char *path, int version, const char *text, int64_t bytes, tamis_model *model,
                            ml_section *sections);

#endif
