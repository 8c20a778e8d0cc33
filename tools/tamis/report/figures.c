/* The page's numbers. */
#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"

const char *const tool_operations_order[TOOL_OPERATIONS] = {"sddmm", "spmm", "fused"};
const char *const tool_range_names[TOOL_RANGES] = {"K \u2264 64", "K 65\u2013256", "K > 256"};

int tool_range_of(int64_t k) { return k <= 64 ? 0 : k <= 256 ? 1 : 2; }

bool tool_case_of(const tool_cases *cases, const tool_case *one, int machine, const char *operation) {
    const tool_setting *setting = &cases->setting[one->setting];
    return setting->machine == machine && (!operation || strcmp(setting->operation, operation) == 0);
}

bool tool_is_tied(const tool_measurement *a, const tool_measurement *b) {
    const bool known = isfinite(a->low) && isfinite(a->high) && isfinite(b->low) && isfinite(b->high);
    return known ? a->low <= b->high && b->low <= a->high : fabs(a->median / b->median - 1) < 0.005;
}

void tool_mean_add_pair(tool_mean *mean, const tool_measurement *other, const tool_measurement *ours,
                        const tool_case *at) {
    if (other->disturbed || ours->disturbed) {
        mean->disturbed++;
        return;
    }
    const int wins = mean->wins;
    tool_mean_add(mean, other->median / ours->median, at);
    if (!tool_is_tied(other, ours)) return;
    mean->wins = wins;
    mean->ties++;
}

tool_mean tool_peer_speedup(const tool_cases *cases, int machine, const char *operation, const char *peer) {
    tool_mean mean = {0};
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (!tool_case_of(cases, one, machine, operation) || !one->chosen) continue;
        const tool_measurement *other = peer ? tool_case_peer(one, peer) : one->peer;
        if (other) tool_mean_add_pair(&mean, other, one->chosen, one);
    }
    return mean;
}

tool_mean tool_baseline_speedup(const tool_cases *cases, int machine, const char *operation) {
    tool_mean mean = {0};
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (!tool_case_of(cases, one, machine, operation) || !one->chosen || !one->baseline) continue;
        if (one->baseline == one->chosen || one->baseline->peer) continue;
        tool_mean_add_pair(&mean, one->baseline, one->chosen, one);
    }
    return mean;
}

tool_mean tool_floor_share(const tool_cases *cases, int machine, const char *operation) {
    tool_mean mean = {0};
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (!tool_case_of(cases, one, machine, operation) || !one->chosen || one->chosen->disturbed) continue;
        tool_mean_add(&mean, one->chosen->floor / one->chosen->median, one);
    }
    return mean;
}

static int ours_in(const tool_case *one) {
    int count = 0;
    for (int i = 0; i < one->count; i++) count += tool_is_ours(one->at[i]) && !one->at[i]->parameters;
    return count;
}

tool_mean tool_choice_loss(const tool_cases *cases, int machine, const char *operation) {
    tool_mean mean = {0};
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (!tool_case_of(cases, one, machine, operation) || !one->chosen || !one->chosen->automatic) continue;
        if (!one->fastest || ours_in(one) < 2) continue;
        tool_mean_add_pair(&mean, one->chosen, one->fastest, one);
    }
    return mean;
}

/* ---- the choice for a class */

typedef struct candidate {
    const char *algorithm;
    tool_mean behind;
} candidate;

/* Whether a was measured often enough and is faster than b, or b was not. */
static bool better(const candidate *a, const candidate *b, int cases) {
    const bool often_a = 2 * a->behind.count >= cases, often_b = 2 * b->behind.count >= cases;
    return often_a != often_b ? often_a : tool_mean_get(&a->behind) < tool_mean_get(&b->behind);
}

static void collect(const tool_case *one, candidate **candidates, int *count) {
    for (int j = 0; j < one->count; j++) {
        const tool_measurement *at = one->at[j];
        if (!tool_is_ours(at) || at->parameters) continue;
        int k = 0;
        while (k < *count && (*candidates)[k].algorithm != at->algorithm) k++;
        if (k == *count) {
            *candidates = tool_grow(*candidates, (size_t)*count + 1, sizeof **candidates);
            (*candidates)[(*count)++] = (candidate){.algorithm = at->algorithm};
        }
        tool_mean_add(&(*candidates)[k].behind, at->median / one->fastest->median, one);
    }
}

static bool in_cell(const tool_cases *cases, const tool_case *one, int machine, const char *class_name,
                    const char *operation, int range) {
    return tool_case_of(cases, one, machine, operation) && one->class_name == class_name && one->fastest &&
           tool_range_of(tool_setting_k(&cases->setting[one->setting])) == range;
}

tool_choice tool_choice_find(const tool_cases *cases, int machine, const char *class_name, const char *operation,
                             int range) {
    tool_choice choice = {0};
    candidate *candidates = NULL;
    for (int i = 0; i < cases->count; i++) {
        if (!in_cell(cases, &cases->at[i], machine, class_name, operation, range)) continue;
        collect(&cases->at[i], &candidates, &choice.contestants);
        choice.cases++;
    }
    const candidate *best = candidates, *second = NULL;
    for (int k = 1; k < choice.contestants; k++) {
        if (better(&candidates[k], best, choice.cases)) best = &candidates[k];
    }
    for (int k = 0; k < choice.contestants; k++) {
        if (&candidates[k] != best && (!second || better(&candidates[k], second, choice.cases)))
            second = &candidates[k];
    }
    if (best) {
        choice.algorithm = best->algorithm;
        choice.behind = tool_mean_get(&best->behind);
        if (second && 2 * second->behind.count >= choice.cases &&
            tool_mean_get(&second->behind) < 1.05 * choice.behind) {
            choice.close = second->algorithm;
        }
    }
    tool_mean peers = {0}, baseline = {0};
    const char *peer = NULL, *base = NULL;
    for (int i = 0; i < cases->count && best; i++) {
        const tool_case *one = &cases->at[i];
        if (!in_cell(cases, one, machine, class_name, operation, range)) continue;
        const tool_measurement *at = tool_case_algorithm(one, best->algorithm);
        if (!at) continue;
        if (one->peer) {
            tool_mean_add_pair(&peers, one->peer, at, one);
            peer = !peer || peer == one->peer->algorithm ? one->peer->algorithm : "the best peer";
        }
        if (one->baseline && one->baseline != at) {
            tool_mean_add_pair(&baseline, one->baseline, at, one);
            base = !base || base == one->baseline->algorithm ? one->baseline->algorithm : "the baseline";
        }
    }
    choice.versus = peers.count > 0 ? peers : baseline;
    choice.versus_name = peers.count > 0 ? peer : base;
    free(candidates);
    return choice;
}
