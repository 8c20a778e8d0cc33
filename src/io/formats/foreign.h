/* Files of other programs, recognised by their first bytes. */
#ifndef TAMIS_IO_FOREIGN_H
#define TAMIS_IO_FOREIGN_H

#include "io/text/text.h"

/* Refuses a file with a foreign format's signature; the message says what converts it. TAMIS_OK: it may have one of our
   formats. */
tamis_status tamis_refuse_foreign(const tamis_bounded_text *text);

#endif
