/* A stream of the bytes of a file or of memory, decompressed if its first bytes have the signature of a packer. */
#ifndef TAMIS_IO_UNPACK_H
#define TAMIS_IO_UNPACK_H

#include "base/private.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tamis/tamis.h>

/* 1 if the build found the library. */
#ifndef TAMIS_HAVE_ZLIB
#define TAMIS_HAVE_ZLIB 0
#endif
#ifndef TAMIS_HAVE_LZMA
#define TAMIS_HAVE_LZMA 0
#endif
#ifndef TAMIS_HAVE_ZSTD
#define TAMIS_HAVE_ZSTD 0
#endif
#ifndef TAMIS_HAVE_ISAL
#define TAMIS_HAVE_ISAL 0
#endif

typedef struct tamis_unpacker {
    const char *name;                  /* for messages; owned by the caller */
    const struct tamis_packer *packer; /* NULL: not packed */
    void *state;                       /* the packer's */
    const unsigned char *at, *end;     /* input not yet decompressed */
    int64_t told;                      /* bytes of the input; 0 if unknown */
    int64_t taken;                     /* bytes of the input read so far */
    bool input_ended;                  /* there is no more input */
    bool ended;                        /* nor has its content more */
    int descriptor;                    /* of a file; -1: all input is in memory */
    unsigned char *block;              /* of a file: input buffer */
    int64_t origin;                    /* of a file: offset of the input's begin */
} tamis_unpacker;

/* Opens a file, or memory. TAMIS_ERROR_UNSUPPORTED for a packer that this build does not include. Nothing to close
   after an error. */
tamis_status tamis_unpacker_open(const char *path, tamis_unpacker *unpacker);
tamis_status tamis_unpacker_open_memory(const char *name, const void *data, size_t bytes, tamis_unpacker *unpacker);
void tamis_unpacker_close(tamis_unpacker *unpacker);

/* Goes back to the beginning of a file. */
tamis_status tamis_unpacker_rewind(tamis_unpacker *unpacker);

/* Reads up to `room` bytes, at least one unless the content has ended. */
tamis_status tamis_unpacker_read(tamis_unpacker *unpacker, char *to, size_t room, size_t *got);

/* Returns the length of a name without .gz, .xz or .zst. */
TAMIS_PRIVATE_API size_t tamis_unpacked_name_length(const char *name);
/* Returns true if that part of the name has this ending, in letters of either case, and more before it. */
bool tamis_unpacked_name_ends(const char *name, const char *ending);

#endif
