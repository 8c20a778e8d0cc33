/* Lines of a file, unpacked on the way. */
#include "lines_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "packing.h"

enum { FIRST = 1 << 16, MOST = 1 << 28 };

static int refuse(tool_lines_reader *reader, int code) {
    tool_lines_reader_close(reader);
    reader->failed = true;
    return code;
}

int tool_lines_reader_open(tool_lines_reader *reader, const char *path) {
    *reader = (tool_lines_reader){.path = path};
    reader->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!reader->file) {
        tool_error("%s: cannot be read: %s", path, strerror(errno));
        return TOOL_FILE;
    }
    reader->capacity = FIRST;
    reader->buffer = tool_allocate(reader->capacity + 1, 1);
    reader->held = fread(reader->buffer, 1, 8, reader->file);
    reader->packing = tool_packing_of((const unsigned char *)reader->buffer, reader->held);
    if (!reader->packing) return 0;
    if (!reader->packing->open) {
        tool_error("%s: packed with %s: built without %s", path, reader->packing->name, reader->packing->library);
        return refuse(reader, TOOL_UNSUPPORTED);
    }
    if (fseek(reader->file, 0, SEEK_SET) != 0) {
        tool_error("%s: packed with %s: give it as a file", path, reader->packing->name);
        return refuse(reader, TOOL_FILE);
    }
    reader->held = 0;
    reader->unpacker = reader->packing->open();
    if (reader->unpacker) return 0;
    tool_error("%s: %s could not be started", path, reader->packing->library);
    return refuse(reader, TOOL_MEMORY);
}

/* Reads more behind what is held. */
static void fill(tool_lines_reader *reader) {
    if (reader->begin > 0) {
        memmove(reader->buffer, reader->buffer + reader->begin, reader->held - reader->begin);
        reader->held -= reader->begin;
        reader->begin = 0;
    }
    if (reader->held == reader->capacity) {
        reader->capacity *= 2;
        reader->buffer = tool_grow(reader->buffer, reader->capacity + 1, 1);
    }
    char *to = reader->buffer + reader->held;
    const size_t room = reader->capacity - reader->held;
    const char *reason = NULL;
    size_t got = 0;
    bool good = true;
    if (reader->capacity > MOST) {
        good = false;
        reason = "a line of more than 256 MiB";
    } else if (reader->packing) {
        good = reader->packing->read(reader->unpacker, reader->file, to, room, &got, &reason);
    } else {
        got = fread(to, 1, room, reader->file);
        good = !ferror(reader->file);
        reason = good ? NULL : strerror(errno);
    }
    reader->held += got;
    reader->ended = got == 0;
    if (good) return;
    tool_error("%s: cannot be read: %s", reader->path, reason);
    reader->failed = true;
}

bool tool_lines_reader_next(tool_lines_reader *reader) {
    size_t looked = reader->begin;
    for (;;) {
        char *end = memchr(reader->buffer + looked, '\n', reader->held - looked);
        if (!end && !reader->ended && !reader->failed) {
            looked = reader->held - reader->begin;
            fill(reader);
            continue;
        }
        if (reader->failed || (!end && reader->begin == reader->held)) {
            reader->length = 0;
            return false;
        }
        if (!end) end = reader->buffer + reader->held;
        reader->text = reader->buffer + reader->begin;
        reader->length = (size_t)(end - reader->text);
        reader->begin += reader->length + (end < reader->buffer + reader->held);
        while (reader->length > 0 && strchr("\r \t", reader->text[reader->length - 1])) reader->length--;
        *end = 0;
        reader->text[reader->length] = 0;
        reader->line++;
        return true;
    }
}

void tool_lines_reader_close(tool_lines_reader *reader) {
    if (reader->unpacker) reader->packing->close(reader->unpacker);
    if (reader->file && reader->file != stdin) fclose(reader->file);
    free(reader->buffer);
    *reader = (tool_lines_reader){.failed = reader->failed};
}
