/* Reading a file, whole or window by window. It is read rather than mapped: a mapped file that another program cuts
   short would end this process, and pipes cannot be mapped. */
#include "io/source.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/foreign.h"
#include "io/unpack.h"

/* A matrix in text shrinks 3 to 100 times; a file built to fill the memory shrinks without limit (xz) or 1030 times
   (gzip). Up to ALWAYS_FINE bytes are unpacked from anything. */
enum { MOST_RATIO = 1200, ALWAYS_FINE = 256 << 20, STEP = 8 << 20, FIRST_BLOCK = 64 << 10 };

/* The memory always has room for the padding too. */
static tamis_status reserve(tamis_source *source, int64_t capacity) {
    if (capacity > INT64_MAX / 2 - TAMIS_TEXT_PADDING)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld bytes do not fit the address space", source->text.name,
                          (long long)capacity);
    void *memory = source->memory;
    if (memory)
        TRY(tamis_reallocate(source->capacity + TAMIS_TEXT_PADDING, capacity + TAMIS_TEXT_PADDING, 1,
                             "the file's content", &memory));
    else
        TRY(tamis_allocate(capacity + TAMIS_TEXT_PADDING, 1, "the file's content", &memory));
    source->memory = memory;
    source->capacity = capacity;
    return TAMIS_OK;
}

/* Bytes of the first look: a small window is not larger. */
static int64_t probe_of(const tamis_source *source) {
    return source->window > 0 && source->window < TAMIS_READ_PROBE ? source->window : TAMIS_READ_PROBE;
}

/* Room for more: called when all of it is used. */
static tamis_status grow(tamis_source *source) {
    const tamis_unpacker *const from = &source->from;
    const int64_t input = from->told > 0 ? from->told : from->taken, now = source->capacity;
    const int64_t times = from->packer && input < INT64_MAX / 16 ? 4 : 1, whole = input * times + FIRST_BLOCK;
    int64_t wanted = source->window > 0 && source->window < whole ? source->window : whole;
    if (source->probing && wanted > probe_of(source)) wanted = probe_of(source);
    return reserve(source, wanted > now ? wanted : now * 2);
}

static tamis_status check_ratio(const tamis_source *source) {
    const tamis_unpacker *const from = &source->from;
    const int64_t input = from->told > 0 ? from->told : from->taken, size = source->passed + source->size;
    if (from->packer && size >= ALWAYS_FINE && size / MOST_RATIO >= input)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: expands to more than %d times its size: this is not a matrix",
                          from->name, MOST_RATIO);
    return TAMIS_OK;
}

/* Behind the last line end in memory; NULL where there is none. */
static char *find_end(const tamis_source *source) {
    char *end = source->memory + source->size;
    while (end > source->memory && end[-1] != '\n') end--;
    return end > source->memory ? end : NULL;
}

static bool has_enough(const tamis_source *source) {
    if (source->probing) return source->size >= probe_of(source);
    return source->window > 0 && source->size >= source->window && find_end(source);
}

/* What was read of the line behind a window stands behind the window's padding. */
static void set_text(tamis_source *source) {
    const bool marked = source->passed == 0 && source->size >= 3 &&
                        memcmp(source->memory, "\xef\xbb\xbf", 3) == 0; /* UTF-8, says Windows */
    char *const line_end = source->ended ? NULL : find_end(source);
    char *const end = line_end ? line_end : source->memory + source->size;
    source->cut = !source->ended && !line_end;
    memmove(end + TAMIS_TEXT_PADDING, end, (size_t)(source->memory + source->size - end));
    memset(end, 0, TAMIS_TEXT_PADDING);
    source->text.begin = source->memory + (marked ? 3 : 0);
    source->text.end = end;
}

/* Reads on until there is a beginning, a window, or all. */
static tamis_status fill(tamis_source *source) {
    tamis_unpacker *const from = &source->from;
    while (!from->ended && !has_enough(source)) {
        size_t got = 0;
        if (source->size == source->capacity) TRY(grow(source));
        const int64_t room = source->capacity - source->size;
        TRY(check_ratio(source));
        TRY(tamis_unpacker_read(from, source->memory + source->size, (size_t)(room < STEP ? room : STEP), &got));
        source->size += (int64_t)got;
        if (source->window == 0) TRY(tamis_progress_step(&source->progress, tamis_source_share(source), from->name));
    }
    source->ended = from->ended;
    set_text(source);
    if (source->ended) tamis_unpacker_close(from);
    return TAMIS_OK;
}

/* Takes `from`, which is open. */
static tamis_status begin(const tamis_unpacker *from, int64_t window, const tamis_progress *progress,
                          tamis_source *source) {
    *source = (tamis_source){
        .text.name = from->name, .probing = true, .window = window, .from = *from, .progress = *progress};
    tamis_status status = fill(source);
    if (status == TAMIS_OK) status = tamis_refuse_foreign(&source->text);
    if (status != TAMIS_OK) tamis_source_close(source);
    return status;
}

tamis_status tamis_source_open_window(const char *path, int64_t window, const tamis_progress *progress,
                                      tamis_source *source) {
    tamis_unpacker from;
    *source = (tamis_source){0};
    TRY(tamis_unpacker_open(path, &from));
    return begin(&from, window, progress, source);
}

/* No line ends in the beginning, and there are zero bytes: of endless zeros the memory would not see the end. */
static tamis_status refuse_binary(const tamis_source *source) {
    const tamis_text *const text = &source->text;
    const char *const zero = source->cut ? memchr(text->begin, '\0', (size_t)(text->end - text->begin)) : NULL;
    return zero ? tamis_text_fail(text, zero, "a text without zero bytes") : TAMIS_OK;
}

tamis_status tamis_source_open(const char *path, const tamis_progress *progress, tamis_source *source) {
    TRY(tamis_source_open_window(path, 0, progress, source));
    tamis_status status = refuse_binary(source);
    if (status == TAMIS_OK) status = tamis_source_fill(source);
    if (status != TAMIS_OK) tamis_source_close(source);
    return status;
}

tamis_status tamis_source_from_memory(const char *name, const void *data, size_t bytes, int64_t window,
                                      const tamis_progress *progress, tamis_source *source) {
    tamis_unpacker from;
    *source = (tamis_source){0};
    if (bytes > (size_t)(INT64_MAX / 4))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = %zu: more than the address space", bytes);
    TRY(tamis_unpacker_open_memory(name, data, bytes, &from));
    return begin(&from, window, progress, source);
}

/* Puts what stands behind the window to `to`. */
static void bring_rest(tamis_source *source, char *to) {
    const char *const end = source->text.end;
    memmove(to, end + TAMIS_TEXT_PADDING, (size_t)(source->memory + source->size - end));
}

tamis_status tamis_source_fill(tamis_source *source) {
    const bool probing = source->probing;
    source->probing = false;
    if (source->ended || !probing) return TAMIS_OK;
    bring_rest(source, source->memory + (source->text.end - source->memory));
    return fill(source);
}

tamis_status tamis_source_next(tamis_source *source) {
    source->probing = false;
    const int64_t used = source->text.end - source->memory;
    source->text.lines_before = tamis_text_line(&source->text, source->text.end) - 1;
    bring_rest(source, source->memory);
    source->passed += used;
    source->size -= used;
    return fill(source);
}

tamis_status tamis_source_rest(tamis_source *source) {
    source->probing = false;
    if (source->ended) return TAMIS_OK;
    bring_rest(source, source->memory + (source->text.end - source->memory));
    source->window = 0;
    return fill(source);
}

int64_t tamis_source_room(const tamis_source *source, const char *p) {
    const tamis_unpacker *const from = &source->from;
    if (source->ended) return source->text.end - p;
    const int64_t times = from->packer ? MOST_RATIO : 1;
    return from->told > 0 && from->told < INT64_MAX / 2 / times ? from->told * times : INT64_MAX / 2;
}

int64_t tamis_source_bytes(const tamis_source *source) {
    const int64_t seen = source->passed + source->size;
    return !source->ended && !source->from.packer && source->from.told > seen ? source->from.told : seen;
}

double tamis_source_share(const tamis_source *source) {
    const tamis_unpacker *const from = &source->from;
    const int64_t used = from->taken - (from->end - from->at);
    return from->told > 0 && used <= from->told ? (double)used / (double)from->told : 1;
}

void tamis_source_close(tamis_source *source) {
    tamis_release(source->memory);
    if (source->from.name) tamis_unpacker_close(&source->from);
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
