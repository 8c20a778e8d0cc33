/* Files of other programs, which are known by their first bytes. */
#ifndef TAMIS_IO_FOREIGN_H
#define TAMIS_IO_FOREIGN_H

#include "io/text/text.h"

/* Refuses a file whose beginning is that of a foreign format, and says what converts it; TAMIS_OK for what may be one
   of ours. */
tamis_status tamis_refuse_foreign(const tamis_bounded_text *text);

#endif
