/* Words of UTF-8 texts: letters, marks and digits of any script, folded to lower case. */
#ifndef TAMIS_ML_WORDS_H
#define TAMIS_ML_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* Sets *point to the character at `at` and returns its bytes; 0: the bytes are not UTF-8 (also encodings that are
   longer than need be, surrogates, and what is beyond Unicode). at < end. */
int ml_utf8_take(const char *at, const char *end, uint32_t *point);
/* Writes a character as UTF-8 to at most 4 bytes, and returns their number. */
int ml_utf8_put(uint32_t point, char *to);

typedef enum ml_character { ML_APART = 0, ML_LETTER, ML_WITHIN } ml_character; /* WITHIN: marks and digits */
ml_character ml_character_of(uint32_t point);
/* Returns the character after simple case folding. */
uint32_t ml_folded(uint32_t point);
/* Returns true if a character is a word by itself: an ideograph or a syllable. */
static inline bool ml_is_whole_word(uint32_t point) { return point >= 0x2E80; }

#endif
