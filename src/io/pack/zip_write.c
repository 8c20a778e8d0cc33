/* Writes a zip archive sequentially, without seeking: sizes follow each member's content, always in zip64 form, and the
   directory at the end repeats them. */
#include <string.h>

#include "base/status.h"
#include "io/pack/deflate.h"
#include "io/pack/zip.h"

enum { NEEDED_VERSION = 45, SIZES_FOLLOW = 8, DEFLATED = 8, STEP = 1 << 28 };
enum { DATE_1980 = 0x21 };

/* A little-endian number of a record. */
typedef struct field {
    uint64_t value;
    int bytes;
} field;

static tamis_status write_record(tamis_output *output, const field *fields, size_t count) {
    unsigned char record[128];
    int size = 0;
    for (const field *f = fields; f < fields + count; f++)
        for (int i = 0; i < f->bytes; i++) record[size++] = (unsigned char)(f->value >> (8 * i));
    return tamis_output_write(output, record, size);
}

#define WRITE_RECORD(output, fields) write_record(output, fields, sizeof(fields) / sizeof *(fields))

static tamis_status write_packed(void *context, const void *packed, int64_t bytes) {
    return tamis_output_write(context, packed, bytes);
}

static tamis_status pack(const tamis_zip_writer *writer, const void *data, int64_t bytes, bool last) {
    return tamis_deflate_pack(writer->deflate, data, bytes, last, write_packed, writer->output);
}

void tamis_zip_abandon(tamis_zip_writer *writer) {
    tamis_deflate_close(writer->deflate);
    writer->deflate = NULL;
}

tamis_status tamis_zip_begin(tamis_zip_writer *writer, const char *name) {
    if (writer->count == TAMIS_ZIP_MEMBERS) return tamis_fail(TAMIS_ERROR_INTERNAL, "too many zip members");
    writer->members[writer->count].name = name;
    writer->members[writer->count].offset = writer->output->position;
    writer->members[writer->count].bytes = 0;
    const size_t length = strlen(name);
    const field local[] = {{0x04034b50, 4},
                           {NEEDED_VERSION, 2},
                           {SIZES_FOLLOW, 2},
                           {DEFLATED, 2},
                           {0, 2},
                           {DATE_1980, 2},
                           {0, 4},          /* the checksum follows */
                           {0xffffffff, 4}, /* the sizes follow, 8 bytes each because of the extra field */
                           {0xffffffff, 4},
                           {length, 2},
                           {20, 2}};
    const field extra[] = {{1, 2}, {16, 2}, {0, 8}, {0, 8}};
    TRY(WRITE_RECORD(writer->output, local));
    TRY(tamis_output_write(writer->output, name, (int64_t)length));
    TRY(WRITE_RECORD(writer->output, extra));
    writer->members[writer->count].packed = -writer->output->position;
    return tamis_deflate_open(writer->output->path, false, &writer->deflate);
}

tamis_status tamis_zip_write(tamis_zip_writer *writer, const void *data, int64_t bytes) {
    writer->members[writer->count].bytes += bytes;
    for (const char *from = data; bytes > 0;) {
        const int64_t part = bytes < STEP ? bytes : STEP;
        TRY(pack(writer, from, part, false));
        from += part;
        bytes -= part;
    }
    return TAMIS_OK;
}

tamis_status tamis_zip_end(tamis_zip_writer *writer) {
    const int number = writer->count;
    TRY(pack(writer, NULL, 0, true));
    writer->members[number].crc = tamis_deflate_crc(writer->deflate);
    tamis_zip_abandon(writer);
    writer->members[number].packed += writer->output->position;
    const field sizes[] = {{0x08074b50, 4},
                           {writer->members[number].crc, 4},
                           {(uint64_t)writer->members[number].packed, 8},
                           {(uint64_t)writer->members[number].bytes, 8}};
    writer->count++;
    return WRITE_RECORD(writer->output, sizes);
}

static tamis_status write_entry(tamis_zip_writer *writer, int number) {
    const size_t length = strlen(writer->members[number].name);
    const field entry[] = {{0x02014b50, 4},
                           {NEEDED_VERSION, 2},
                           {NEEDED_VERSION, 2},
                           {SIZES_FOLLOW, 2},
                           {DEFLATED, 2},
                           {0, 2},
                           {DATE_1980, 2},
                           {writer->members[number].crc, 4},
                           {0xffffffff, 4},
                           {0xffffffff, 4},
                           {length, 2},
                           {28, 2}, /* the extra field */
                           {0, 2},
                           {0, 2},
                           {0, 2},
                           {0, 4},
                           {0xffffffff, 4}};
    const field extra[] = {{1, 2},
                           {24, 2},
                           {(uint64_t)writer->members[number].bytes, 8},
                           {(uint64_t)writer->members[number].packed, 8},
                           {(uint64_t)writer->members[number].offset, 8}};
    TRY(WRITE_RECORD(writer->output, entry));
    TRY(tamis_output_write(writer->output, writer->members[number].name, (int64_t)length));
    return WRITE_RECORD(writer->output, extra);
}

tamis_status tamis_zip_finish(tamis_zip_writer *writer) {
    const uint64_t start = (uint64_t)writer->output->position, count = (uint64_t)writer->count;
    for (int i = 0; i < writer->count; i++) TRY(write_entry(writer, i));
    const uint64_t end = (uint64_t)writer->output->position;
    const field zip64_end[] = {{0x06064b50, 4}, {44, 8},    {NEEDED_VERSION, 2}, {NEEDED_VERSION, 2}, {0, 8},
                               {count, 8},      {count, 8}, {end - start, 8},    {start, 8}};
    const field locator[] = {{0x07064b50, 4}, {0, 4}, {end, 8}, {1, 4}};
    const field last[] = {{0x06054b50, 4}, {0, 4}, {count, 2}, {count, 2}, {0xffffffff, 4}, {0xffffffff, 4}, {0, 2}};
    TRY(WRITE_RECORD(writer->output, zip64_end));
    TRY(WRITE_RECORD(writer->output, locator));
    return WRITE_RECORD(writer->output, last);
}
