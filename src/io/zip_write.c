/* Writing a zip archive in one go, without going back: sizes follow each member's content, always in their zip64 form,
   and the directory at the end repeats them. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/unpack.h"
#include "io/zip.h"

#if TAMIS_HAVE_ZLIB
#include "io/zlib_memory.h"
#endif

enum { NEEDED_VERSION = 45, SIZES_FOLLOW = 8, DEFLATED = 8, PACKED_BYTES = 128 << 10, LEVEL = 4, STEP = 1 << 28 };
enum { DATE_1980 = 0x21 };

/* A record being put together: little-endian numbers one after another. */
typedef struct record {
    unsigned char bytes[128];
    int size;
} record;

static void put(record *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to->bytes[to->size++] = (unsigned char)(value >> (8 * i));
}

#if TAMIS_HAVE_ZLIB

typedef struct deflate_state {
    z_stream stream;
    uLong crc;
    unsigned char packed[PACKED_BYTES];
} deflate_state;

static tamis_status start_packing(tamis_zip_writer *writer) {
    void *memory = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof(deflate_state), "packing", &memory));
    deflate_state *const state = memory;
    state->stream.zalloc = tamis_zlib_allocate;
    state->stream.zfree = tamis_zlib_free;
    state->crc = crc32(0, NULL, 0);
    if (deflateInit2(&state->stream, LEVEL, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        tamis_release(state);
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to pack", writer->output->path);
    }
    writer->deflate = state;
    return TAMIS_OK;
}

static tamis_status pack(tamis_zip_writer *writer, const void *data, int64_t bytes, bool last) {
    deflate_state *const state = writer->deflate;
    memcpy(&state->stream.next_in, &data, sizeof data); /* zlib's pointer is not const; it does not write there */
    state->stream.avail_in = (uInt)bytes;
    int result;
    do {
        state->stream.next_out = state->packed;
        state->stream.avail_out = PACKED_BYTES;
        result = deflate(&state->stream, last ? Z_FINISH : Z_NO_FLUSH);
        TRY(tamis_output_write(writer->output, state->packed, PACKED_BYTES - (int64_t)state->stream.avail_out));
    } while (last ? result != Z_STREAM_END : state->stream.avail_out == 0);
    if (bytes > 0) state->crc = crc32(state->crc, data, (uInt)bytes);
    return TAMIS_OK;
}

static tamis_status end_packing(tamis_zip_writer *writer, uint32_t *crc) {
    TRY(pack(writer, NULL, 0, true));
    *crc = (uint32_t)((deflate_state *)writer->deflate)->crc;
    tamis_zip_abandon(writer);
    return TAMIS_OK;
}

void tamis_zip_abandon(tamis_zip_writer *writer) {
    deflate_state *const state = writer->deflate;
    if (!state) return;
    deflateEnd(&state->stream);
    tamis_release(state);
    writer->deflate = NULL;
}

#else

static tamis_status no_zlib(const tamis_zip_writer *writer) {
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: this build of Tamis does not include zlib, which .npz needs",
                      writer->output->path);
}
static tamis_status start_packing(tamis_zip_writer *writer) { return no_zlib(writer); }
static tamis_status pack(tamis_zip_writer *writer, const void *data, int64_t bytes, bool last) {
    (void)data, (void)bytes, (void)last;
    return no_zlib(writer);
}
static tamis_status end_packing(tamis_zip_writer *writer, uint32_t *crc) {
    *crc = 0;
    return no_zlib(writer);
}
void tamis_zip_abandon(tamis_zip_writer *writer) { (void)writer; }

#endif

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
    return start_packing(writer);
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
    TRY(end_packing(writer, &writer->members[number].crc));
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
