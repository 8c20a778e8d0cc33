/*
 * Rates: the numbers of a backend's predictions that no probe measures, as seconds of an entry by one method, or the
 * share of a cache that a tile may fill. Each backend keeps them in a structure of doubles (cpu/rates.h, gpu/rates.h);
 * select/fit.h fits them to timings.
 */
#ifndef TAMIS_BACKEND_RATES_H
#define TAMIS_BACKEND_RATES_H

#include <stdbool.h>

enum { TAMIS_RATES_MOST = 96 };

typedef struct tamis_rate_row {
    const char *name;
    int place;  /* of the double within the structure */
    bool fixed; /* it belongs to the profile, but is not fitted */
} tamis_rate_row;

/* The rates of a chip. */
typedef struct tamis_rate_profile {
    const char *chip; /* how the model in a device's description begins */
    const double *rates;
} tamis_rate_profile;

typedef struct tamis_rate_table {
    const tamis_rate_row *rows;
    int count;
    const tamis_rate_profile *profiles; /* the first one serves chips without one */
    int profile_count;
} tamis_rate_table;

#endif
