/* Compression block by block, by ISA-L, which is about ten times as fast, or by zlib: for gzip files (output.c) and
   members of zip archives (zip_write.c). */
#ifndef TAMIS_IO_DEFLATE_H
#define TAMIS_IO_DEFLATE_H

#include <stdbool.h>
#include <stdint.h>
#include <tamis/tamis.h>

typedef struct tamis_deflate tamis_deflate;

/* Begins to pack. gzip: with its header and trailer; else deflate alone. `path` is for messages.
   TAMIS_ERROR_UNSUPPORTED in a build without either. */
tamis_status tamis_deflate_open(const char *path, bool gzip, tamis_deflate **deflate);

/* Compresses up to 2^28 bytes, and passes the output to the sink. last: the content ends with these bytes. */
typedef tamis_status tamis_deflate_sink(void *context, const void *packed, int64_t bytes);
tamis_status tamis_deflate_pack(tamis_deflate *deflate, const void *data, int64_t bytes, bool last,
                                tamis_deflate_sink *sink, void *context);

/* Returns the checksum of the content so far, without gzip. */
uint32_t tamis_deflate_crc(const tamis_deflate *deflate);

/* Ends packing; NULL is allowed. */
void tamis_deflate_close(tamis_deflate *deflate);

#endif
