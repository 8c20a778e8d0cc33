/*
 * A model in a file. Numbers are little-endian.
 *
 *   0   8 bytes   89 54 41 4d 49 53 0d 0a: told apart from text, and spoilt by what spoils text
 *   8   uint32    version of the format, 1
 *   12  uint32    bytes of the header
 *   16  uint64    bytes of the file
 *   24            the header: lines of key=value, in a fixed order
 *                 the sections, in the order of the header, each from a multiple of 64 on, zeros between: matrices row
 *                 by row; names one after another, each ended by a zero byte
 *                 uint64, from a multiple of 64 on: the checksum of all before it
 *
 * The first sixteen bytes mean the same in every version. Keys are added only with a new version, so an unknown key
 * means damage. Doubles are hexadecimal: exact, and independent of the locale. The file describes the model, not its
 * origin: it has no device, callback or checkpoint path. So the same model gives the same bytes.
 */
#ifndef TAMIS_ML_MODEL_FILE_H
#define TAMIS_ML_MODEL_FILE_H

#include "ml/model.h"

enum {
    ML_FILE_VERSION = 7, /* what is written; 1, without a scale, 2, without an offset of rates, 3, without a lambda by
                            noise, 4, without weights of uses, 5, without beta, and 6, without WARP and counts of words
                            and ratings, are read too */
    ML_FILE_PREAMBLE = 24,
    ML_FILE_ALIGNMENT = 64,
    ML_FILE_HEADER_MOST = 8192, /* a full header has less than half of this */
    ML_FILE_SECTIONS = 2 + ML_STATES + 2
};

extern const unsigned char ml_file_magic[8];

/* ---------------------------------------------------------------------------------------------- checksum */

/* The checksum of a stream of bytes, independent of how it is cut. Each step is a bijection in the sum and in the word,
   so every single change within an aligned eight-byte word is detected; other changes are missed once in 2^64. */
typedef struct ml_checksum {
    uint64_t sum, word;
    int held; /* bytes in `word` */
} ml_checksum;

ml_checksum ml_checksum_start(void);
void ml_checksum_add(ml_checksum *checksum, const void *data, int64_t bytes);
uint64_t ml_checksum_end(const ml_checksum *checksum);

/* ---------------------------------------------------------------------------------------------- header */

typedef enum ml_section_kind { ML_SECTION_MATRIX = 0, ML_SECTION_NAMES = 1 } ml_section_kind;

/* A section as the header has it. */
typedef struct ml_section {
    int64_t rows, cols; /* for names: their number, and bytes */
    tamis_type type;
    bool present;
    int64_t begin, bytes; /* in the file */
} ml_section;

/* "row_factors", "column_factors", "state0" ..., "row_names", "column_names". */
extern const char *const ml_section_names[ML_FILE_SECTIONS];
static inline ml_section_kind ml_section_kind_of(int section) {
    return section < 2 + ML_STATES ? ML_SECTION_MATRIX : ML_SECTION_NAMES;
}
/* Returns the model's matrix of a section. */
tamis_dense *ml_section_matrix(tamis_model *model, int section);

/* Sets the sections' offsets behind a header of header_bytes bytes. TAMIS_ERROR_OVERFLOW if no file can be that
   large. */
tamis_status ml_sections_place(int64_t header_bytes, ml_section *sections, int64_t *file_bytes);

/* Checks that the model's sizes and the sections are consistent. The message begins with the name of a file or
   model. */
tamis_status ml_sections_check(tamis_status status, const char *path, const tamis_model *model,
                               const ml_section *sections);

#endif
