/* Reading and writing zip archives, as far as .npz files need it: stored and deflated members, zip64. */
#ifndef TAMIS_IO_ZIP_H
#define TAMIS_IO_ZIP_H

#include "io/files/output.h"
#include "io/text/text.h"

/* A member's content: `data` points into the archive or to `owned`. */
typedef struct tamis_zip_member {
    const unsigned char *data;
    int64_t bytes;
    void *owned;
} tamis_zip_member;

/* Finds a member by name and unpacks it. *found: it exists; a missing member is not an error. */
tamis_status tamis_zip_read(const tamis_bounded_text *archive, const char *member_name, bool *found,
                            tamis_zip_member *member);
/* Writes the names of the first members, separated by commas, as many as fit. */
void tamis_zip_list(const tamis_bounded_text *archive, char *names, int64_t room);
/* Unpacks only the first `room` bytes; *bytes: the full length that the archive states. */
tamis_status tamis_zip_peek(const tamis_bounded_text *archive, const char *member_name, unsigned char *head,
                            int64_t room, bool *found, int64_t *bytes);
void tamis_zip_release(tamis_zip_member *member);

/* Writing: for each member begin, any number of writes, and end; finish once. The writer records its members for the
   directory. */
enum { TAMIS_ZIP_MEMBERS = 8 };
typedef struct tamis_zip_writer {
    tamis_output *output;
    int count;
    struct {
        const char *name; /* the caller's */
        int64_t offset, packed, bytes;
        uint32_t crc;
    } members[TAMIS_ZIP_MEMBERS];
    struct tamis_deflate *deflate; /* while a member is open */
} tamis_zip_writer;

tamis_status tamis_zip_begin(tamis_zip_writer *writer, const char *name);
tamis_status tamis_zip_write(tamis_zip_writer *writer, const void *data, int64_t bytes);
tamis_status tamis_zip_end(tamis_zip_writer *writer);
tamis_status tamis_zip_finish(tamis_zip_writer *writer);
/* Frees resources after an error; allowed after success, too. */
void tamis_zip_abandon(tamis_zip_writer *writer);

#endif
