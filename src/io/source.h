/* A file's content in memory: read whole, unpacked where it is .gz, .xz or .zst. */
#ifndef TAMIS_IO_SOURCE_H
#define TAMIS_IO_SOURCE_H

#include "base/private.h"

#include "io/progress.h"
#include "io/text.h"

/* What the build found; the packers are told by the content's first bytes, not by the name. */
#ifndef TAMIS_HAVE_ZLIB
#define TAMIS_HAVE_ZLIB 0
#endif
#ifndef TAMIS_HAVE_LZMA
#define TAMIS_HAVE_LZMA 0
#endif
#ifndef TAMIS_HAVE_ZSTD
#define TAMIS_HAVE_ZSTD 0
#endif

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

/* ---- for unpack.c */

/* A growing block of bytes that always has room for the padding. */
typedef struct tamis_bytes {
    char *data;
    int64_t size, capacity;
} tamis_bytes;
tamis_status tamis_bytes_reserve(tamis_bytes *bytes, int64_t capacity, const char *name);

/* Unpacks when `data` begins as a known packer's file does; *packed says whether. */
tamis_status tamis_unpack(const char *name, const unsigned char *data, int64_t bytes, const tamis_progress *progress,
                          bool *packed, tamis_bytes *unpacked);

#endif
