/* The bytes of a file from its beginning to its end, unpacked where its first bytes say that it is packed. */
#ifndef TAMIS_ML_STREAM_BYTES_H
#define TAMIS_ML_STREAM_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <tamis/tamis.h>

struct ml_packer;

typedef struct ml_bytes {
    const char *name; /* of the file, the caller's */
    int descriptor;
    const struct ml_packer *packer; /* NULL: not packed */
    void *state;                    /* the packer's */
    unsigned char *input;           /* a block of the file; input_at .. input_end is yet to be unpacked */
    size_t input_at, input_end;
    bool input_ended; /* the file has no more */
    bool ended;       /* nor has its content */
} ml_bytes;

/* TAMIS_ERROR_UNSUPPORTED for a packer that this build does not include. Nothing to close on an error. */
tamis_status ml_bytes_open(const char *path, ml_bytes *bytes);
void ml_bytes_close(ml_bytes *bytes);
tamis_status ml_bytes_rewind(ml_bytes *bytes);

/* Up to `room` bytes, at least one unless the content has ended. */
tamis_status ml_bytes_read(ml_bytes *bytes, char *to, size_t room, size_t *got);

#endif
