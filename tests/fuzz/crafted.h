/* Models as somebody who knows the format would spoil them, and what a program that serves models does with one. */
#ifndef TAMIS_FUZZ_CRAFTED_H
#define TAMIS_FUZZ_CRAFTED_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/ml.h>

/* Writes a changed model into `to`, of at most `most` bytes: other fields, sizes, numbers, or sections that are missing
   or too many. Lengths and checksum are right. Returns its bytes; 0: `from` is no model, or there is no room. */
size_t fuzz_craft_model(const uint8_t *from, size_t size, uint64_t seed, uint8_t *to, size_t most);

/* Sets the file's length and its checksum in a file of a preamble and 8 bytes or more. */
void fuzz_mend_model(uint8_t *file, size_t size);

/* Each way to use a model: recommends, changes its rows, or fits it again. */
enum { FUZZ_USES = 3 };

/* Uses a model in one of these ways. Calls may fail, with a message. The model is not to be used again. */
void fuzz_use_model(tamis_model *model, int way);

#endif
