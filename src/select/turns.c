/*
 * One execution at a time counts: it holds `busy`, and nobody else changes what is not atomic. Executions beside it run
 * the predicted algorithm, and spoil its time. Nothing waits: a child process that was forked meanwhile finds `busy`
 * set, and stays with the prediction.
 *
 * An algorithm that lost is released by the execution that decided, unless others may still run it; then by
 * tamis_turns_free. An execution that begins announces itself in `others` before it reads `winner`, and the one that
 * decides sets `winner` before it reads `others`, so one of the two sees the other.
 */
#include "select/turns.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "base/status.h"
#include "select/measure.h"

/*
 * In the 173 recorded cases of two processors with a second algorithm predicted within 1.05 of the first (lab/results),
 * that one was faster in a quarter, and to take the faster of the two saved 2.8 % and 4.7 % in the mean of all of these
 * cases. Beyond 1.05 it saves less than 2 %. A trial executes the second TAMIS_TURNS / 2 times, which costs a call or
 * two in the mean; so it needs some calls to earn that, and a set-up.
 */
static const struct {
    double near, gain;
    int64_t calls_least;
    int spoiled_most;    /* executions whose times overlap, after which the prediction stays */
    size_t scratch_most; /* of the second, if it needs more than the first: bytes */
} rule = {.near = 1.05,
          .gain = 0.03,
          .calls_least = 8 * TAMIS_TURNS,
          .spoiled_most = 4 * TAMIS_TURNS,
          .scratch_most = (size_t)64 << 20};

enum { UNDECIDED = -1 };

struct tamis_turns {
    const tamis_problem *problem;
    tamis_choice choice; /* the one that was decided; not read before `winner` is set */
    tamis_prepared *at[2];
    tamis_prepared_sizes sizes[2], both; /* both: as reported while both are held */
    const tamis_choice *predicted;
    double least[2];
    int spoiled;
    atomic_int winner, done, others;
    atomic_bool busy, met; /* met: another execution ran beside the one that counts */
};

static bool pays_off(const tamis_problem *p, const tamis_choice *choice) {
    const tamis_candidate *const first = &choice->candidates[0], *const second = &choice->candidates[1];
    const int64_t calls = p->evidence->expected_calls;
    if (p->deterministic || p->once || p->backend->location != TAMIS_HOST || p->parameters[0]) return false;
    if (choice->chosen_by != TAMIS_CHOSEN_PREDICTED || choice->candidate_count < 2 || calls < rule.calls_least)
        return false;
    if (p->nnz == 0 || p->inner + p->width == 0) return false;
    const double call = first->prediction.call_seconds;
    return second->total_seconds <= rule.near * first->total_seconds &&
           second->prediction.call_seconds <= rule.near * call &&
           second->prediction.setup_seconds <= rule.gain * (double)(calls - TAMIS_TURNS) * call;
}

/* Enlarges the first one's sizes to serve both; false if that would split batches, or take much memory. */
static bool scratch_serves(tamis_prepared_sizes *sizes, const tamis_prepared_sizes *second, const tamis_problem *p) {
    tamis_prepared_sizes both = *sizes;
    if (second->scratch_bytes > both.scratch_bytes) both.scratch_bytes = second->scratch_bytes;
    both.own_scratch |= second->own_scratch;
    if (both.scratch_bytes > sizes->scratch_bytes && both.scratch_bytes > rule.scratch_most) return false;
    if (tamis_members_at_once(&both, p) != tamis_members_at_once(sizes, p)) return false;
    *sizes = both;
    return true;
}

void tamis_turns_make(const tamis_problem *problem, const tamis_choice *choice, tamis_prepared **prepared,
                      tamis_prepared_sizes *sizes, tamis_turns **turns) {
    tamis_turns *made = NULL;
    *turns = NULL;
    if (!pays_off(problem, choice)) return;
    if (tamis_allocate_zeroed(1, sizeof *made, "a trial", (void **)&made) != TAMIS_OK ||
        problem->backend->prepare(choice->candidates[1].algorithm, problem, &made->at[1]) != TAMIS_OK) {
        tamis_clear_error(); /* the plan works without it */
        tamis_release(made);
        return;
    }
    for (int i = 0; i < 2; i++) problem->backend->sizes(i ? made->at[1] : *prepared, &made->sizes[i]);
    if (!scratch_serves(sizes, &made->sizes[1], problem)) {
        problem->backend->release(made->at[1]);
        tamis_release(made);
        return;
    }
    made->both = made->sizes[0];
    made->both.prepared_bytes += made->sizes[1].prepared_bytes;
    made->problem = problem;
    made->predicted = choice;
    made->at[0] = *prepared;
    made->least[0] = made->least[1] = INFINITY;
    atomic_init(&made->winner, UNDECIDED);
    *prepared = NULL;
    *turns = made;
}

void tamis_turns_free(tamis_turns *turns) {
    if (!turns) return;
    for (int i = 0; i < 2; i++)
        if (turns->at[i]) turns->problem->backend->release(turns->at[i]);
    tamis_release(turns);
}

/* The first algorithm stays unless the other is clearly faster. */
static void decide(tamis_turns *t, bool known) {
    tamis_choice *const choice = &t->choice;
    *choice = *t->predicted;
    const int winner = known && t->least[1] * TAMIS_TIE < t->least[0];
    for (int i = 0; known && i < 2; i++) choice->candidates[i].measured_seconds = t->least[i];
    const size_t used = strlen(choice->reason);
    const locale_t before = tamis_c_locale_enter(); /* as the other texts of the plan, whose making is over */
    if (known)
        tamis_choice_decide(choice, &choice->candidates[winner], "in the plan's first executions, which tried both");
    else
        snprintf(choice->reason + used, sizeof choice->reason - used,
                 "; executions ran side by side, so a trial of both found nothing");
    tamis_c_locale_leave(before);
    atomic_store(&t->winner, winner);
    if (atomic_load(&t->others) > 0) return;
    t->problem->backend->release(t->at[1 - winner]);
    t->at[1 - winner] = NULL;
}

tamis_turn tamis_turns_begin(tamis_turns *t) {
    int winner = atomic_load_explicit(&t->winner, memory_order_acquire);
    if (winner != UNDECIDED) return (tamis_turn){.prepared = t->at[winner], .place = winner};
    if (!atomic_exchange(&t->busy, true)) {
        winner = atomic_load(&t->winner);
        if (winner == UNDECIDED) {
            const int place = atomic_load(&t->done) / TAMIS_TURN % 2;
            atomic_store(&t->met, false);
            if (atomic_load(&t->others) > 0) atomic_store(&t->met, true);
            return (tamis_turn){.prepared = t->at[place], .place = place, .counts = true};
        }
        atomic_store(&t->busy, false);
        return (tamis_turn){.prepared = t->at[winner], .place = winner};
    }
    atomic_fetch_add(&t->others, 1);
    atomic_store(&t->met, true);
    winner = atomic_load(&t->winner);
    if (winner == UNDECIDED) return (tamis_turn){.prepared = t->at[0], .overlaps = true};
    atomic_fetch_sub(&t->others, 1);
    return (tamis_turn){.prepared = t->at[winner], .place = winner};
}

void tamis_turns_end(tamis_turns *t, const tamis_turn *turn, double seconds) {
    if (turn->overlaps) atomic_fetch_sub(&t->others, 1);
    if (!turn->counts) return;
    const int done = atomic_load(&t->done);
    const bool alone = !atomic_load(&t->met);
    if (seconds > 0 && !alone && ++t->spoiled == rule.spoiled_most) {
        decide(t, false);
    } else if (seconds > 0 && alone) {
        /* the first one in a row finds the caches as the other algorithm left them */
        if (done % TAMIS_TURN != 0) t->least[turn->place] = fmin(t->least[turn->place], seconds);
        if (done + 1 == TAMIS_TURNS)
            decide(t, true);
        else
            atomic_store(&t->done, done + 1);
    }
    atomic_store(&t->busy, false);
}

tamis_turns_state tamis_turns_now(const tamis_turns *t) {
    const int winner = atomic_load_explicit(&t->winner, memory_order_acquire);
    if (winner == UNDECIDED) return (tamis_turns_state){t->predicted, &t->both, TAMIS_TURNS - atomic_load(&t->done)};
    return (tamis_turns_state){&t->choice, &t->sizes[winner], 0};
}
