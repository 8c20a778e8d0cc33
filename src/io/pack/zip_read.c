/* Finds and unpacks a member of a zip archive. Offsets and lengths are untrusted and are all checked. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/pack/unpack.h"
#include "io/pack/zip.h"

#if TAMIS_HAVE_ZLIB
#include "io/pack/zlib_memory.h"
#endif

enum {
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    MOST_COMMENT = 65535,
    MOST_RATIO = 1100, /* deflate reaches 1032 */
    STEP = 16 << 20
};

#define FOUND_IN_ZIP64 UINT32_C(0xffffffff)

typedef struct archive_member {
    int64_t local, packed, bytes;
    uint32_t crc;
    unsigned method, flags;
} archive_member;

static uint64_t take(const unsigned char *p, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | p[i];
    return value;
}

static tamis_status broken(const tamis_bounded_text *archive, const char *what) {
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: a broken zip archive: %s", archive->name, what);
}

static tamis_status broken_member(const tamis_bounded_text *archive, const char *name, const char *what) {
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: a broken zip archive: %s: %s", archive->name, name, what);
}

static const unsigned char *bytes_of(const tamis_bounded_text *archive) {
    return (const unsigned char *)archive->begin;
}

/* Finds where the central directory begins and how many members it has. */
static tamis_status find_directory(const tamis_bounded_text *archive, int64_t *offset, int64_t *members) {
    const unsigned char *const begin = bytes_of(archive);
    const int64_t size = archive->end - archive->begin;
    int64_t at = size - END_BYTES;
    while (at >= 0 && at >= size - END_BYTES - MOST_COMMENT && memcmp(begin + at, "PK\5\6", 4) != 0) at--;
    if (at < 0 || at < size - END_BYTES - MOST_COMMENT) return broken(archive, "its end record is missing");
    *members = (int64_t)take(begin + at + 10, 2);
    *offset = (int64_t)take(begin + at + 16, 4);
    if (at >= LOCATOR_BYTES && memcmp(begin + at - LOCATOR_BYTES, "PK\6\7", 4) == 0) {
        const uint64_t end64 = take(begin + at - LOCATOR_BYTES + 8, 8);
        if (size < END64_BYTES || end64 > (uint64_t)(size - END64_BYTES) || memcmp(begin + end64, "PK\6\6", 4) != 0)
            return broken(archive, "its zip64 end record is missing");
        *members = (int64_t)(take(begin + end64 + 32, 8) & INT64_MAX);
        *offset = (int64_t)(take(begin + end64 + 48, 8) & INT64_MAX);
    }
    if (*offset > size) return broken(archive, "its directory lies beyond the end");
    return TAMIS_OK;
}

/* Reads the zip64 extra field: it has the 64-bit values of bytes, packed and local, in this order, but only those that
   the header marks as too large for 32 bits. */
static bool take_extra(const unsigned char *p, int64_t length, archive_member *member) {
    int64_t *const missing[] = {&member->bytes, &member->packed, &member->local};
    while (length >= 4) {
        const int64_t id = (int64_t)take(p, 2), size = (int64_t)take(p + 2, 2);
        if (size > length - 4) return false;
        if (id == 1) {
            int64_t used = 0;
            for (int i = 0; i < 3; i++) {
                if (*missing[i] != (int64_t)FOUND_IN_ZIP64) continue;
                if (used + 8 > size) return false;
                const uint64_t value = take(p + 4 + used, 8);
                if (value > INT64_MAX) return false;
                *missing[i] = (int64_t)value;
                used += 8;
            }
            return true;
        }
        p += 4 + size;
        length -= 4 + size;
    }
    return true;
}

/* A member as the directory lists it. */
typedef struct directory_entry {
    const unsigned char *bytes; /* CENTRAL_BYTES, then the name and the extra field */
    int64_t name_bytes, extra_bytes;
} directory_entry;

/* Parses the directory's entry at *at, and moves *at behind it. */
static tamis_status take_entry(const tamis_bounded_text *archive, int64_t *at, directory_entry *entry) {
    const unsigned char *const begin = bytes_of(archive);
    const int64_t size = archive->end - archive->begin;
    if (size - *at < CENTRAL_BYTES || memcmp(begin + *at, "PK\1\2", 4) != 0)
        return broken(archive, "its directory is cut short");
    entry->bytes = begin + *at;
    entry->name_bytes = (int64_t)take(entry->bytes + 28, 2);
    entry->extra_bytes = (int64_t)take(entry->bytes + 30, 2);
    const int64_t behind = entry->name_bytes + entry->extra_bytes + (int64_t)take(entry->bytes + 32, 2);
    if (size - *at - CENTRAL_BYTES < behind) return broken(archive, "its directory is cut short");
    *at += CENTRAL_BYTES + behind;
    return TAMIS_OK;
}

static tamis_status find_member(const tamis_bounded_text *archive, const char *name, bool *found,
                                archive_member *member) {
    int64_t at = 0, members = 0;
    *found = false;
    TRY(find_directory(archive, &at, &members));
    for (int64_t i = 0; i < members; i++) {
        directory_entry of;
        TRY(take_entry(archive, &at, &of));
        const unsigned char *const entry = of.bytes;
        if (of.name_bytes != (int64_t)strlen(name) || memcmp(entry + CENTRAL_BYTES, name, (size_t)of.name_bytes) != 0)
            continue;
        *member = (archive_member){.local = (int64_t)take(entry + 42, 4),
                                   .packed = (int64_t)take(entry + 20, 4),
                                   .bytes = (int64_t)take(entry + 24, 4),
                                   .crc = (uint32_t)take(entry + 16, 4),
                                   .method = (unsigned)take(entry + 10, 2),
                                   .flags = (unsigned)take(entry + 8, 2)};
        if (!take_extra(entry + CENTRAL_BYTES + of.name_bytes, of.extra_bytes, member))
            return broken(archive, "a member's zip64 sizes are missing");
        *found = true;
        return TAMIS_OK;
    }
    return TAMIS_OK;
}

void tamis_zip_list(const tamis_bounded_text *archive, char *names, int64_t room) {
    int64_t at = 0, members = 0, used = 0;
    names[0] = '\0';
    tamis_status status = find_directory(archive, &at, &members);
    for (int64_t i = 0; i < members && status == TAMIS_OK; i++) {
        directory_entry of;
        status = take_entry(archive, &at, &of);
        if (status != TAMIS_OK || used + of.name_bytes + 3 > room) break;
        if (used > 0) used += snprintf(names + used, (size_t)(room - used), ", ");
        for (int64_t k = 0; k < of.name_bytes; k++) {
            const unsigned char c = of.bytes[CENTRAL_BYTES + k];
            names[used++] = (char)(c >= 0x20 && c < 0x7f ? c : '?');
        }
        names[used] = '\0';
    }
    tamis_clear_error();
}

/* Checks the local header; *data is the member's packed content. */
static tamis_status find_content(const tamis_bounded_text *archive, const char *name, const archive_member *member,
                                 const unsigned char **data) {
    const unsigned char *const begin = bytes_of(archive);
    const int64_t size = archive->end - archive->begin;
    if (member->local > size - LOCAL_BYTES || memcmp(begin + member->local, "PK\3\4", 4) != 0)
        return broken_member(archive, name, "its header is missing");
    const unsigned char *const header = begin + member->local;
    const int64_t start = member->local + LOCAL_BYTES + (int64_t)take(header + 26, 2) + (int64_t)take(header + 28, 2);
    if (start > size || member->packed > size - start) return broken_member(archive, name, "it is cut short");
    *data = begin + start;
    return TAMIS_OK;
}

#if TAMIS_HAVE_ZLIB

/* Unpacks a content. whole: it must end with the last byte. */
static tamis_status unpack(const tamis_bounded_text *archive, const char *name, const unsigned char *data,
                           int64_t packed, unsigned char *to, int64_t bytes, bool whole) {
    z_stream stream = {.zalloc = tamis_zlib_allocate, .zfree = tamis_zlib_free};
    if (inflateInit2(&stream, -15) != Z_OK)
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to unpack", archive->name);
    int64_t used = 0, made = 0;
    int result = Z_OK;
    while (result == Z_OK && (whole || made < bytes)) {
        const uInt in = (uInt)(packed - used < STEP ? packed - used : STEP);
        const uInt out = (uInt)(bytes - made < STEP ? bytes - made : STEP);
        const unsigned char *const next = data + used;
        memcpy(&stream.next_in, &next, sizeof next);
        stream.avail_in = in;
        stream.next_out = to + made;
        stream.avail_out = out;
        result = inflate(&stream, Z_NO_FLUSH);
        used += in - stream.avail_in;
        made += out - stream.avail_out;
    }
    inflateEnd(&stream);
    if (result == Z_MEM_ERROR) return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to unpack", archive->name);
    if ((whole && result != Z_STREAM_END) || made != bytes)
        return broken_member(archive, name, "it does not unpack to its size");
    return TAMIS_OK;
}

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static uint32_t checksum(const unsigned char *data, int64_t bytes) {
    uLong crc = crc32(0, NULL, 0);
    for (int64_t done = 0; done < bytes; done += STEP)
        crc = crc32(crc, data + done, (uInt)(bytes - done < STEP ? bytes - done : STEP));
    return (uint32_t)crc;
}
#endif

#else

static tamis_status unpack(const tamis_bounded_text *archive, const char *name, const unsigned char *data,
                           int64_t packed, unsigned char *to, int64_t bytes, bool whole) {
    (void)data, (void)packed, (void)to, (void)bytes, (void)whole;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: %s is deflated, and this build of Tamis does not include zlib",
                      archive->name, name);
}

#endif

/* Finds a member's packed content, and checks that it can be read at all. */
static tamis_status locate(const tamis_bounded_text *archive, const char *member_name, bool *found,
                           archive_member *place, const unsigned char **data) {
    TRY(find_member(archive, member_name, found, place));
    if (!*found) return TAMIS_OK;
    TRY(find_content(archive, member_name, place, data));
    if (place->flags & 1) return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: %s is encrypted", archive->name, member_name);
    if (place->method != 0 && place->method != 8)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: %s is packed by method %u; expected stored or deflated",
                          archive->name, member_name, place->method);
    if (place->method == 0 && place->packed != place->bytes)
        return broken_member(archive, member_name, "it is stored and has two sizes");
    if (place->method == 8 && place->bytes / MOST_RATIO > place->packed + 1)
        return broken_member(archive, member_name, "its size cannot be");
    return TAMIS_OK;
}

tamis_status tamis_zip_peek(const tamis_bounded_text *archive, const char *member_name, unsigned char *head,
                            int64_t room, bool *found, int64_t *bytes) {
    archive_member place;
    const unsigned char *data = NULL;
    TRY(locate(archive, member_name, found, &place, &data));
    if (!*found) return TAMIS_OK;
    *bytes = place.bytes;
    if (room > place.bytes) room = place.bytes;
    if (place.method == 8) return unpack(archive, member_name, data, place.packed, head, room, false);
    memcpy(head, data, (size_t)room);
    return TAMIS_OK;
}

tamis_status tamis_zip_read(const tamis_bounded_text *archive, const char *member_name, bool *found,
                            tamis_zip_member *member) {
    archive_member place;
    const unsigned char *data = NULL;
    *member = (tamis_zip_member){0};
    TRY(locate(archive, member_name, found, &place, &data));
    if (!*found) return TAMIS_OK;
    if (place.method == 8) {
        TRY(tamis_allocate(place.bytes + 1, 1, "the archive's content", &member->owned));
        const tamis_status status = unpack(archive, member_name, data, place.packed, member->owned, place.bytes, true);
        if (status != TAMIS_OK) {
            tamis_zip_release(member);
            return status;
        }
        data = member->owned;
    }
    member->data = data;
    member->bytes = place.bytes;
#if TAMIS_HAVE_ZLIB && !defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION) /* fuzzers cannot guess checksums */
    if (checksum(data, place.bytes) != place.crc) {
        tamis_zip_release(member);
        return broken_member(archive, member_name, "its checksum is wrong");
    }
#endif
    return TAMIS_OK;
}

void tamis_zip_release(tamis_zip_member *member) {
    tamis_release(member->owned);
    *member = (tamis_zip_member){0};
}
