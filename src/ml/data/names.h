/* What the readers of ratings need of a dictionary beyond its public functions. */
#ifndef TAMIS_ML_NAMES_H
#define TAMIS_ML_NAMES_H

#include <tamis/data.h>

/* Forgets the names from index `count` on, as if they had never been added: after a file that turned out wrong. */
void ml_names_truncate(tamis_names *names, int64_t count);

#endif
