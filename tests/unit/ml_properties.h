/* Shared by the files of test_ml_properties: where models are, a fit that is watched, and the properties themselves.
 */
#ifndef TAMIS_TESTS_ML_PROPERTIES_H
#define TAMIS_TESTS_ML_PROPERTIES_H

#include "model_rows.h"

extern tamis_device *properties_on;
extern char properties_path[64]; /* of one model */
bool properties_on_cpu(void);

typedef struct watch {
    tamis_model *model;
    int calls, stop_at, save_at;
    int steps, stop_at_step; /* outside of iterations */
    const char *failure;     /* the last one of a checkpoint */
    double loss[64];         /* of each iteration */
    int iterations;
} watch;

/* A model whose fit tells `w`, which may stop it or save it after so many calls. */
tamis_model *model_watched(const model_case *c, watch *w, const char *checkpoint);
/* From a file, which goes, to go on with these options. */
tamis_model *model_loaded_from(const char *file, const tamis_model_options *options);

/* ml_property_refusals.c */
void bad_options_are_named(tamis_method method);
void bad_data_are_named(tamis_method method);
void registry_is_right(tamis_method method);
/* ml_property_faults.c */
void iterations_allocate_nothing(tamis_method method);
void fits_survive_faults(tamis_method method);
void uses_survive_faults(tamis_method method);

#endif
