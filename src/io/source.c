/* Reading a whole file. It is read rather than mapped: a mapped file that another program cuts short would end this
   process, and pipes cannot be mapped. */
#define _GNU_SOURCE
#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/unpack.h"

enum { READ_BLOCK = 8 << 20, FIRST_BLOCK = 64 << 10 };

static tamis_status file_error(const char *path, const char *doing) {
    return tamis_fail(TAMIS_ERROR_FILE, "%s: cannot %s: %s", path, doing, strerror(errno));
}

static tamis_status read_all(int descriptor, const char *path, const tamis_progress *progress, tamis_bytes *content) {
    struct stat state;
    if (fstat(descriptor, &state) != 0) return file_error(path, "read its size");
    if (S_ISDIR(state.st_mode)) return tamis_fail(TAMIS_ERROR_FILE, "%s: cannot read: it is a folder", path);
    const int64_t told = S_ISREG(state.st_mode) ? (int64_t)state.st_size : 0; /* 0 for pipes: then it grows */
    TRY(tamis_bytes_reserve(content, told + FIRST_BLOCK, path));
    for (;;) {
        if (content->size == content->capacity) TRY(tamis_bytes_reserve(content, content->capacity * 2, path));
        int64_t want = content->capacity - content->size;
        if (want > READ_BLOCK) want = READ_BLOCK;
        const ssize_t got = read(descriptor, content->data + content->size, (size_t)want);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(path, "read");
        if (got == 0) return TAMIS_OK;
        content->size += got;
        if (told > 0 && content->size <= told)
            TRY(tamis_progress_step(progress, (double)content->size / (double)told, path));
    }
}

/* Takes over `content`. */
static tamis_status set_text(tamis_source *source, const char *name, const tamis_bytes *content) {
    if (!content->data) return tamis_fail(TAMIS_ERROR_INTERNAL, "%s: nothing was read", name);
    memset(content->data + content->size, 0, TAMIS_TEXT_PADDING);
    const bool marked = content->size >= 3 && memcmp(content->data, "\xef\xbb\xbf", 3) == 0; /* UTF-8, says Windows */
    source->memory = content->data;
    source->text =
        (tamis_text){.name = name, .begin = content->data + (marked ? 3 : 0), .end = content->data + content->size};
    return TAMIS_OK;
}

tamis_status tamis_source_open(const char *path, const tamis_progress *progress, tamis_source *source) {
    tamis_status status = TAMIS_OK;
    tamis_bytes content = {0}, unpacked = {0};
    bool packed = false;
    tamis_progress reading = *progress, unpacking = *progress;
    reading.high = unpacking.low = progress->low + (progress->high - progress->low) / 4;
    *source = (tamis_source){0};
    int descriptor;
    do descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return file_error(path, "open");
    TRY_GOTO(end, read_all(descriptor, path, &reading, &content));
    TRY_GOTO(end,
             tamis_unpack(path, (const unsigned char *)content.data, content.size, &unpacking, &packed, &unpacked));
    TRY_GOTO(end, set_text(source, path, packed ? &unpacked : &content));
end:
    close(descriptor);
    if (source->memory != content.data) tamis_release(content.data);
    if (source->memory != unpacked.data) tamis_release(unpacked.data);
    return status;
}

tamis_status tamis_source_from_memory(const char *name, const void *data, size_t bytes, const tamis_progress *progress,
                                      tamis_source *source) {
    tamis_status status = TAMIS_OK;
    tamis_bytes content = {0};
    bool packed = false;
    *source = (tamis_source){0};
    if (bytes > (size_t)(INT64_MAX / 4))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = %zu: more than the address space", bytes);
    TRY_GOTO(failed, tamis_unpack(name, data, (int64_t)bytes, progress, &packed, &content));
    if (!packed) { /* copied, for the padding behind it */
        TRY_GOTO(failed, tamis_bytes_reserve(&content, (int64_t)bytes, name));
        if (bytes > 0) memcpy(content.data, data, bytes);
        content.size = (int64_t)bytes;
    }
    TRY_GOTO(failed, set_text(source, name, &content));
    return TAMIS_OK;
failed:
    tamis_release(content.data);
    return status;
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
