/* Models in temporary files, for tests of what a file keeps. */
#ifndef TAMIS_TESTS_MODEL_FILES_H
#define TAMIS_TESTS_MODEL_FILES_H

#include "support/bytes.h"
#include "test_io_support.h"
#include "test_ml_models.h"

/* What the model's file has; the caller frees the data. */
static inline file_content model_bytes(const tamis_model *model) {
    char *const path = io_temporary(".model");
    works(tamis_model_save(model, path));
    const file_content b = read_bytes(path);
    unlink(path);
    free(path);
    return b;
}

/* The model as its file has it: just loaded, it has kept nothing. */
static inline tamis_model *model_reloaded(tamis_device *on, const tamis_model *model) {
    char *const path = io_temporary(".model");
    tamis_model *loaded;
    works(tamis_model_save(model, path));
    works(tamis_model_load(on, path, &loaded));
    unlink(path);
    free(path);
    return loaded;
}

#endif
