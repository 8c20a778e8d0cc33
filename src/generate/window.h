/* Sliding-window attention masks. */
#ifndef TAMIS_GENERATE_WINDOW_H
#define TAMIS_GENERATE_WINDOW_H

#include "generate/rows.h"

extern const tamis_row_kind tamis_row_kind_window;

#endif
