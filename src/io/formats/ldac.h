/* What tells lda-c from svmlight. */
#ifndef TAMIS_IO_LDAC_H
#define TAMIS_IO_LDAC_H

#include "io/text/text.h"

/* Whether the first number of the line at p is the number of pairs "id:count" that follow in it. */
bool tamis_ldac_count_holds(const tamis_bounded_text *text, const char *p);

#endif
