/* Chooses an algorithm. */
#include "select/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "select/laboratory.h"

/*
 * Candidates are the algorithms whose predicted time, including set-up, is at most this multiple of the smallest; at
 * most the best TAMIS_CANDIDATES_MOST. In the 794 recorded cases with two or more timed algorithms, the fastest
 * was a candidate in all but two (in all but 23 with a factor of 2), and never beyond the fourth.
 */
static const double candidates_within = 3;

static void predict(const tamis_backend *backend, const tamis_problem *problem, const tamis_algorithm *algorithm,
                    tamis_prediction *prediction) {
    prediction->call_seconds = prediction->setup_seconds = 0;
    prediction->reason[0] = 0;
    backend->predict(algorithm, problem, prediction);
}

/* Declines an algorithm. A single call needs no reasons: formatting them would take a noticeable part of its time. */
static void decline(tamis_choice *choice, const tamis_problem *problem, const tamis_algorithm *algorithm,
                    const char *reason) {
    if (problem->once) return;
    if (choice->declined_count == TAMIS_CHOICES_MOST) return;
    tamis_declined *const row = &choice->declined[choice->declined_count++];
    row->algorithm = algorithm;
    snprintf(row->reason, sizeof row->reason, "%s", reason);
}

static tamis_status by_name(const tamis_backend *backend, const tamis_problem *problem, const char *name,
                            tamis_choice *choice) {
    const tamis_algorithm *algorithm;
    const unsigned bit = 1u << problem->operation;
    char names[256] = "", reason[192] = "";
    for (int i = 0; (algorithm = backend->algorithm(i)) != NULL; i++) {
        if (strcmp(algorithm->description.name, name) != 0) {
            const size_t used = strlen(names);
            if (algorithm->description.operations & bit)
                snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", algorithm->description.name);
            decline(choice, problem, algorithm, "another algorithm was requested by name");
            continue;
        }
        if (!(algorithm->description.operations & bit))
            return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "algorithm = \"%s\" does not compute %s", name,
                              tamis_operation_name(problem->operation));
        if (!backend->accepts(algorithm, problem, reason, sizeof reason))
            return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "algorithm = \"%s\" declined: %s", name, reason);
        choice->algorithm = algorithm;
        choice->chosen_by = TAMIS_CHOSEN_NAMED;
        predict(backend, problem, algorithm, &choice->prediction);
        snprintf(choice->reason, sizeof choice->reason, "requested by name; %s", choice->prediction.reason);
    }
    if (!choice->algorithm && tamis_laboratory_has(backend->location, name))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "algorithm = \"%s\" " TAMIS_LABORATORY_MISSING, name);
    if (!choice->algorithm)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "algorithm = \"%s\" does not exist on %s; for %s there are auto, %s",
                          name, backend->name, tamis_operation_name(problem->operation), names);
    return TAMIS_OK;
}

/* Inserts a candidate in order, if it is among the best. */
static void add_candidate(tamis_choice *choice, const tamis_algorithm *algorithm, const tamis_prediction *prediction,
                          double total) {
    int place = choice->candidate_count;
    while (place > 0 && total < choice->candidates[place - 1].total_seconds) place--;
    if (place == TAMIS_CANDIDATES_MOST) return;
    if (choice->candidate_count < TAMIS_CANDIDATES_MOST) choice->candidate_count++;
    for (int i = choice->candidate_count - 1; i > place; i--) choice->candidates[i] = choice->candidates[i - 1];
    choice->candidates[place] =
        (tamis_candidate){.algorithm = algorithm, .prediction = *prediction, .total_seconds = total};
}

/* Drops candidates that are too far behind the best. */
static void drop_candidates(tamis_choice *choice) {
    const double most = candidates_within * choice->candidates[0].total_seconds;
    while (choice->candidate_count > 1 && !(choice->candidates[choice->candidate_count - 1].total_seconds <= most))
        choice->candidate_count--;
}

tamis_status tamis_choose(const tamis_backend *backend, const tamis_problem *problem, const char *name,
                          bool unprepared_only, tamis_choice *choice) {
    const tamis_algorithm *algorithm;
    const unsigned bit = 1u << problem->operation;
    tamis_prediction predictions[TAMIS_CHOICES_MOST];
    bool runs[TAMIS_CHOICES_MOST] = {false};
    const char *first = NULL; /* a constant, or `said` */
    char said[192] = "";
    choice->algorithm = NULL; /* the lists need no initialisation, and are longer than all the rest */
    choice->unprepared_seconds = choice->lead = 0;
    choice->reason[0] = 0;
    choice->declined_count = choice->candidate_count = 0;
    choice->chosen_by = TAMIS_CHOSEN_PREDICTED;
    choice->measured_seconds = choice->measuring_seconds = choice->rival_seconds = 0;
    choice->measuring_bytes = 0;
    if (name && strcmp(name, "auto") != 0) return by_name(backend, problem, name, choice);

    const double calls = (double)problem->evidence->expected_calls;
    double best = INFINITY, second = INFINITY;
    for (int i = 0; i < TAMIS_CHOICES_MOST && (algorithm = backend->algorithm(i)) != NULL; i++) {
        static const char *const others[] = {"it does not compute sddmm", "it does not compute spmm",
                                             "it does not compute fused"};
        char reason[192];
        const char *why = reason;
        reason[0] = 0;
        if (!(algorithm->description.operations & bit)) {
            why = others[problem->operation];
        } else if (algorithm->description.baseline) {
            why = "a baseline, chosen only by name";
        } else if (unprepared_only && algorithm->needs_preparation) {
            why = "it needs preparation; make a plan";
        } else if (backend->accepts(algorithm, problem, reason, sizeof reason)) {
            predict(backend, problem, algorithm, &predictions[i]);
            runs[i] = true;
            const double total = calls * predictions[i].call_seconds + predictions[i].setup_seconds;
            second = fmin(second, fmax(total, best));
            if (total < best || !choice->algorithm) {
                best = total;
                choice->algorithm = algorithm;
                choice->prediction = predictions[i];
            }
            if (!problem->once) add_candidate(choice, algorithm, &predictions[i], total);
            if (!algorithm->needs_preparation &&
                (choice->unprepared_seconds == 0 || predictions[i].call_seconds < choice->unprepared_seconds))
                choice->unprepared_seconds = predictions[i].call_seconds;
        }
        if (runs[i]) continue;
        if (!first) {
            if (why == reason) snprintf(said, sizeof said, "%s", reason);
            first = why == reason ? said : why;
        }
        decline(choice, problem, algorithm, why);
    }
    if (!choice->algorithm)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "no algorithm on %s supports this; the first one says: %s",
                          backend->name, first ? first : "there is none");
    if (problem->once) return TAMIS_OK;
    if (second < INFINITY) choice->lead = second / best;
    drop_candidates(choice);
    for (int i = 0; i < TAMIS_CHOICES_MOST && (algorithm = backend->algorithm(i)) != NULL; i++) {
        char reason[256];
        if (!runs[i] || algorithm == choice->algorithm) continue;
        snprintf(reason, sizeof reason, "predicted %.3g ms a call%s (%s)", predictions[i].call_seconds * 1e3,
                 predictions[i].setup_seconds > 0 ? " plus its set-up" : "", predictions[i].reason);
        decline(choice, problem, algorithm, reason);
    }
    const int used = snprintf(choice->reason, sizeof choice->reason, "smallest predicted time for %lld call%s: %s",
                              (long long)problem->evidence->expected_calls,
                              problem->evidence->expected_calls == 1 ? "" : "s", choice->prediction.reason);
    if (choice->candidate_count > 1)
        snprintf(choice->reason + used, sizeof choice->reason - (size_t)used,
                 "; the second best, %s, would take %.2f times as long",
                 choice->candidates[1].algorithm->description.name, choice->lead);
    return TAMIS_OK;
}

tamis_declined *tamis_choice_declined(tamis_choice *choice, const tamis_algorithm *algorithm) {
    for (int i = 0; i < choice->declined_count; i++)
        if (choice->declined[i].algorithm == algorithm) return &choice->declined[i];
    return NULL;
}

void tamis_choice_replace(tamis_choice *choice, const tamis_algorithm *algorithm, const tamis_prediction *prediction) {
    if (choice->algorithm == algorithm) return;
    tamis_declined *const row = tamis_choice_declined(choice, algorithm);
    if (row) {
        row->algorithm = choice->algorithm;
        snprintf(row->reason, sizeof row->reason, "predicted %.3g ms a call (%s)",
                 choice->prediction.call_seconds * 1e3, choice->prediction.reason);
    }
    choice->algorithm = algorithm;
    choice->prediction = *prediction;
}
