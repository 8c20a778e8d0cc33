/*
 * Random subsets by rejection: draws numbers until enough are distinct. Insertion keeps small subsets sorted; larger
 * ones are marked in a bitmap. If the subset has more than half of the numbers, its complement is drawn instead.
 */
#include "generate/subset.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "generate/recipe.h"

enum {
    FEW = 32,      /* numbers kept sorted by insertion */
    DRAWS = 64,    /* random numbers drawn at once */
    SCAN_WORDS = 8 /* words of the bitmap that can be scanned in the time of sorting one number */
};

typedef struct draws {
    uint64_t seed, stream, index;
    int used, size;
    uint64_t bits[DRAWS];
} draws;

static draws draws_start(uint64_t seed, uint64_t stream, int64_t expected) {
    const int size = expected < DRAWS ? (int)(expected + 7) / 8 * 8 : DRAWS;
    draws d;
    d.seed = seed;
    d.stream = stream;
    d.index = 0;
    d.size = d.used = size < 8 ? 8 : size;
    return d;
}

static int64_t draw_below(draws *d, int64_t bound) {
    if (d->used == d->size) {
        tamis_random_fill(d->seed, d->stream, d->index, d->size, d->bits);
        d->index += (uint64_t)d->size;
        d->used = 0;
    }
    return tamis_scale_bits(d->bits[d->used++], bound);
}

tamis_status tamis_subset_room_create(uint64_t seed, int64_t bound, int64_t most, tamis_subset_room *room) {
    *room = (tamis_subset_room){.seed = seed};
    if (most <= FEW) return TAMIS_OK;
    void *marks, *spare;
    TRY(tamis_allocate_zeroed(bound / 64 + 1, sizeof(uint64_t), "marks", &marks));
    room->marks = marks;
    const tamis_status status = tamis_allocate(most, sizeof(int64_t), "numbers to sort", &spare);
    if (status != TAMIS_OK) {
        tamis_subset_room_free(room);
        return status;
    }
    room->spare = spare;
    return TAMIS_OK;
}

void tamis_subset_room_free(tamis_subset_room *room) {
    tamis_release(room->marks);
    tamis_release(room->spare);
    *room = (tamis_subset_room){0};
}

static void choose_few(draws *d, int64_t bound, int64_t count, int64_t *chosen) {
    for (int64_t have = 0; have < count;) {
        const int64_t number = draw_below(d, bound);
        int64_t at = have;
        while (at > 0 && chosen[at - 1] > number) at--;
        if (at > 0 && chosen[at - 1] == number) continue;
        memmove(chosen + at + 1, chosen + at, (size_t)(have - at) * sizeof *chosen);
        chosen[at] = number;
        have++;
    }
}

static void sort_numbers(int64_t *numbers, int64_t *spare, int64_t count, int64_t bound) {
    int64_t *from = numbers, *to = spare;
    for (int shift = 0; shift < 63 && (bound - 1) >> shift; shift += 8) {
        int64_t next[256] = {0};
        for (int64_t i = 0; i < count; i++) next[from[i] >> shift & 0xff]++;
        for (int64_t digit = 0, place = 0; digit < 256; digit++) {
            const int64_t digits = next[digit];
            next[digit] = place;
            place += digits;
        }
        for (int64_t i = 0; i < count; i++) to[next[from[i] >> shift & 0xff]++] = from[i];
        int64_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != numbers) memcpy(numbers, from, (size_t)count * sizeof *numbers);
}

/* Writes the numbers whose bits are set after XOR with `flip`, and clears the bitmap. */
static void scan_marks(uint64_t *marks, int64_t bound, uint64_t flip, int64_t *chosen) {
    for (int64_t word = 0; word * 64 < bound; word++) {
        uint64_t bits = marks[word] ^ flip;
        if (bound - word * 64 < 64) bits &= ((uint64_t)1 << (bound - word * 64)) - 1;
        marks[word] = 0;
        for (; bits; bits &= bits - 1) *chosen++ = word * 64 + __builtin_ctzll(bits);
    }
}

void tamis_draw_subset(const tamis_subset_room *room, uint64_t stream, int64_t bound, int64_t count, int64_t *chosen) {
    const bool complement = count > bound / 2 && count > FEW;
    const int64_t wanted = complement ? bound - count : count;
    draws d = draws_start(room->seed, stream, wanted);
    if (count <= FEW) {
        choose_few(&d, bound, count, chosen);
        return;
    }
    uint64_t *const marks = room->marks;
    for (int64_t have = 0; have < wanted;) {
        const int64_t number = draw_below(&d, bound);
        const uint64_t bit = (uint64_t)1 << (number & 63);
        if (marks[number >> 6] & bit) continue;
        marks[number >> 6] |= bit;
        if (!complement) chosen[have] = number;
        have++;
    }
    if (complement || bound / 64 <= SCAN_WORDS * count) {
        scan_marks(marks, bound, complement ? ~(uint64_t)0 : 0, chosen);
        return;
    }
    for (int64_t i = 0; i < count; i++) marks[chosen[i] >> 6] = 0;
    sort_numbers(chosen, room->spare, count, bound);
}
