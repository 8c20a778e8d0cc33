/* A plan of a group. */
#ifndef TAMIS_GROUP_PLAN_H
#define TAMIS_GROUP_PLAN_H

#include "group/cover/cover.h"
#include "group/interior.h"
#include "group/pieces.h"

/* What an algorithm would have this rank receive, and take. */
typedef struct tamis_group_scheme {
    const char *name;
    char state[96];          /* "used", or why not */
    int64_t words, messages; /* that this rank receives; words < 0: not priced, messages < 0: a bound */
    double seconds;          /* to receive them; 0: not known */
    double efficiency;       /* of one execution against the same on one rank, over the ranks; 0: not known */
} tamis_group_scheme;

enum { TAMIS_GROUP_SCHEMES = 3 };

/* The first piece has all entries that this rank keeps, or those with own columns where the second has the others; the
   third has what it computes for others. With an interior they are its ranges of rows, in the order of interior.h. */
enum { TAMIS_PIECE_FIRST, TAMIS_PIECE_GHOST, TAMIS_PIECE_GIVEN, TAMIS_PIECES };

struct tamis_group_plan {
    tamis_row_exchange exchange;
    tamis_cover cover;
    tamis_options options; /* defaults filled in; the caller's layouts. Its pointers to strings are not kept */
    bool overlaps;         /* two pieces: the first is computed while the ghost rows are on their way */
    bool by_rows;          /* it overlaps by an interior: */
    tamis_row_range ranges[TAMIS_ROW_RANGES];
    tamis_piece pieces[TAMIS_PIECES];
    int divided;         /* among so many ranks the device's threads have been: one alone has them all */
    int64_t values_skip; /* elements of an execution's values before the first: S was a slice of rows */
    tamis_group_report report;
    tamis_group_scheme schemes[TAMIS_GROUP_SCHEMES];
};

#endif
