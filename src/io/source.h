/* A file's content in memory: read whole, unpacked where it is .gz, .xz or .zst. */
#ifndef TAMIS_IO_SOURCE_H
#define TAMIS_IO_SOURCE_H

#include "base/private.h"

#include "io/progress.h"
#include "io/text.h"

typedef struct tamis_source {
    tamis_text text;
    char *memory; /* what tamis_source_close frees */
} tamis_source;

TAMIS_PRIVATE_API tamis_status tamis_source_open(const char *path, const tamis_progress *progress,
                                                 tamis_source *source);
tamis_status tamis_source_from_memory(const char *name, const void *data, size_t bytes, const tamis_progress *progress,
                                      tamis_source *source);
TAMIS_PRIVATE_API void tamis_source_close(tamis_source *source);

/* The name without .gz, .xz or .zst: the length of what remains. */
TAMIS_PRIVATE_API size_t tamis_unpacked_name_length(const char *name);

#endif
