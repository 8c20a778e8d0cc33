/* Reads a file, whole or window by window. It does not map files: if another program truncated a mapped file, this
   process would be killed, and pipes cannot be mapped. */
#include "io/files/input.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats/foreign.h"
#include "io/pack/unpack.h"

/* Protection from decompression bombs. A matrix in text compresses 3 to 100 times, but a bomb without limit (xz) or
   1030 times (gzip). Up to ALWAYS_FINE bytes are always unpacked. */
enum { MOST_RATIO = 1200, ALWAYS_FINE = 256 << 20, STEP = 8 << 20, FIRST_BLOCK = 64 << 10 };

/* Reserves `capacity` bytes and the padding behind them. */
static tamis_status reserve(tamis_input *input, int64_t capacity) {
    if (capacity > INT64_MAX / 2 - TAMIS_TEXT_PADDING)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld bytes do not fit the address space", input->text.name,
                          (long long)capacity);
    void *memory = input->memory;
    TRY(tamis_reallocate(input->capacity + TAMIS_TEXT_PADDING, capacity + TAMIS_TEXT_PADDING, 1, "the file's content",
                         &memory));
    input->memory = memory;
    input->capacity = capacity;
    return TAMIS_OK;
}

/* Returns the bytes of the probe, at most a window. */
static int64_t probe_of(const tamis_input *input) {
    return input->window > 0 && input->window < TAMIS_READ_PROBE ? input->window : TAMIS_READ_PROBE;
}

/* Enlarges the buffer if it is full. */
static tamis_status grow(tamis_input *input) {
    const tamis_unpacker *const from = &input->from;
    const int64_t packed = from->told > 0 ? from->told : from->taken, now = input->capacity;
    const int64_t times = from->packer && packed < INT64_MAX / 16 ? 4 : 1, whole = packed * times + FIRST_BLOCK;
    int64_t requested = input->window > 0 && input->window < whole ? input->window : whole;
    if (input->probing && requested > probe_of(input)) requested = probe_of(input);
    return reserve(input, requested > now ? requested : now * 2);
}

static tamis_status check_ratio(const tamis_input *input) {
    const tamis_unpacker *const from = &input->from;
    const int64_t packed = from->told > 0 ? from->told : from->taken, size = input->passed + input->size;
    if (from->packer && size >= ALWAYS_FINE && size / MOST_RATIO >= packed)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: expands to more than %d times its size: this is not a matrix",
                          from->name, MOST_RATIO);
    return TAMIS_OK;
}

/* Returns the position behind the last line end in memory, NULL if there is none. */
static char *find_end(const tamis_input *input) {
    char *end = input->memory + input->size;
    while (end > input->memory && end[-1] != '\n') end--;
    return end > input->memory ? end : NULL;
}

static bool has_enough(const tamis_input *input) {
    if (input->probing) return input->size >= probe_of(input);
    return input->window > 0 && input->size >= input->window && find_end(input);
}

/* Sets the text. The beginning of the line behind the window moves behind the window's padding. */
static void set_text(tamis_input *input) {
    const bool marked = input->passed == 0 && input->size >= 3 &&
                        memcmp(input->memory, "\xef\xbb\xbf", 3) == 0; /* UTF-8, says Windows */
    char *const line_end = input->ended ? NULL : find_end(input);
    char *const end = line_end ? line_end : input->memory + input->size;
    input->cut = !input->ended && !line_end;
    memmove(end + TAMIS_TEXT_PADDING, end, (size_t)(input->memory + input->size - end));
    memset(end, 0, TAMIS_TEXT_PADDING);
    input->text.begin = input->memory + (marked ? 3 : 0);
    input->text.end = end;
}

/* Reads until the probe, a window or the whole file is in memory. */
static tamis_status fill(tamis_input *input) {
    tamis_unpacker *const from = &input->from;
    while (!from->ended && !has_enough(input)) {
        size_t got = 0;
        if (input->size == input->capacity) TRY(grow(input));
        const int64_t room = input->capacity - input->size;
        TRY(check_ratio(input));
        TRY(tamis_unpacker_read(from, input->memory + input->size, (size_t)(room < STEP ? room : STEP), &got));
        input->size += (int64_t)got;
        if (input->window == 0) TRY(tamis_progress_step(&input->progress, tamis_input_share(input), from->name));
    }
    input->ended = from->ended;
    set_text(input);
    if (input->ended && !input->again) tamis_unpacker_close(from);
    return TAMIS_OK;
}

/* Begins to read from the open unpacker `from`, and takes its ownership. */
static tamis_status begin(const tamis_unpacker *from, int64_t window, bool again, const tamis_progress *progress,
                          tamis_input *input) {
    *input = (tamis_input){.text.name = from->name,
                           .probing = true,
                           .again = again,
                           .window = window,
                           .from = *from,
                           .progress = *progress};
    tamis_status status = fill(input);
    if (status == TAMIS_OK) status = tamis_refuse_foreign(&input->text);
    if (status != TAMIS_OK) tamis_input_close(input);
    return status;
}

tamis_status tamis_input_open_window(const char *path, int64_t window, const tamis_progress *progress,
                                     tamis_input *input) {
    tamis_unpacker from;
    *input = (tamis_input){0};
    TRY(tamis_unpacker_open(path, &from));
    return begin(&from, window, false, progress, input);
}

tamis_status tamis_input_open_again(const char *path, int64_t window, const tamis_progress *progress,
                                    tamis_input *input) {
    tamis_unpacker from;
    *input = (tamis_input){0};
    TRY(tamis_unpacker_open(path, &from));
    return begin(&from, window, true, progress, input);
}

/* Refuses a beginning with zero bytes and no line end, since endless zeros would fill the memory. */
static tamis_status refuse_binary(const tamis_input *input) {
    const tamis_bounded_text *const text = &input->text;
    const char *const zero = input->cut ? memchr(text->begin, '\0', (size_t)(text->end - text->begin)) : NULL;
    return zero ? tamis_text_fail(text, zero, "a text without zero bytes") : TAMIS_OK;
}

tamis_status tamis_input_open(const char *path, const tamis_progress *progress, tamis_input *input) {
    TRY(tamis_input_open_window(path, 0, progress, input));
    tamis_status status = refuse_binary(input);
    if (status == TAMIS_OK) status = tamis_input_fill(input);
    if (status != TAMIS_OK) tamis_input_close(input);
    return status;
}

tamis_status tamis_input_from_memory(const char *name, const void *data, size_t bytes, int64_t window,
                                     const tamis_progress *progress, tamis_input *input) {
    tamis_unpacker from;
    *input = (tamis_input){0};
    if (bytes > (size_t)(INT64_MAX / 4))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = %zu: more than the address space", bytes);
    TRY(tamis_unpacker_open_memory(name, data, bytes, &from));
    return begin(&from, window, false, progress, input);
}

/* Moves the bytes behind the window to `to`. */
static void bring_rest(tamis_input *input, char *to) {
    const char *const end = input->text.end;
    memmove(to, end + TAMIS_TEXT_PADDING, (size_t)(input->memory + input->size - end));
}

tamis_status tamis_input_fill(tamis_input *input) {
    const bool probing = input->probing;
    input->probing = false;
    if (input->ended || !probing) return TAMIS_OK;
    bring_rest(input, input->memory + (input->text.end - input->memory));
    return fill(input);
}

tamis_status tamis_input_next(tamis_input *input) {
    input->probing = false;
    const int64_t used = input->text.end - input->memory;
    input->text.lines_before = tamis_text_line(&input->text, input->text.end) - 1;
    bring_rest(input, input->memory);
    input->passed += used;
    input->size -= used;
    return fill(input);
}

tamis_status tamis_input_rewind(tamis_input *input) {
    input->probing = false;
    input->size = input->passed = input->text.lines_before = 0;
    TRY(tamis_unpacker_rewind(&input->from));
    return fill(input);
}

tamis_status tamis_input_rest(tamis_input *input) {
    input->probing = false;
    if (input->ended) return TAMIS_OK;
    bring_rest(input, input->memory + (input->text.end - input->memory));
    input->window = 0;
    return fill(input);
}

int64_t tamis_input_room(const tamis_input *input, const char *p) {
    const tamis_unpacker *const from = &input->from;
    if (input->ended) return input->text.end - p;
    const int64_t times = from->packer ? MOST_RATIO : 1;
    return from->told > 0 && from->told < INT64_MAX / 2 / times ? from->told * times : INT64_MAX / 2;
}

int64_t tamis_input_bytes(const tamis_input *input) {
    const int64_t seen = input->passed + input->size;
    return !input->ended && !input->from.packer && input->from.told > seen ? input->from.told : seen;
}

double tamis_input_share(const tamis_input *input) {
    const tamis_unpacker *const from = &input->from;
    const int64_t used = from->taken - (from->end - from->at);
    return from->told > 0 && used <= from->told ? (double)used / (double)from->told : 1;
}

int64_t tamis_guess_entries(int64_t needed, double share, int64_t told) {
    enum { MARGIN = 8 };
    const double guess = (double)needed / share;
    const int64_t room = guess < 1e18 ? (int64_t)guess + (int64_t)guess / MARGIN : needed;
    return told >= needed && told < room ? told : room;
}

void tamis_input_close(tamis_input *input) {
    tamis_release(input->memory);
    if (input->from.name) tamis_unpacker_close(&input->from);
    *input = (tamis_input){0};
}
