/* Unpacking gzip, xz and Zstandard in memory. */
#ifndef TAMIS_IO_UNPACK_H
#define TAMIS_IO_UNPACK_H

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
