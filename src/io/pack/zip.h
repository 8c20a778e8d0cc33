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

/* Finds a member by name and unpacks it. *found says whether it is there; that it is not is no error. */
tamis_status tamis_zip_read(const tamis_bounded_text *archive, const char *member_name, bool *found,
                            tamis_zip_member *member);
/* Writes the names of the first members, as many as there is room for, with commas between them. */
void tamis_zip_list(const tamis_bounded_text *archive, char *names, int64_t room);
/* Unpacks the first `room` bytes alone; *bytes: how many there would be in all, as the archive says. */
tamis_status tamis_zip_peek(const tamis_bounded_text *archive, const char *member_name, unsigned char *head,
                            int64_t room, bool *found, int64_t *bytes);
void tamis_zip_release(tamis_zip_member *member);

/* Writing: begin, any number of writes, end, for each member; finish once. A record of what was written is kept. */
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
/* Frees what an error left open; it is allowed after success too. */
void tamis_zip_abandon(tamis_zip_writer *writer);

#endif
