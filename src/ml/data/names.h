/* Internal functions of name dictionaries, for the readers of ratings. */
#ifndef TAMIS_ML_NAMES_H
#define TAMIS_ML_NAMES_H

#include <tamis/data.h>

/* Removes the names from index `count` on, to roll back after a file that proved invalid. */
void ml_names_truncate(tamis_names *names, int64_t count);

#endif
