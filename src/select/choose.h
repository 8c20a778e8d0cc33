/* Choosing an algorithm: every row of a backend's table accepts, or declines with a reason; the cheapest one wins. */
#ifndef TAMIS_SELECT_CHOOSE_H
#define TAMIS_SELECT_CHOOSE_H

#include "backend/backend.h"

enum { TAMIS_CHOICES_MOST = 48, TAMIS_CANDIDATES_MOST = 5 };

typedef struct tamis_declined {
    const tamis_algorithm *algorithm;
    char reason[256];
} tamis_declined;

typedef struct tamis_candidate {
    const tamis_algorithm *algorithm;
    tamis_prediction prediction;
    double total_seconds;    /* predicted, for all expected calls and the set-up */
    double measured_seconds; /* of a call; 0: not measured */
} tamis_candidate;

typedef struct tamis_choice {
    const tamis_algorithm *algorithm;
    tamis_prediction prediction;
    double lead;               /* predicted time of the second best over the best; 0: it is the only one */
    double unprepared_seconds; /* predicted, for a call of the best one that needs no preparation; 0: there is none */
    char reason[384];
    tamis_chosen_by chosen_by;
    tamis_candidate candidates[TAMIS_CANDIDATES_MOST]; /* the best predicted one first; single calls have none */
    int candidate_count;
    double measured_seconds; /* of a call of the chosen one; 0: never measured */
    double measuring_seconds;
    int64_t measuring_bytes; /* operands and scratch for measuring */
    double rival_seconds;    /* of a call that was timed beside the algorithms; 0: there was none, or not this time */
    tamis_declined declined[TAMIS_CHOICES_MOST];
    int declined_count;
} tamis_choice;

/*
 * `name` NULL or "auto": minimises expected_calls * call + set-up. Otherwise the named algorithm: TAMIS_ERROR_ARGUMENT
 * lists the names if there is none of that name, TAMIS_ERROR_UNSUPPORTED says why it declined. `unprepared_only`
 * (one-shot calls) leaves out algorithms that need preparation.
 */
tamis_status tamis_choose(const tamis_backend *backend, const tamis_problem *problem, const char *name,
                          bool unprepared_only, tamis_choice *choice);

/* The row of an algorithm that was not taken; NULL: none. */
tamis_declined *tamis_choice_declined(tamis_choice *choice, const tamis_algorithm *algorithm);

/* Replaces the chosen algorithm by another one, and lists the old one as declined. */
void tamis_choice_replace(tamis_choice *choice, const tamis_algorithm *algorithm, const tamis_prediction *prediction);

#endif
