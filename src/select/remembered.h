/*
 * The tuning cache: the algorithm that a measured plan chose, by a key of the problem and the chip. On disk it is one
 * text file with a line per plan, plans.txt in the cache's folder. It is disabled without such a folder, or if
 * TAMIS_CACHE_BYTES is 0.
 */
#ifndef TAMIS_SELECT_REMEMBERED_H
#define TAMIS_SELECT_REMEMBERED_H

#include <stdbool.h>
#include <stdint.h>

enum { TAMIS_REMEMBERED_KEY = 1024 };

typedef struct tamis_remembered {
    char algorithm[64];
    double seconds; /* of a call, as measured */
    bool doubtful;  /* other processes were running meanwhile, and no second contest had the same winner */
} tamis_remembered;

/* A key is a line of less than TAMIS_REMEMBERED_KEY bytes without tabs. */
bool tamis_remembered_find(const char *key, tamis_remembered *plan);
void tamis_remembered_keep(const char *key, const tamis_remembered *plan);

int64_t tamis_remembered_count(void);
int64_t tamis_remembered_clear(void); /* returns how many there were */

#endif
