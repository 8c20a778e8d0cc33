/* Writes a zip archive sequentially, without seeking: sizes follow each member's content, always in zip64 form, and the
   directory at the end repeats them. */
#include <string.h>

#include "base/status.h"
#include "io/pack/deflate.h"
#include "io/pack/zip.h"

enum { NEEDED_VERSION = 45, SIZES_FOLLOW = 8, DEFLATED = 8, STEP = 1 << 28 };
enum { DATE_1980 = 0x21 };

/* A record being built from little-endian numbers. */
typedef struct record {
    unsigned char bytes[128];
    int size;
} record;

static void put(record *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to->bytes[to->size++] = (unsigned char)(value >> (8 * i));
}

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
    record local = {0};
    put(&local, 0x04034b50, 4);
    put(&local, NEEDED_VERSION, 2);
    put(&local, SIZES_FOLLOW, 2);
    put(&local, DEFLATED, 2);
    put(&local, 0, 2);
    put(&local, DATE_1980, 2);
    put(&local, 0, 4);          /* the checksum follows */
    put(&local, 0xffffffff, 4); /* the sizes follow, 8 bytes each because of the extra field */
    put(&local, 0xffffffff, 4);
    put(&local, length, 2);
    put(&local, 20, 2);
    TRY(tamis_output_write(writer->output, local.bytes, local.size));
    TRY(tamis_output_write(writer->output, name, (int64_t)length));
    record extra = {0};
    put(&extra, 1, 2);
    put(&extra, 16, 2);
    put(&extra, 0, 8);
    put(&extra, 0, 8);
    TRY(tamis_output_write(writer->output, extra.bytes, extra.size));
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
    record sizes = {0};
    put(&sizes, 0x08074b50, 4);
    put(&sizes, writer->members[number].crc, 4);
    put(&sizes, (uint64_t)writer->members[number].packed, 8);
    put(&sizes, (uint64_t)writer->members[number].bytes, 8);
    writer->count++;
    return tamis_output_write(writer->output, sizes.bytes, sizes.size);
}

static tamis_status write_entry(tamis_zip_writer *writer, int number) {
    const size_t length = strlen(writer->members[number].name);
    record entry = {0};
    put(&entry, 0x02014b50, 4);
    put(&entry, NEEDED_VERSION, 2);
    put(&entry, NEEDED_VERSION, 2);
    put(&entry, SIZES_FOLLOW, 2);
    put(&entry, DEFLATED, 2);
    put(&entry, 0, 2);
    put(&entry, DATE_1980, 2);
    put(&entry, writer->members[number].crc, 4);
    put(&entry, 0xffffffff, 4);
    put(&entry, 0xffffffff, 4);
    put(&entry, length, 2);
    put(&entry, 28, 2); /* the extra field */
    put(&entry, 0, 2);
    put(&entry, 0, 2);
    put(&entry, 0, 2);
    put(&entry, 0, 4);
    put(&entry, 0xffffffff, 4);
    TRY(tamis_output_write(writer->output, entry.bytes, entry.size));
    TRY(tamis_output_write(writer->output, writer->members[number].name, (int64_t)length));
    record extra = {0};
    put(&extra, 1, 2);
    put(&extra, 24, 2);
    put(&extra, (uint64_t)writer->members[number].bytes, 8);
    put(&extra, (uint64_t)writer->members[number].packed, 8);
    put(&extra, (uint64_t)writer->members[number].offset, 8);
    return tamis_output_write(writer->output, extra.bytes, extra.size);
}

tamis_status tamis_zip_finish(tamis_zip_writer *writer) {
    const int64_t start = writer->output->position;
    for (int i = 0; i < writer->count; i++) TRY(write_entry(writer, i));
    const int64_t end = writer->output->position;
    record last = {0};
    put(&last, 0x06064b50, 4); /* the zip64 end record */
    put(&last, 44, 8);
    put(&last, NEEDED_VERSION, 2);
    put(&last, NEEDED_VERSION, 2);
    put(&last, 0, 8);
    put(&last, (uint64_t)writer->count, 8);
    put(&last, (uint64_t)writer->count, 8);
    put(&last, (uint64_t)(end - start), 8);
    put(&last, (uint64_t)start, 8);
    put(&last, 0x07064b50, 4); /* where that is */
    put(&last, 0, 4);
    put(&last, (uint64_t)end, 8);
    put(&last, 1, 4);
    put(&last, 0x06054b50, 4); /* the end record */
    put(&last, 0, 4);
    put(&last, (uint64_t)writer->count, 2);
    put(&last, (uint64_t)writer->count, 2);
    put(&last, 0xffffffff, 4);
    put(&last, 0xffffffff, 4);
    put(&last, 0, 2);
    return tamis_output_write(writer->output, last.bytes, last.size);
}
