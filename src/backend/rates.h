/*
 * Rates: the numbers of a backend's predictions that no probe measures, as seconds of an entry by one method, or the
 * share of a cache that a tile may fill. Each backend keeps them in a structure of doubles (cpu/rates.h, gpu/rates.h);
 * select/fit.h fits them to timings.
 */
#ifndef TAMIS_BACKEND_RATES_H
#define TAMIS_BACKEND_RATES_H

#include <stddef.h>

enum { TAMIS_RATES_MOST = 32 };

typedef enum tamis_rate_kind {
    TAMIS_RATE_FITTED = 0,
    TAMIS_RATE_FIXED, /* it belongs to the profile, but is not fitted */
    TAMIS_RATE_FIGURE /* no rate: the fit notes how well the rates choose */
} tamis_rate_kind;

typedef struct tamis_rate_row {
    const char *name;
    int place; /* of the double within the structure */
    tamis_rate_kind kind;
} tamis_rate_row;

/*
 * How sure a choice is: the share of the records whose second best was predicted as far behind, in which the choice
 * took at most 1.10 times as long as the fastest. By how far: up to 1.05 times as long as the best, up to 1.15, to 1.5,
 * and more. 0: too few records.
 */
enum { TAMIS_LEADS = 4 };
static inline int tamis_lead_of(double lead) { return (lead > 1.05) + (lead > 1.15) + (lead > 1.5); }

/* Whose rates predict: a device's own; a site's for it; its chip's, built in; the first profile's, for want of its
   chip's, or since TAMIS_PROBE=0 asks for the same everywhere. */
typedef enum tamis_rates_of {
    TAMIS_RATES_OWN,
    TAMIS_RATES_SITE,
    TAMIS_RATES_CHIP,
    TAMIS_RATES_OTHER_CHIP,
    TAMIS_RATES_EVERYWHERE
} tamis_rates_of;

typedef struct tamis_rates_source {
    tamis_rates_of of;
    const char *chip; /* of the profile; NULL: it is not built in */
} tamis_rates_source;

/* The rates of a chip with the kernels of an instruction set. */
typedef struct tamis_rate_profile {
    const char *chip, *instruction_set; /* how these begin in a device's description */
    const double *rates;
} tamis_rate_profile;

/* Rows of a table: of a double in `structure`, and of its member `sure`. */
#define TAMIS_RATE(structure, name_, kind_)                                                                            \
    { .name = #name_, .place = offsetof(structure, name_) / sizeof(double), .kind = kind_ }
#define TAMIS_SURE(structure)                                                                                          \
    TAMIS_RATE(structure, sure[0], TAMIS_RATE_FIGURE), TAMIS_RATE(structure, sure[1], TAMIS_RATE_FIGURE),              \
        TAMIS_RATE(structure, sure[2], TAMIS_RATE_FIGURE), TAMIS_RATE(structure, sure[3], TAMIS_RATE_FIGURE)

typedef struct tamis_rate_table {
    const tamis_rate_row *rows;
    int count;
    const tamis_rate_profile *profiles; /* the first one serves chips without one */
    int profile_count;
    int sure; /* place of TAMIS_LEADS shares */
} tamis_rate_table;

#endif
