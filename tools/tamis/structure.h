/* The structure class of a matrix, by rules that are stated with the answer. */
#ifndef TOOL_STRUCTURE_H
#define TOOL_STRUCTURE_H

#include <tamis/structure.h>
#include <tamis/tamis.h>

#include "json.h"

typedef struct tool_structure {
    const char *name;      /* "banded", "power law", ... */
    char reason[192];      /* the rule that held, with its numbers */
    double run;            /* mean length of runs of consecutive columns */
    double near_share;     /* share of nonzeros within 5 % of the columns from the diagonal */
    double diagonal;       /* share of the diagonal that is stored */
    int64_t histogram[64]; /* rows of length 0, 1, 2-3, 4-7, ... */
    int histogram_bins;
} tool_structure;

/* S is CSR. */
void tool_structure_find(const tamis_sparse *S, const tamis_profile *profile, tool_structure *structure);

/* Its sizes, what rows there are and its class, as members of an object. */
void tool_json_structure(tool_json *json, const tamis_profile *profile, const tool_structure *structure);

/* All rules in the order in which they are tried, one a line. */
extern const char tool_structure_rules[];

#endif
