/* Times the candidates of a choice, and remembers the result. */
#include "select/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tamis/version.h>

#include "base/clock.h"
#include "base/load.h"
#include "base/status.h"
#include "base/text_buffer.h"
#include "expression/text.h"
#include "select/device_key.h"
#include "select/laboratory.h"
#include "select/remembered.h"

/*
 * How candidates are timed. Each is executed once, to load its kernels, and once more, to find how many calls fill
 * `round_seconds`, so that the clock's resolution does not matter. Then follow `rounds` rounds, or as many as fit
 * `all_seconds`, but at least `rounds_least`. Each round times every candidate in turn, so that a drift of the clock
 * frequency affects all of them. The minimum counts, since other work can only add time.
 * A candidate is not timed again if one of its calls fills a round and it is `behind` the fastest.
 */
static const struct {
    int rounds, rounds_least, calls_most;
    double round_seconds, all_seconds, behind;
} rule = {.rounds = 7, .rounds_least = 3, .calls_most = 64, .round_seconds = 2e-3, .all_seconds = 0.5, .behind = 1.5};

typedef struct contestant {
    tamis_candidate *candidate;
    tamis_prepared *prepared; /* NULL if it failed, and of the rival */
    const tamis_rival *rival; /* NULL if it failed, and of algorithms */
    double prepare_seconds;
    int calls;
    char why[160]; /* why it failed */
} contestant;

typedef struct contest {
    const tamis_problem *problem;
    tamis_trial trial;
    double executions; /* executions of the trial per execution of the plan */
    const tamis_rival *rival;
    tamis_candidate as_candidate; /* the rival */
    contestant at[TAMIS_CANDIDATES_MOST + 1];
    int count;
} contest;

static bool is_in(const contestant *one) { return one->prepared || one->rival; }

/* ------------------------------------------------------------------------------------------ the key */

/* Quantises a number in steps of about a fifth: numbers within a step are equal. */
static int step(double x) { return x > 0 ? (int)lround(4 * log2(x)) : -1000; }

/*
 * Everything that the times depend on: the chip, its driver and the library's version, the operation and its options,
 * and the pattern. A pattern is identified by its exact sizes, longest row and empty rows, and by its quantised
 * profile. The same pattern always has the same key, whatever its values; another one of the same sizes has the same
 * key only if all predictions see them as equal. expected_calls count in powers of two. False if the key is too long.
 */
static bool make_key(const tamis_problem *p, const tamis_device_description *device, const tamis_rival *rival,
                     char *key) {
    const tamis_evidence *const e = p->evidence;
    const tamis_profile *const f = &e->profile;
    tamis_text_buffer text = {.to = key, .bytes = TAMIS_REMEMBERED_KEY};
    tamis_text_add(&text, "%s|%s|%s|%s|%s|%d x %d", TAMIS_VERSION_STRING, p->backend->name, device->model,
                   device->instruction_set, device->driver, device->multiprocessors, p->threads);
    tamis_text_add(&text, "|%s %s %s %s %s %d %d", tamis_operation_name(p->operation), tamis_edge_name(p->edge),
                   tamis_type_name(p->type), tamis_type_name(p->output_type), tamis_type_name(p->value_type),
                   p->has_values, p->keep_softmax);
    tamis_text_add(&text, "|%lld %lld %lld|%s %s|%s %s|%lld|%d", (long long)p->inner, (long long)p->width,
                   (long long)p->batch, tamis_index_type_name(p->offset_type), tamis_index_type_name(p->index_type),
                   p->math == TAMIS_MATH_TF32 ? "tf32" : "exact", p->deterministic ? "ordered" : "any order",
                   (long long)p->staged_bytes, (int)floor(log2((double)e->expected_calls)));
    tamis_text_add(&text, "|%lld %lld %lld %lld %lld %d", (long long)p->rows, (long long)p->cols, (long long)p->nnz,
                   (long long)f->max, (long long)f->empty_rows, f->sorted);
    tamis_text_add(&text, "|%d %d %d|%d %d %d %d", step(f->variation), step((double)f->bandwidth), step(f->mean_span),
                   step(e->fresh_share), step(e->panel_fresh[0]), step(e->panel_fresh[1]), step(e->row_fresh));
    const int processors = tamis_processors_of(p->backend, p->threads);
    if (processors < p->threads) tamis_text_add(&text, "|on %d processors", processors);
    if (p->d_is_b) tamis_text_add(&text, "|D is B");
    if (p->edge_constants.text) {
        tamis_text_add(&text, "|");
        tamis_program_key(&p->edge_constants.text->value, &text);
    }
    if (rival) tamis_text_add(&text, "|beside %s", rival->name);
    if (!TAMIS_LAB) tamis_text_add(&text, "|no laboratory"); /* another build may have chosen one of its methods */
#ifdef TAMIS_SLOW_KERNELS
    tamis_text_add(&text, "|kernels for tests");
#endif
    if (text.used >= TAMIS_REMEMBERED_KEY) return false;
    for (char *c = key; *c; c++)
        if (*c == '\t' || *c == '\n' || *c == '\r') *c = ' ';
    return true;
}

/* ------------------------------------------------------------------------------------------ reasons */

static void fail_one(contest *c, contestant *one) {
    if (one->prepared) c->problem->backend->release(one->prepared);
    one->prepared = NULL;
    one->rival = NULL;
    one->candidate->measured_seconds = 0;
    snprintf(one->why, sizeof one->why, "%s", tamis_last_error());
}

/* ------------------------------------------------------------------------------------------ the contest */

static tamis_status prepare_all(contest *c, tamis_choice *choice, int *alive) {
    const tamis_problem *const p = c->problem;
    tamis_status last = TAMIS_OK;
    *alive = 0;
    if (c->rival) {
        c->at[c->count++] = (contestant){.candidate = &c->as_candidate, .rival = c->rival};
        ++*alive;
    }
    for (int i = 0; i < choice->candidate_count; i++) {
        contestant *const one = &c->at[c->count++];
        *one = (contestant){.candidate = &choice->candidates[i]};
        const double start = tamis_clock_seconds();
        const tamis_status status = p->backend->prepare(one->candidate->algorithm, p, &one->prepared);
        one->prepare_seconds = tamis_clock_seconds() - start;
        if (status == TAMIS_OK) {
            ++*alive;
        } else {
            one->prepared = NULL;
            last = status;
            fail_one(c, one);
        }
    }
    return *alive ? TAMIS_OK : last;
}

static tamis_status time_one(contest *c, contestant *one, double *seconds) {
    TRY(tamis_trial_time(&c->trial, one->prepared, one->rival, one->calls, seconds));
    *seconds *= c->executions;
    return TAMIS_OK;
}

/* Executes once to load everything, and once to find how many executions fill a round. */
static tamis_status warm_up(contest *c, contestant *one) {
    double seconds;
    one->calls = 1;
    TRY(time_one(c, one, &seconds));
    TRY(time_one(c, one, &seconds));
    one->candidate->measured_seconds = seconds;
    one->calls = (int)fmax(1, fmin(rule.calls_most, rule.round_seconds / fmax(seconds, 1e-9)));
    return TAMIS_OK;
}

/* As tamis_choose counts: all expected calls, and the predicted set-up. The measured set-up is mostly the first
   compilation of kernels, which the next plan does not need. */
static double total_of(const tamis_problem *problem, const tamis_candidate *candidate) {
    return (double)problem->evidence->expected_calls * candidate->measured_seconds +
           candidate->prediction.setup_seconds;
}

static double least_total(const contest *c) {
    double least = INFINITY;
    for (int i = 0; i < c->count; i++)
        if (is_in(&c->at[i]) && c->at[i].candidate->measured_seconds > 0)
            least = fmin(least, total_of(c->problem, c->at[i].candidate));
    return least;
}

/* One round; round 0 warms up. */
static tamis_status time_all(contest *c, int round, int *alive) {
    tamis_status last = TAMIS_OK;
    const double least = least_total(c);
    for (int i = 0; i < c->count; i++) {
        contestant *const one = &c->at[i];
        double seconds = INFINITY;
        if (!is_in(one)) continue;
        if (round > 0 && one->calls == 1 && total_of(c->problem, one->candidate) > rule.behind * least) continue;
        const tamis_status status = round == 0 ? warm_up(c, one) : time_one(c, one, &seconds);
        if (status != TAMIS_OK) {
            last = status;
            fail_one(c, one);
            --*alive;
        } else if (seconds < one->candidate->measured_seconds) {
            one->candidate->measured_seconds = seconds;
        }
    }
    return *alive ? TAMIS_OK : last;
}

static contestant *winner_of(contest *c) {
    const double least = least_total(c);
    for (int i = 0; i < c->count; i++) /* the rival first, and then the best predicted one */
        if (is_in(&c->at[i]) && total_of(c->problem, c->at[i].candidate) <= TAMIS_TIE * least) return &c->at[i];
    return NULL;
}

void tamis_choice_decide(tamis_choice *choice, const tamis_candidate *winner, const char *in) {
    double unprepared = INFINITY;
    tamis_choice_replace(choice, winner->algorithm, &winner->prediction);
    choice->chosen_by = TAMIS_CHOSEN_MEASURED;
    choice->measured_seconds = winner->measured_seconds;
    snprintf(choice->reason, sizeof choice->reason, "smallest measured time %s: %.3g ms a call; %s", in,
             choice->measured_seconds * 1e3, choice->prediction.reason);
    for (int i = 0; i < choice->candidate_count; i++) {
        const tamis_candidate *const one = &choice->candidates[i];
        tamis_declined *const row = tamis_choice_declined(choice, one->algorithm);
        if (!(one->measured_seconds > 0)) continue;
        if (!one->algorithm->needs_preparation) unprepared = fmin(unprepared, one->measured_seconds);
        if (row)
            snprintf(row->reason, sizeof row->reason, "measured %.3g ms a call%s, predicted %.3g",
                     one->measured_seconds * 1e3, one->prediction.setup_seconds > 0 ? " plus its set-up" : "",
                     one->prediction.call_seconds * 1e3);
    }
    if (!isinf(unprepared)) choice->unprepared_seconds = unprepared;
}

static void tell(const contest *c, const contestant *winner, tamis_choice *choice) {
    const long long calls = (long long)c->problem->evidence->expected_calls;
    char in[64];
    snprintf(in, sizeof in, "for %lld call%s of the %d best predicted", calls, calls == 1 ? "" : "s",
             choice->candidate_count);
    choice->rival_seconds = c->as_candidate.measured_seconds;
    if (!winner->rival) tamis_choice_decide(choice, winner->candidate, in);
    for (int i = 0; i < c->count; i++) {
        tamis_declined *const row = tamis_choice_declined(choice, c->at[i].candidate->algorithm);
        if (!is_in(&c->at[i]) && row)
            snprintf(row->reason, sizeof row->reason, "it could not be measured: %s", c->at[i].why);
    }
}

static tamis_status hold(contest *c, tamis_choice *choice, tamis_prepared **prepared) {
    tamis_status status = TAMIS_OK;
    const double start = tamis_clock_seconds();
    /* as many members as a call computes: all members that are staged may need much memory */
    const int64_t members = tamis_members_at_once(&(tamis_prepared_sizes){.scratch_bytes = 0}, c->problem);
    double begin;
    int alive = 0;
    contestant *winner = NULL;
    c->executions = (double)c->problem->batch / (double)members;
    TRY_GOTO(done, tamis_trial_begin(c->problem, members, &c->trial));
    TRY_GOTO(done, prepare_all(c, choice, &alive));
    TRY_GOTO(done, time_all(c, 0, &alive));
    begin = tamis_clock_seconds(); /* all kernels are compiled by now */
    for (int round = 1; round <= rule.rounds; round++) {
        TRY_GOTO(done, time_all(c, round, &alive));
        if (round >= rule.rounds_least && tamis_clock_seconds() - begin > rule.all_seconds) break;
    }
    winner = winner_of(c);
    tell(c, winner, choice);
    *prepared = winner->prepared;
    tamis_clear_error(); /* errors of candidates that failed */
done:
    for (int i = 0; i < c->count; i++)
        if (c->at[i].prepared && &c->at[i] != winner) c->problem->backend->release(c->at[i].prepared);
    choice->measuring_bytes = c->trial.bytes + c->trial.scratch_bytes;
    tamis_trial_end(&c->trial);
    choice->measuring_seconds = tamis_clock_seconds() - start - (winner ? winner->prepare_seconds : 0);
    return status;
}

/* ------------------------------------------------------------------------------------------ choosing */

/* Prepares the remembered algorithm; *prepared is NULL if it cannot be used here. */
static tamis_status take_remembered(const tamis_problem *p, const tamis_remembered *remembered, tamis_choice *choice,
                                    tamis_prepared **prepared) {
    const tamis_remembered plan = *remembered;
    tamis_prediction prediction = {.reason = ""};
    char reason[192];
    const tamis_algorithm *algorithm;
    for (int i = 0; (algorithm = p->backend->algorithm(i)) != NULL; i++)
        if (strcmp(algorithm->description.name, plan.algorithm) == 0) break;
    *prepared = NULL;
    if (!algorithm && tamis_laboratory_has(p->backend->location, plan.algorithm))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "the tuning cache has a plan with algorithm = \"%s\", which " TAMIS_LABORATORY_MISSING
                          ", or clear the cache (tamis_cache_clear)",
                          plan.algorithm);
    if (!algorithm || algorithm->description.baseline || !(algorithm->description.operations & 1u << p->operation) ||
        !p->backend->accepts(algorithm, p, reason, sizeof reason))
        return TAMIS_OK;
    p->backend->predict(algorithm, p, &prediction);
    if (p->backend->prepare(algorithm, p, prepared) != TAMIS_OK) {
        *prepared = NULL;
        tamis_clear_error();
        return TAMIS_OK;
    }
    tamis_choice_replace(choice, algorithm, &prediction);
    choice->chosen_by = TAMIS_CHOSEN_REMEMBERED;
    choice->measured_seconds = plan.seconds;
    snprintf(choice->reason, sizeof choice->reason,
             "remembered: an earlier plan measured %.3g ms a call, the best for such a pattern; %s", plan.seconds * 1e3,
             prediction.reason);
    return TAMIS_OK;
}

tamis_status tamis_choose_measured(const tamis_problem *problem, const tamis_device_description *device,
                                   const tamis_rival *rival, tamis_choice *choice, tamis_prepared **prepared) {
    const tamis_problem *const p = problem;
    const bool empty = p->nnz == 0 || p->inner + p->width == 0;
    char key[TAMIS_REMEMBERED_KEY];
    *prepared = NULL;
    if (choice->candidate_count + (rival != NULL) < 2 || empty) {
        const size_t used = strlen(choice->reason);
        snprintf(choice->reason + used, sizeof choice->reason - used, "; nothing was measured, since %s",
                 empty ? "there is nothing to compute" : "it is the only candidate");
        return p->backend->prepare(choice->algorithm, p, prepared);
    }
    /* the caller's parameters may suit only one algorithm, and a remembered plan has none */
    const bool keeps = p->parameters[0] == 0 && make_key(p, device, rival, key);
    tamis_remembered before = {.seconds = 0};
    const bool known = keeps && tamis_remembered_find(key, &before);
    if (known && !before.doubtful) {
        if (rival && strcmp(before.algorithm, rival->name) == 0) {
            choice->rival_seconds = before.seconds;
            return TAMIS_OK;
        }
        TRY(take_remembered(p, &before, choice, prepared));
        if (*prepared) return TAMIS_OK;
    }
    const tamis_load_point begin = tamis_load_begin();
    contest c = {.problem = p, .trial.problem = p, .rival = rival};
    TRY(hold(&c, choice, prepared));
    if (!keeps) return TAMIS_OK;
    const tamis_load load = tamis_load_since(&begin, p->backend->location == TAMIS_HOST ? p->threads : 0);
    const char *const winner = *prepared ? choice->algorithm->description.name : rival->name;
    tamis_remembered plan = {.seconds = *prepared ? choice->measured_seconds : choice->rival_seconds};
    plan.doubtful = load.disturbed && !(known && strcmp(before.algorithm, winner) == 0);
    if (plan.doubtful) {
        const size_t used = strlen(choice->reason);
        snprintf(choice->reason + used, sizeof choice->reason - used,
                 "; doubtful, and measured again for the next plan: other processes used %.1f processors", load.others);
    }
    snprintf(plan.algorithm, sizeof plan.algorithm, "%s", winner);
    tamis_remembered_keep(key, &plan);
    return TAMIS_OK;
}
