
#include "support/test.h"

enum { WATCHED = 32, WORDS_MOST = 500 };

static struct {
    const void *memory;
    size_t bytes;
    void *before;
} watched[WATCHED];
static int watches;
static int64_t live;

void refusals_watch(const void *memory, size_t bytes) {
    if (!memory) watches = 0;
    if (!memory) return;
    assert_true(watches < WATCHED);
    watched[watches].memory = memory;
    watched[watches++].bytes = bytes;
}

void refusal_begin(void) {
    live = tamis_memory_live();
    for (int i = 0; i < watches; i++) {
        free(watched[i].before); /* of one that failed */
        watched[i].before = malloc(watched[i].bytes);
        assert_non_null(watched[i].before);
        memcpy(watched[i].before, watched[i].memory, watched[i].bytes);
    }
}

bool message_says(const char *message, const char *words) {
    const bool first = words[0] == '^';
    for (const char *part = words + first, *at = message;;) {
        const char *const gap = strstr(part, "...");
        size_t size = gap ? (size_t)(gap - part) : strlen(part);
        const bool last = !gap && size > 0 && part[size - 1] == '$';
        char piece[WORDS_MOST];
        size -= last;
        snprintf(piece, sizeof piece, "%.*s", (int)size, part);
        const char *const found = strstr(at, piece);
        if (!found || (first && part == words + 1 && found != at)) return false;
        if (!gap) return !last || strcmp(at + strlen(at) - size, piece) == 0;
        at = found + size;
        part = gap + 3;
    }
}

tamis_status refusal_end(const char *file, int line, tamis_status got, tamis_status want, const char *words) {
    const char *const message = tamis_last_error();
    if (got != want || !message_says(message, words))
        fail_msg("%s:%d: wanted %s with \"%s\", got %s: %s", file, line, tamis_status_name(want), words,
                 tamis_status_name(got), message);
    if (tamis_memory_live() != live) fail_msg("%s:%d: something is left of the call", file, line);
    for (int i = 0; i < watches; i++) {
        if (memcmp(watched[i].before, watched[i].memory, watched[i].bytes) != 0)
            fail_msg("%s:%d: the call wrote where it was not to", file, line);
        free(watched[i].before);
        watched[i].before = NULL;
    }
    return got;
}
