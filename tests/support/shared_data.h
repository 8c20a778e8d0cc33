/* Where the collection of real matrices is, for tests that use it when it is there: the one place that knows. */
#ifndef TAMIS_TEST_SHARED_DATA_H
#define TAMIS_TEST_SHARED_DATA_H

#include <stdlib.h>
#include <unistd.h>

/* The folder, NULL when there is none: TAMIS_SHARED_DATA, or shared/data beside the source folder. */
static inline const char *shared_data_folder(void) {
    const char *const named = getenv("TAMIS_SHARED_DATA");
    const char *const folder = named && *named ? named : TAMIS_SOURCE_FOLDER "/../shared/data";
    return access(folder, R_OK) == 0 ? folder : NULL;
}

#endif
