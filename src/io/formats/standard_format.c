/* The beginning is unpacked, and looked at as that of a file without a name. */
#define _GNU_SOURCE
#include "io/formats/standard_format.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/files/standard.h"
#include "io/formats/formats.h"
#include "io/pack/unpack.h"

enum { MOST = 256 << 10 };

/* Unpacks what there is; that it ends within the packed data is no error here. */
static size_t unpack(const void *packed, size_t count, char *text) {
    tamis_unpacker from;
    size_t used = 0, got = 1;
    if (tamis_unpacker_open_memory("-", packed, count, &from) != TAMIS_OK) return 0;
    while (used < MOST && got > 0 && tamis_unpacker_read(&from, text + used, MOST - used, &got) == TAMIS_OK)
        used += got;
    tamis_unpacker_close(&from);
    return used;
}

tamis_file_format tamis_standard_format(void) {
    const void *packed = NULL;
    void *memory = NULL;
    const size_t count = tamis_standard_look(&packed);
    if (tamis_allocate_zeroed(MOST + TAMIS_TEXT_PADDING, 1, "the beginning of standard input", &memory) != TAMIS_OK)
        return TAMIS_FILE_AUTO;
    char *const begin = memory, *end = begin + unpack(packed, count, begin);
    const char *const last = memrchr(begin, '\n', (size_t)(end - begin));
    if (last && count >= TAMIS_STANDARD_LOOK) end = begin + (last + 1 - begin); /* there is more: whole lines alone */
    memset(end, 0, (size_t)(begin + MOST + TAMIS_TEXT_PADDING - end));
    const tamis_bounded_text text = {.name = "-", .begin = begin, .end = end};
    const tamis_file_row *const row = tamis_find_format(&text);
    const tamis_file_format format = row ? row->format : TAMIS_FILE_AUTO;
    tamis_release(memory);
    tamis_clear_error();
    return format;
}
