#include "cli/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t tool_character(const char *text, uint32_t *number) {
    const unsigned char *const at = (const unsigned char *)text;
    /* by the first byte: length of the UTF-8 sequence, and the smallest code point that needs it */
    static const struct {
        size_t length;
        uint32_t least;
        unsigned char mask, first;
    } rows[] = {{1, 0, 0x80, 0x00}, {2, 0x80, 0xe0, 0xc0}, {3, 0x800, 0xf0, 0xe0}, {4, 0x10000, 0xf8, 0xf0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((at[0] & rows[i].mask) != rows[i].first) continue;
        *number = at[0] & (unsigned char)~rows[i].mask;
        for (size_t k = 1; k < rows[i].length; k++) {
            if ((at[k] & 0xc0) != 0x80) return 0;
            *number = *number << 6 | (at[k] & 0x3f);
        }
        const bool surrogate = *number >= 0xd800 && *number < 0xe000;
        return *number >= rows[i].least && *number < 0x110000 && !surrogate ? rows[i].length : 0;
    }
    return 0;
}

bool tool_is_control(uint32_t number) { return number < 0x20 || (number >= 0x7f && number < 0xa0); }

/* Returns the bytes of the character at `text`, 0 if it must not be shown. */
static size_t shown_length(const char *text) {
    uint32_t number = 0;
    const size_t length = tool_character(text, &number);
    return length > 0 && !tool_is_control(number) ? length : 0;
}

void tool_visible_copy(const char *text, char *to, size_t bytes) {
    size_t used = 0;
    while (*text) {
        char shown[8];
        size_t length = shown_length(text), taken = length;
        if (length > 0) {
            memcpy(shown, text, length);
        } else {
            static const char names[][2] = {"\nn", "\tt", "\rr"};
            int i = 0;
            while (i < 3 && names[i][0] != *text) i++;
            length = (size_t)(i < 3 ? snprintf(shown, sizeof shown, "\\%c", names[i][1])
                                    : snprintf(shown, sizeof shown, "\\x%02x", (unsigned)(unsigned char)*text));
            taken = 1;
        }
        if (used + length >= bytes) break;
        memcpy(to + used, shown, length);
        used += length;
        text += taken;
    }
    to[used] = 0;
}

const char *tool_visible(const char *name) {
    static struct copy {
        struct copy *next;
        char text[];
    } * copies;
    const char *at = name;
    while (*at && shown_length(at) > 0) at += shown_length(at);
    if (!*at) return name;
    const size_t bytes = 4 * strlen(name) + 1;
    char *const text = malloc(bytes);
    if (!text) return "?";
    tool_visible_copy(name, text, bytes);
    for (struct copy *copy = copies; copy; copy = copy->next) { /* names are shown repeatedly, so copies are reused */
        if (strcmp(copy->text, text) != 0) continue;
        free(text);
        return copy->text;
    }
    struct copy *const made = malloc(sizeof *made + strlen(text) + 1);
    if (made) {
        memcpy(made->text, text, strlen(text) + 1);
        made->next = copies;
        copies = made;
    }
    free(text);
    return made ? made->text : "?";
}
