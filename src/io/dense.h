/* Readers of dense matrices, by format. */
#ifndef TAMIS_IO_DENSE_H
#define TAMIS_IO_DENSE_H

#include <tamis/matrix.h>

#include "io/text.h"

tamis_status tamis_read_npy(const tamis_text *text, tamis_type type, tamis_owned_dense **array);
tamis_status tamis_read_market_array(const tamis_text *text, tamis_type type, tamis_owned_dense **array);

#endif
