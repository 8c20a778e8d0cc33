/* A plan of a group. */
#ifndef TAMIS_GROUP_PLAN_H
#define TAMIS_GROUP_PLAN_H

#include "group/cover/cover.h"
#include "group/interior.h"
#include "group/pieces.h"

/* Predicted communication and time of an algorithm on this rank. */
typedef struct tamis_group_scheme {
    const char *name;
    char state[96];          /* "used", or why not */
    int64_t words, messages; /* received; words < 0: not estimated, messages < 0: a bound */
    double seconds;          /* to receive them; 0: not known */
    double efficiency;       /* parallel efficiency: speedup over one rank, divided by the ranks; 0: not known */
} tamis_group_scheme;

enum { TAMIS_GROUP_SCHEMES = 3 };

/* FIRST has all entries that this rank keeps, or only the entries with own columns if GHOST has the rest. GIVEN has the
   entries that it computes for others. With an interior they are its ranges of rows, in the order of interior.h. */
enum { TAMIS_PIECE_FIRST, TAMIS_PIECE_GHOST, TAMIS_PIECE_GIVEN, TAMIS_PIECES };

struct tamis_group_plan {
    tamis_row_exchange exchange;
    tamis_cover cover;
    tamis_options options; /* defaults filled in, layouts as the caller's; its string pointers are not kept */
    bool overlaps;         /* two pieces: the first is computed while ghost rows arrive */
    bool by_rows;          /* it overlaps by an interior, with these ranges */
    tamis_row_range ranges[TAMIS_ROW_RANGES];
    tamis_piece pieces[TAMIS_PIECES];
    int divided;         /* number of ranks that share the device's threads */
    int64_t values_skip; /* offset of the first element in an execution's values, if S was a slice of rows */
    tamis_group_report report;
    tamis_group_scheme schemes[TAMIS_GROUP_SCHEMES];
};

/* Fills plan->schemes from the report. */
void tamis_group_price_schemes(tamis_group_plan *plan);

#endif
