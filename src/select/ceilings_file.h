/* The ceilings on disk: one small text file per machine and number of threads, with one number per line. */
#ifndef TAMIS_SELECT_CEILINGS_FILE_H
#define TAMIS_SELECT_CEILINGS_FILE_H

#include <stdint.h>
#include <tamis/ceilings.h>

enum { TAMIS_CEILING_NUMBERS = 2 * 6 + 6 + 2 * 6 };

/* The ceilings as numbers in the order of the file: rates, except numbers 12 .. 17, which are sizes of tables. */
void tamis_ceilings_to_numbers(const tamis_ceilings *ceilings, double *numbers);
void tamis_ceilings_from_numbers(const double *numbers, tamis_ceilings *ceilings);

/* Reads the file in the cache, else in the folder that TAMIS_CEILINGS names, where a site keeps its machines' ceilings.
   False if there is no file for this key, or if it is damaged or of another version. *tries: number of doubtful
   measurements; *age: seconds since it was written. */
bool tamis_ceilings_load(const char *key, tamis_ceilings *ceilings, int *tries, double *age);
void tamis_ceilings_save(const char *key, const tamis_ceilings *ceilings, int tries);

/* Returns the number of files; with `remove`, removes them. */
int64_t tamis_ceilings_files(bool remove);

#endif
