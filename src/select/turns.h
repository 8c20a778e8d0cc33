/*
 * Two algorithms that are predicted to take nearly the same time: a plan's first executions take turns between them,
 * and the faster one stays. Only where sums may come in any order, since the bits of two algorithms differ.
 */
#ifndef TAMIS_SELECT_TURNS_H
#define TAMIS_SELECT_TURNS_H

#include "select/choose.h"

/* Executions of a trial that count: TAMIS_TURNS_ROUNDS times each algorithm TAMIS_TURN in a row. */
enum { TAMIS_TURN = 4, TAMIS_TURNS_ROUNDS = 2, TAMIS_TURNS = 2 * TAMIS_TURNS_ROUNDS * TAMIS_TURN };

typedef struct tamis_turns tamis_turns;

/* The algorithm that an execution runs. */
typedef struct tamis_turn {
    const tamis_prepared *prepared;
    int place;     /* of the algorithm: 0 for the predicted one, 1 for the other */
    bool counts;   /* its time is wanted: tamis_turns_end must be called */
    bool overlaps; /* with one that counts: tamis_turns_end must be called, and its time does not count */
} tamis_turn;

/*
 * Begins a trial if it is predicted to pay off; otherwise *turns is NULL. It prepares the second algorithm, and takes
 * over the first one, which is `prepared` and the choice's. `sizes`: of the first one; grow to serve both, but no trial
 * begins if scratch would grow much, or fewer members of a batch would run at once. The problem
 * and the choice must outlive it.
 */
void tamis_turns_make(const tamis_problem *problem, const tamis_choice *choice, tamis_prepared **prepared,
                      tamis_prepared_sizes *sizes, tamis_turns **turns);
void tamis_turns_free(tamis_turns *turns);

/* Any number of threads may execute at the same time; times count only if they did not. seconds: 0 after an error,
   which counts for nothing. */
tamis_turn tamis_turns_begin(tamis_turns *turns);
void tamis_turns_end(tamis_turns *turns, const tamis_turn *turn, double seconds);

/* A plan's state at one moment. */
typedef struct tamis_turns_state {
    const tamis_choice *choice;        /* the one in force: during a trial, the predicted one */
    const tamis_prepared_sizes *sizes; /* its own, but prepared_bytes of both during a trial */
    int left;                          /* executions of a trial that are to come; 0: it has ended, or there is none */
} tamis_turns_state;

tamis_turns_state tamis_turns_now(const tamis_turns *turns);

#endif
