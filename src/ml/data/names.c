/*
 * A dictionary of names: a buffer with all names, each followed by a zero; the offset of each; and a hash table with
 * open addressing. Names are numbered in order of arrival, so that neither the hash function nor the size of the table
 * is visible from outside.
 */
#include "ml/data/names.h"

#include <string.h>

#include "base/fnv.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/files/input.h"

/* tag: hash bits not used for the position in the table. They reject most wrong names without comparing bytes. */
typedef struct slot {
    uint32_t tag;
    uint32_t number; /* index + 1; 0: free */
} slot;

struct tamis_names {
    int64_t count;
    char *bytes;
    int64_t bytes_used, bytes_room;
    int64_t *starts; /* name i begins at bytes[starts[i]], and ends before the next one's start and a zero */
    int64_t starts_room;
    slot *slots;
    int64_t slot_count; /* a power of two, or 0 before the first name */
};

enum { FIRST_BYTES = 1024, FIRST_STARTS = 64, FIRST_SLOTS = 128 };
#define NAMES_MOST ((int64_t)INT32_MAX - 1) /* limit of 32-bit indices of a matrix */

/* Returns a hash with a final mix, since the table uses only some of the bits. */
static uint64_t hash_of(const char *name, size_t length) {
    uint64_t hash = tamis_fnv_bytes(TAMIS_FNV_START, name, length);
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;
    return hash ^ hash >> 32;
}

static uint32_t tag_of(uint64_t hash) { return (uint32_t)(hash >> 32); }

static int64_t length_of(const tamis_names *names, int64_t index) {
    const int64_t end = index + 1 < names->count ? names->starts[index + 1] : names->bytes_used;
    return end - names->starts[index] - 1;
}

/* Finds the name's slot, or the free slot where it belongs. There is always a free slot. */
static slot *find_slot(const tamis_names *names, const char *name, size_t length, uint64_t hash) {
    const uint64_t mask = (uint64_t)names->slot_count - 1;
    for (uint64_t at = hash & mask;; at = (at + 1) & mask) {
        slot *const here = &names->slots[at];
        if (here->number == 0) return here;
        const int64_t index = (int64_t)here->number - 1;
        if (here->tag == tag_of(hash) && length_of(names, index) == (int64_t)length &&
            memcmp(names->bytes + names->starts[index], name, length) == 0)
            return here;
    }
}

/* Inserts name `index`, which must not be in the table, into a free slot. */
static void place(slot *slots, int64_t slot_count, uint64_t hash, int64_t index) {
    const uint64_t mask = (uint64_t)slot_count - 1;
    uint64_t at = hash & mask;
    while (slots[at].number != 0) at = (at + 1) & mask;
    slots[at] = (slot){.tag = tag_of(hash), .number = (uint32_t)(index + 1)};
}

static void place_all(const tamis_names *names, slot *slots, int64_t slot_count) {
    for (int64_t i = 0; i < names->count; i++)
        place(slots, slot_count, hash_of(names->bytes + names->starts[i], (size_t)length_of(names, i)), i);
}

/* Enlarges the table if it would be more than two thirds full. */
static tamis_status reserve_slot(tamis_names *names) {
    if ((names->count + 1) * 3 <= names->slot_count * 2) return TAMIS_OK;
    const int64_t slot_count = names->slot_count > 0 ? names->slot_count * 2 : FIRST_SLOTS;
    void *slots = NULL;
    TRY(tamis_allocate_zeroed(slot_count, sizeof(slot), "a dictionary's table", &slots));
    place_all(names, slots, slot_count);
    tamis_release(names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
    return TAMIS_OK;
}

static tamis_status reserve_start(tamis_names *names) {
    if (names->count < names->starts_room) return TAMIS_OK;
    const int64_t room = names->starts_room > 0 ? names->starts_room * 2 : FIRST_STARTS;
    TRY(tamis_reallocate(names->starts_room, room, sizeof *names->starts, "a dictionary's names",
                         (void **)&names->starts));
    names->starts_room = room;
    return TAMIS_OK;
}

/* Makes room for `more` bytes. *name may point into the dictionary's buffer: then it is updated. */
static tamis_status reserve_bytes(tamis_names *names, int64_t more, const char **name) {
    if (names->bytes_room - names->bytes_used >= more) return TAMIS_OK;
    int64_t room = names->bytes_room > 0 ? names->bytes_room * 2 : FIRST_BYTES;
    if (room - names->bytes_used < more) room = names->bytes_used + more;
    const uintptr_t at = (uintptr_t)*name, begin = (uintptr_t)names->bytes;
    const bool inside = names->bytes && at >= begin && at < begin + (uintptr_t)names->bytes_used;
    TRY(tamis_reallocate(names->bytes_used, room, 1, "a dictionary's names", (void **)&names->bytes));
    names->bytes_room = room;
    if (inside) *name = names->bytes + (at - begin);
    return TAMIS_OK;
}

/* Adds a name; after an error the dictionary is unchanged. */
static tamis_status append(tamis_names *names, const char *name, size_t length, uint64_t hash) {
    if (names->count >= NAMES_MOST)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "more than %lld names: 32-bit indices cannot hold more",
                          (long long)NAMES_MOST);
    TRY(reserve_slot(names));
    TRY(reserve_start(names));
    TRY(reserve_bytes(names, (int64_t)length + 1, &name));
    memcpy(names->bytes + names->bytes_used, name, length);
    names->bytes[names->bytes_used + (int64_t)length] = '\0';
    names->starts[names->count] = names->bytes_used;
    names->bytes_used += (int64_t)length + 1;
    place(names->slots, names->slot_count, hash, names->count);
    names->count++;
    return TAMIS_OK;
}

tamis_status tamis_names_create(tamis_names **names) {
    tamis_clear_error();
    if (!names) return tamis_fail(TAMIS_ERROR_ARGUMENT, "names = NULL: expected an address for the dictionary");
    void *memory;
    TRY(tamis_allocate_zeroed(1, sizeof(tamis_names), "a dictionary", &memory));
    *names = memory;
    return TAMIS_OK;
}

void tamis_names_free(tamis_names *names) {
    if (!names) return;
    tamis_release(names->bytes);
    tamis_release(names->starts);
    tamis_release(names->slots);
    tamis_release(names);
}

int64_t tamis_names_count(const tamis_names *names) { return names ? names->count : 0; }

const char *tamis_names_at(const tamis_names *names, int64_t index) {
    if (!names || index < 0 || index >= names->count) return NULL;
    return names->bytes + names->starts[index];
}

int64_t tamis_names_find(const tamis_names *names, const char *name, size_t length) {
    if (!names || !name || length == 0 || names->count == 0) return -1;
    return (int64_t)find_slot(names, name, length, hash_of(name, length))->number - 1;
}

tamis_status tamis_names_add(tamis_names *names, const char *name, size_t length, int64_t *index) {
    tamis_clear_error();
    if (!names) return tamis_fail(TAMIS_ERROR_ARGUMENT, "names = NULL: expected a dictionary");
    if (!name) return tamis_fail(TAMIS_ERROR_ARGUMENT, "name = NULL: expected a name");
    if (!index) return tamis_fail(TAMIS_ERROR_ARGUMENT, "index = NULL: expected an address for the index");
    if (length == 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "length = 0: expected a name of one byte or more");
    if (length > (size_t)INT64_MAX / 8)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "length = %zu: more than the address space", length);
    const char *const zero = memchr(name, '\0', length);
    if (zero)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "name[%lld] = 0: expected a name without zero bytes",
                          (long long)(zero - name));
    const uint64_t hash = hash_of(name, length);
    if (names->slot_count > 0) {
        const slot *const found = find_slot(names, name, length, hash);
        if (found->number != 0) {
            *index = (int64_t)found->number - 1;
            return TAMIS_OK;
        }
    }
    TRY(append(names, name, length, hash));
    *index = names->count - 1;
    return TAMIS_OK;
}

tamis_status tamis_names_copy(const tamis_names *names, tamis_names **copy) {
    tamis_clear_error();
    if (!names) return tamis_fail(TAMIS_ERROR_ARGUMENT, "names = NULL: expected a dictionary");
    if (!copy) return tamis_fail(TAMIS_ERROR_ARGUMENT, "copy = NULL: expected an address for the dictionary");
    tamis_names *made = NULL;
    tamis_status status;
    TRY_GOTO(failed, tamis_names_create(&made));
    for (int64_t i = 0; i < names->count; i++) {
        int64_t index;
        TRY_GOTO(failed, tamis_names_add(made, names->bytes + names->starts[i], (size_t)length_of(names, i), &index));
    }
    *copy = made;
    return TAMIS_OK;
failed:
    tamis_names_free(made);
    return status;
}

void ml_names_truncate(tamis_names *names, int64_t count) {
    if (count >= names->count) return;
    names->bytes_used = names->starts[count];
    names->count = count;
    memset(names->slots, 0, (size_t)names->slot_count * sizeof(slot));
    place_all(names, names->slots, names->slot_count);
}

/* ---- vocabularies */

static bool is_empty_to_the_end(const tamis_bounded_text *text, const char *p) {
    while (p < text->end && (tamis_is_blank(*p) || *p == '\n')) p++;
    return p == text->end;
}

/* Reads a vocabulary: a name per line; only the last lines may be empty. */
static tamis_status take_vocabulary(const tamis_bounded_text *text, tamis_names *names) {
    for (const char *line = text->begin, *next; line < text->end; line = next) {
        next = tamis_next_line(text, line);
        const char *end = next;
        if (end > line && end[-1] == '\n') end--;
        if (end > line && end[-1] == '\r') end--;
        if (tamis_skip_blanks(line) >= end) {
            if (is_empty_to_the_end(text, line)) return TAMIS_OK;
            return tamis_text_fail(text, end, "a name");
        }
        const char *const zero = memchr(line, '\0', (size_t)(end - line));
        if (zero) return tamis_text_fail(text, zero, "a name without zero bytes");
        const int64_t count = names->count;
        int64_t index;
        TRY(tamis_names_add(names, line, (size_t)(end - line), &index));
        if (index < count)
            return tamis_text_fail(text, line, "a new name, not that of line %lld", (long long)index + 1);
    }
    return TAMIS_OK;
}

tamis_status tamis_names_read(const char *path, tamis_names **names) {
    tamis_clear_error();
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path = NULL: expected the name of a file");
    if (!names) return tamis_fail(TAMIS_ERROR_ARGUMENT, "names = NULL: expected an address for the dictionary");
    tamis_status status = TAMIS_OK;
    tamis_input input = {0};
    tamis_names *made = NULL;
    TRY_GOTO(end, tamis_input_open(path, &(tamis_progress){.high = 1}, &input));
    TRY_GOTO(end, tamis_names_create(&made));
    TRY_GOTO(end, take_vocabulary(&input.text, made));
end:
    tamis_input_close(&input);
    if (status == TAMIS_OK)
        *names = made;
    else
        tamis_names_free(made);
    return status;
}
