/* Reading a whole file. It is read rather than mapped: a mapped file that another program cuts short would end this
   process, and pipes cannot be mapped. */
#include "io/source.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/unpack.h"

/* A matrix in text shrinks 3 to 100 times; a file built to fill the memory shrinks without limit (xz) or 1030 times
   (gzip). Up to ALWAYS_FINE bytes are unpacked from anything. */
enum { MOST_RATIO = 1200, ALWAYS_FINE = 256 << 20, STEP = 8 << 20, FIRST_BLOCK = 64 << 10 };

/* A growing block of bytes that always has room for the padding. */
typedef struct growing {
    char *data;
    int64_t size, capacity;
} growing;

static tamis_status reserve(growing *bytes, int64_t capacity, const char *name) {
    if (capacity > INT64_MAX / 2 - TAMIS_TEXT_PADDING)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld bytes do not fit the address space", name,
                          (long long)capacity);
    void *memory = bytes->data;
    if (memory)
        TRY(tamis_reallocate(bytes->capacity + TAMIS_TEXT_PADDING, capacity + TAMIS_TEXT_PADDING, 1,
                             "the file's content", &memory));
    else
        TRY(tamis_allocate(capacity + TAMIS_TEXT_PADDING, 1, "the file's content", &memory));
    bytes->data = memory;
    bytes->capacity = capacity;
    return TAMIS_OK;
}

/* Room for more: called when all of it is used. */
static tamis_status grow(growing *bytes, const tamis_unpacker *from) {
    const int64_t input = from->told > 0 ? from->told : from->taken;
    if (from->packer && bytes->size >= ALWAYS_FINE && bytes->size / MOST_RATIO >= input)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: expands to more than %d times its size: this is not a matrix",
                          from->name, MOST_RATIO);
    if (bytes->capacity > 0) return reserve(bytes, bytes->capacity * 2, from->name);
    const int64_t times = from->packer && input < INT64_MAX / 16 ? 4 : 1;
    return reserve(bytes, input * times + FIRST_BLOCK, from->name);
}

/* All of it, zeros behind it; closes `from`. */
static tamis_status read_all(tamis_unpacker *from, const tamis_progress *progress, tamis_source *source) {
    tamis_status status = TAMIS_OK;
    growing content = {0};
    do {
        size_t got = 0;
        if (content.size == content.capacity) TRY_GOTO(failed, grow(&content, from));
        const int64_t room = content.capacity - content.size;
        TRY_GOTO(failed,
                 tamis_unpacker_read(from, content.data + content.size, (size_t)(room < STEP ? room : STEP), &got));
        content.size += (int64_t)got;
        const int64_t used = from->taken - (from->end - from->at);
        if (from->told > 0 && used <= from->told)
            TRY_GOTO(failed, tamis_progress_step(progress, (double)used / (double)from->told, from->name));
    } while (!from->ended);
    memset(content.data + content.size, 0, TAMIS_TEXT_PADDING);
    const bool marked = content.size >= 3 && memcmp(content.data, "\xef\xbb\xbf", 3) == 0; /* UTF-8, says Windows */
    source->memory = content.data;
    source->text =
        (tamis_text){.name = from->name, .begin = content.data + (marked ? 3 : 0), .end = content.data + content.size};
    tamis_unpacker_close(from);
    return TAMIS_OK;
failed:
    tamis_release(content.data);
    tamis_unpacker_close(from);
    return status;
}

tamis_status tamis_source_open(const char *path, const tamis_progress *progress, tamis_source *source) {
    tamis_unpacker from;
    *source = (tamis_source){0};
    TRY(tamis_unpacker_open(path, &from));
    return read_all(&from, progress, source);
}

tamis_status tamis_source_from_memory(const char *name, const void *data, size_t bytes, const tamis_progress *progress,
                                      tamis_source *source) {
    tamis_unpacker from;
    *source = (tamis_source){0};
    if (bytes > (size_t)(INT64_MAX / 4))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = %zu: more than the address space", bytes);
    TRY(tamis_unpacker_open_memory(name, data, bytes, &from));
    return read_all(&from, progress, source);
}

void tamis_source_close(tamis_source *source) {
    tamis_release(source->memory);
    *source = (tamis_source){0};
}

size_t tamis_unpacked_name_length(const char *name) {
    static const char *const endings[] = {".gz", ".xz", ".zst"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) return length - ending;
    }
    return length;
}
