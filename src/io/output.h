/* A file being written: beside the old one without a name, then linked and renamed over it, so that a failure leaves
   everything as it was, and a killed process nothing. Where the file system has no nameless files, it has a name of its
   own meanwhile. Devices and pipes are written to as they are. */
#ifndef TAMIS_IO_OUTPUT_H
#define TAMIS_IO_OUTPUT_H

#include "base/private.h"

#include <stdbool.h>
#include <stdint.h>
#include <tamis/tamis.h>

#include "base/temporaries.h"
#include "io/target.h"

typedef struct tamis_output {
    const char *path;          /* the caller's */
    tamis_target target;       /* what the path leads to, links followed */
    tamis_temporary temporary; /* beside the target, once it has a name */
    char nameless[32];         /* the path by which a nameless file gets one; "" for others */
    bool direct;               /* a device or pipe: written to the target */
    int descriptor;
    unsigned char *buffer;
    int64_t used;               /* bytes in the buffer */
    int64_t position;           /* bytes given to tamis_output_write so far */
    struct tamis_deflate *gzip; /* NULL for plain files */
} tamis_output;

/* Checks in advance, as far as possible, that a file of at least `bytes` bytes can be written: the folder is writable
   and has room, and an existing file is not a folder or read-only. Long work calls it first, so that this error does
   not come at its end. */
TAMIS_PRIVATE_API tamis_status tamis_output_check(const char *path, int64_t bytes);

/* Returns true if two paths resolve to the same file, which need not exist yet. */
TAMIS_PRIVATE_API bool tamis_output_same(const char *a, const char *b);

/* Opens an output. gzip: pack on the way. */
TAMIS_PRIVATE_API tamis_status tamis_output_open(const char *path, bool gzip, tamis_output *output);
TAMIS_PRIVATE_API tamis_status tamis_output_write(tamis_output *output, const void *data, int64_t bytes);

/* Ends the writing: keeps the file when `status` is TAMIS_OK and everything reaches the disk, else removes it. Returns
   the final status. Every opened output must be closed. */
TAMIS_PRIVATE_API tamis_status tamis_output_close(tamis_output *output, tamis_status status);

#endif
