/* The ceilings on disk: a small text file of one line a number for each machine and number of threads. */
#ifndef TAMIS_SELECT_CEILINGS_FILE_H
#define TAMIS_SELECT_CEILINGS_FILE_H

#include <stdint.h>
#include <tamis/ceilings.h>

enum { TAMIS_CEILING_NUMBERS = 2 * 6 + 6 + 2 * 6, TAMIS_CEILING_KEY = 256 };

/* The ceilings as numbers in the order of the file; rates, but for 12 .. 17, which are sizes of tables. */
void tamis_ceilings_to_numbers(const tamis_ceilings *ceilings, double *numbers);
void tamis_ceilings_from_numbers(const double *numbers, tamis_ceilings *ceilings);

/* False: there are none of this key, or what is there is damaged or of another version. *age: seconds since they were
   written. */
bool tamis_ceilings_load(const char *key, tamis_ceilings *ceilings, double *age);
void tamis_ceilings_save(const char *key, const tamis_ceilings *ceilings);

/* How many files there are; removes them with `remove`. */
int64_t tamis_ceilings_files(bool remove);

#endif
