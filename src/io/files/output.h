/* A file being written: an unnamed file beside the old one, which is then linked and renamed over it. So a failure
   changes nothing, and a killed process leaves nothing behind. On file systems without unnamed files it has a temporary
   name. Devices and pipes are written directly. */
#ifndef TAMIS_IO_OUTPUT_H
#define TAMIS_IO_OUTPUT_H

#include "base/private.h"

#include <stdbool.h>
#include <stdint.h>
#include <tamis/tamis.h>

#include "base/temporaries.h"
#include "io/files/target.h"

typedef struct tamis_output {
    const char *path;          /* the caller's */
    tamis_target target;       /* the path's target, after following links */
    tamis_temporary temporary; /* beside the target, once it has a name */
    char nameless[32];         /* the path for linking an unnamed file; "" for others */
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

/* Opens an output. gzip: compress it. */
TAMIS_PRIVATE_API tamis_status tamis_output_open(const char *path, bool gzip, tamis_output *output);
TAMIS_PRIVATE_API tamis_status tamis_output_write(tamis_output *output, const void *data, int64_t bytes);

/* Closes an output: keeps the file if `status` is TAMIS_OK and everything reaches the disk, else removes it. Returns
   the final status. Every opened output must be closed. */
TAMIS_PRIVATE_API tamis_status tamis_output_close(tamis_output *output, tamis_status status);

#endif
