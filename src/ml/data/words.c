/* See words.h. */
#include "ml/data/words.h"

#include <stddef.h>

#include "ml/data/unicode_table.h"

#define COUNT(of) (sizeof(of) / sizeof *(of))

int ml_utf8_take(const char *at, const char *end, uint32_t *point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* by bytes */
    const unsigned char *const bytes = (const unsigned char *)at, first = bytes[0];
    const int size = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (size == 0 || end - at < size) return 0;
    *point = size == 1 ? first : first & (0x7Fu >> size);
    for (int i = 1; i < size; i++) {
        if (bytes[i] >> 6 != 2) return 0;
        *point = *point << 6 | (bytes[i] & 0x3Fu);
    }
    return *point < least[size] || *point > 0x10FFFF || (*point >= 0xD800 && *point < 0xE000) ? 0 : size;
}

int ml_utf8_put(uint32_t point, char *to) {
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    const int size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (int i = size - 1; i > 0; i--, point >>= 6) to[i] = (char)(0x80 | (point & 0x3F));
    to[0] = (char)(0xF00 >> size | point);
    return size;
}

/* Returns true if a range has the character. */
static bool is_in(const unicode_range *ranges, size_t count, uint32_t point) {
    size_t low = 0;
    for (size_t high = count; low < high;) {
        const size_t middle = (low + high) / 2;
        if (ranges[middle].last < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= point;
}

ml_character ml_character_of(uint32_t point) {
    if (point < 0x80) {
        const bool letter = (point | 0x20) >= 'a' && (point | 0x20) <= 'z';
        return letter ? ML_LETTER : point >= '0' && point <= '9' ? ML_WITHIN : ML_APART;
    }
    if (is_in(unicode_letters, COUNT(unicode_letters), point)) return ML_LETTER;
    return is_in(unicode_others, COUNT(unicode_others), point) ? ML_WITHIN : ML_APART;
}

uint32_t ml_folded(uint32_t point) {
    if (point < 0x80) return point >= 'A' && point <= 'Z' ? point + 32 : point;
    size_t low = 0;
    for (size_t high = COUNT(unicode_folds); low < high;) {
        const size_t middle = (low + high) / 2;
        if (unicode_folds[middle].last < point)
            low = middle + 1;
        else
            high = middle;
    }
    const unicode_fold *const fold = &unicode_folds[low];
    if (low == COUNT(unicode_folds) || fold->first > point || (point - fold->first) % fold->step != 0) return point;
    return (uint32_t)((int32_t)point + fold->difference);
}
