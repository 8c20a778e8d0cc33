/* Grouping measurements into cases and settings. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "exit.h"

bool tool_is_ours(const tool_measurement *one) { return !one->peer && strcmp(one->algorithm, "naive") != 0; }

bool tool_same_contestant(const tool_measurement *a, const tool_measurement *b) {
    return a->algorithm == b->algorithm && a->parameters == b->parameters && a->peer == b->peer;
}

tool_word tool_contestant_name(const tool_measurement *one) {
    tool_word word;
    snprintf(word.text, sizeof word.text, "%s%s%s", one->algorithm, one->parameters ? " " : "",
             one->parameters ? one->parameters : "");
    if (strlen(one->algorithm) + (one->parameters ? strlen(one->parameters) + 1 : 0) >= sizeof word.text) {
        memcpy(word.text + sizeof word.text - 4, "...", 4);
    }
    return word;
}

const tool_measurement *tool_case_peer(const tool_case *one, const char *peer) {
    const tool_measurement *best = NULL;
    for (int i = 0; i < one->count; i++) {
        const tool_measurement *at = one->at[i];
        if (!at->peer || at->algorithm != peer) continue;
        if (!best || at->median < best->median) best = at;
    }
    return best;
}

const tool_measurement *tool_case_algorithm(const tool_case *one, const char *algorithm) {
    for (int i = 0; i < one->count; i++) {
        const tool_measurement *at = one->at[i];
        if (!at->peer && at->algorithm == algorithm && !at->parameters) return at;
    }
    return NULL;
}

int tool_cases_peers(const tool_cases *cases, int machine, const char **names, int most) {
    int count = 0;
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (cases->setting[one->setting].machine != machine) continue;
        for (int j = 0; j < one->count; j++) {
            if (!one->at[j]->peer) continue;
            int known = 0;
            while (known < count && names[known] != one->at[j]->algorithm) known++;
            if (known == count && count < most) names[count++] = one->at[j]->algorithm;
        }
    }
    return count;
}

int64_t tool_setting_k(const tool_setting *setting) {
    const bool wide = setting->inner <= 0 || strcmp(setting->operation, "spmm") == 0;
    return wide && setting->width > 0 ? setting->width : setting->inner;
}

tool_word tool_operation_title(const char *operation, const char *edge) {
    tool_word word;
    const char *name = strcmp(operation, "sddmm") == 0   ? "SDDMM"
                       : strcmp(operation, "spmm") == 0  ? "SpMM"
                       : strcmp(operation, "fused") == 0 ? "Fused"
                                                         : operation;
    const bool edged = edge && strcmp(edge, "none") != 0;
    snprintf(word.text, sizeof word.text, "%.20s%s%.16s", name, edged ? " " : "", edged ? edge : "");
    return word;
}

/* ---- cases: what was measured side by side */

static bool same_work(const tool_measurement *a, const tool_measurement *b) {
    return a->operation == b->operation && a->edge == b->edge && a->matrix == b->matrix && a->nnz == b->nnz &&
           a->rows == b->rows && a->inner == b->inner && a->width == b->width && a->batch == b->batch &&
           a->type == b->type && a->device == b->device && a->model == b->model && a->cold == b->cold &&
           a->suite == b->suite;
}

static bool same_run(const tool_measurement *a, const tool_measurement *b) {
    return a->run || b->run ? a->run == b->run : a->file == b->file;
}

typedef struct draft {
    const tool_measurement **at;
    int count;
} draft;

/* A peer may use other threads than the case that it was measured in. */
static bool belongs(const draft *one, const tool_measurement *to) {
    const tool_measurement *first = one->at[0];
    return same_run(first, to) && same_work(first, to) && (first->threads == to->threads || to->peer || first->peer);
}

static void put(draft *one, const tool_measurement *measurement) {
    for (int i = 0; i < one->count; i++) {
        if (!tool_same_contestant(one->at[i], measurement)) continue;
        if (!one->at[i]->automatic || measurement->automatic) one->at[i] = measurement; /* the later one */
        return;
    }
    one->at = tool_grow((void *)one->at, (size_t)one->count + 1, sizeof(const tool_measurement *));
    one->at[one->count++] = measurement;
}

static bool newer(const tool_measurement *a, const tool_measurement *b) {
    if (a->started && b->started && a->started != b->started) return strcmp(a->started, b->started) > 0;
    return a->file > b->file || (a->file == b->file && a->line > b->line);
}

static int draft_cases(const tool_results *results, draft **result, int *superseded) {
    draft *drafts = NULL;
    int count = 0;
    for (int i = 0; i < results->measurements; i++) {
        const tool_measurement *one = &results->measurement[i];
        int at = count - 1; /* most often it is the last one */
        while (at >= 0 && !belongs(&drafts[at], one)) at--;
        if (at < 0) {
            drafts = tool_grow(drafts, (size_t)count + 1, sizeof *drafts);
            drafts[at = count++] = (draft){0};
        }
        put(&drafts[at], one);
    }
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const tool_measurement *one = drafts[i].at[0];
        bool old = false;
        for (int j = 0; j < count && !old; j++) {
            if (i == j || drafts[j].count == 0) continue;
            const tool_measurement *other = drafts[j].at[0];
            old = same_work(one, other) && one->threads == other->threads && !same_run(one, other) && newer(other, one);
        }
        if (old) {
            *superseded += drafts[i].count;
            free((void *)drafts[i].at);
            drafts[i] = (draft){0};
        }
    }
    for (int i = 0; i < count; i++) {
        if (drafts[i].count > 0) drafts[kept++] = drafts[i];
    }
    *result = drafts;
    return kept;
}

/* ---- machines and settings */

static int machine_of(tool_cases *cases, const tool_measurement *one) {
    for (int i = 0; i < cases->machines; i++) {
        if (cases->machine[i].device == one->device && cases->machine[i].model == one->model) return i;
    }
    cases->machine = tool_grow(cases->machine, (size_t)cases->machines + 1, sizeof *cases->machine);
    cases->machine[cases->machines] = (tool_machine){.device = one->device, .model = one->model};
    return cases->machines++;
}

static int64_t threads_of(const draft *one) {
    for (int i = 0; i < one->count; i++) {
        if (!one->at[i]->peer) return one->at[i]->threads;
    }
    return one->at[0]->threads;
}

static int setting_of(tool_cases *cases, const draft *from) {
    const tool_measurement *one = from->at[0];
    const int machine = machine_of(cases, one);
    const int64_t threads = threads_of(from);
    for (int i = 0; i < cases->settings; i++) {
        const tool_setting *s = &cases->setting[i];
        if (s->machine == machine && s->suite == one->suite && s->operation == one->operation && s->edge == one->edge &&
            s->type == one->type && s->inner == one->inner && s->width == one->width && s->batch == one->batch &&
            s->threads == threads && s->cold == one->cold) {
            return i;
        }
    }
    cases->setting = tool_grow(cases->setting, (size_t)cases->settings + 1, sizeof *cases->setting);
    cases->setting[cases->settings] = (tool_setting){
        .machine = machine,
        .suite = one->suite,
        .operation = one->operation,
        .edge = one->edge,
        .type = one->type,
        .inner = one->inner,
        .width = one->width,
        .batch = one->batch,
        .threads = threads,
        .cold = one->cold,
    };
    return cases->settings++;
}

static void fill_case(tool_cases *cases, tool_case *one, const draft *from, int setting) {
    const tool_measurement *first = from->at[0];
    *one = (tool_case){.setting = setting,
                       .matrix = first->matrix,
                       .class_name = tool_results_class(cases->results, first),
                       .group = first->group,
                       .stand_in = first->stand_in,
                       .record = tool_results_matrix(cases->results, first),
                       .count = from->count,
                       .at = from->at};
    if (one->record) one->stand_in |= one->record->stand_in;
    tool_machine *machine = &cases->machine[cases->setting[setting].machine];
    for (int i = 0; i < one->count; i++) {
        const tool_measurement *at = one->at[i];
        if (!machine->run) machine->run = tool_results_run(cases->results, at);
        if (at->baseline && !one->baseline) one->baseline = at;
        if (at->peer && (!one->peer || at->median < one->peer->median)) one->peer = at;
        if (!tool_is_ours(at)) continue;
        if (at->automatic) one->chosen = at;
        if (!at->parameters && (!one->fastest || at->median < one->fastest->median)) one->fastest = at;
    }
    machine->automatic |= one->chosen != NULL;
    if (!one->chosen) one->chosen = one->fastest;
}

static int by_setting(const void *a, const void *b) {
    const tool_case *x = a, *y = b;
    if (x->setting != y->setting) return x->setting < y->setting ? -1 : 1;
    const tool_measurement *p = x->at[0], *q = y->at[0];
    if (p->file != q->file) return p->file < q->file ? -1 : 1;
    return p->line < q->line ? -1 : p->line > q->line;
}

/* What of a setting differs on the page, so that labels must say it. */
static void label_settings(tool_cases *cases) {
    bool types = false, threads = false, machines = cases->machines > 1, suites = false, cold = false;
    const tool_setting *first = cases->setting;
    for (int i = 1; i < cases->settings; i++) {
        const tool_setting *one = &cases->setting[i];
        types |= one->type != first->type;
        suites |= one->suite != first->suite;
        cold |= one->cold != first->cold;
        for (int j = 0; j < i; j++) {
            threads |= one->machine == cases->setting[j].machine && one->threads != cases->setting[j].threads;
        }
    }
    for (int i = 0; i < cases->settings; i++) {
        tool_setting *one = &cases->setting[i];
        tool_text text = {0};
        if (suites && one->suite) tool_text_add(&text, "%s: ", one->suite);
        tool_text_add(&text, "%s", tool_operation_title(one->operation, one->edge).text);
        const int64_t k = tool_setting_k(one);
        tool_text_add(&text, ", K\u00a0=\u00a0%lld", (long long)k);
        if (strcmp(one->operation, "fused") == 0 && one->width > 0 && one->width != k) {
            tool_text_add(&text, " and %lld", (long long)one->width);
        }
        if (one->batch > 1) tool_text_add(&text, ", batch of %lld", (long long)one->batch);
        if (types) tool_text_add(&text, ", %s", one->type);
        if (threads && one->threads > 0) {
            tool_text_add(&text, ", %lld thread%s", (long long)one->threads, one->threads == 1 ? "" : "s");
        }
        if (cold) tool_text_add(&text, one->cold ? ", cold caches" : ", warm caches");
        if (machines) tool_text_add(&text, ", %s", cases->machine[one->machine].device);
        snprintf(one->label, sizeof one->label, "%s", tool_text_get(&text));
        tool_text_free(&text);
    }
}

void tool_cases_build(const tool_results *results, tool_cases *cases) {
    *cases = (tool_cases){.results = results};
    draft *drafts = NULL;
    cases->count = draft_cases(results, &drafts, &cases->superseded);
    cases->at = tool_allocate((size_t)cases->count, sizeof *cases->at);
    for (int i = 0; i < cases->count; i++) {
        const int setting = setting_of(cases, &drafts[i]);
        fill_case(cases, &cases->at[i], &drafts[i], setting);
    }
    free(drafts);
    qsort(cases->at, (size_t)cases->count, sizeof *cases->at, by_setting);
    for (int i = 0; i < cases->count; i++) {
        tool_setting *setting = &cases->setting[cases->at[i].setting];
        if (setting->cases++ == 0) setting->first = i;
    }
    if (cases->settings > 0) label_settings(cases);
}

void tool_cases_free(tool_cases *cases) {
    for (int i = 0; i < cases->count; i++) free((void *)cases->at[i].at);
    free(cases->at);
    free(cases->setting);
    free(cases->machine);
    *cases = (tool_cases){0};
}
