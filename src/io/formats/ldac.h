/* Distinguishes lda-c files from svmlight files. */
#ifndef TAMIS_IO_LDAC_H
#define TAMIS_IO_LDAC_H

#include "io/text/text.h"

/* Returns true if the first number of the line at p equals the number of "id:count" pairs that follow it. */
bool tamis_ldac_count_holds(const tamis_bounded_text *text, const char *p);

#endif
