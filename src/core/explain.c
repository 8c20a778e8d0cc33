/* Explains a plan, as text and as fields. */
#include <math.h>
#include <stdio.h>

#include "base/sizes.h"
#include "base/status.h"
#include "base/text_buffer.h"
#include "core/plan.h"
#include "select/rates.h"

/* The number of calls after which the measured set-up pays off against the best algorithm without one; -1: never. */
static int64_t break_even(const tamis_plan *plan, const tamis_choice *choice) {
    /* unprepared_seconds is measured if this plan has measured */
    const bool measured = choice->chosen_by == TAMIS_CHOSEN_MEASURED;
    const double call = measured ? choice->measured_seconds : choice->prediction.call_seconds;
    const double gain = choice->unprepared_seconds - call;
    if (!choice->algorithm->needs_preparation || choice->unprepared_seconds == 0) return 0;
    return gain > 0 ? (int64_t)ceil(plan->setup_seconds / gain) : -1;
}

/* Lists the measurements of this plan or of a remembered one. */
static void add_measured(tamis_text_buffer *t, const tamis_choice *choice) {
    if (choice->chosen_by == TAMIS_CHOSEN_REMEMBERED)
        tamis_text_add(t, "measured     by an earlier plan: %.3g ms a call\n", choice->measured_seconds * 1e3);
    if (choice->chosen_by != TAMIS_CHOSEN_MEASURED) return;
    tamis_text_add(t, "measured     in ");
    if (choice->measuring_seconds > 0)
        tamis_text_add(t, "%.3g ms, with %lld bytes of operands and scratch:", choice->measuring_seconds * 1e3,
                       (long long)choice->measuring_bytes);
    else
        tamis_text_add(t, "the first %d executions:", TAMIS_TURNS);
    const char *comma = "";
    for (int i = 0; i < choice->candidate_count; i++) {
        if (!(choice->candidates[i].measured_seconds > 0)) continue;
        tamis_text_add(t, "%s %s %.3g ms", comma, choice->candidates[i].algorithm->description.name,
                       choice->candidates[i].measured_seconds * 1e3);
        comma = ",";
    }
    tamis_text_add(t, " a call\n");
}

static void add_trial(tamis_text_buffer *t, int left) {
    if (left > 0)
        tamis_text_add(t,
                       "trial        the next %d execution%s that run%s alone take turns between it and the second "
                       "best; the faster one stays\n",
                       left, left == 1 ? "" : "s", left == 1 ? "s" : "");
}

/* How sure a predicted choice is, by the records that the rates were fitted to; 0: not known. */
static double sure_of(const tamis_plan *plan, const tamis_choice *choice) {
    if (choice->chosen_by != TAMIS_CHOSEN_PREDICTED || choice->lead == 0) return 0;
    return plan->evidence.rates[plan->device->backend->rates->sure + tamis_lead_of(choice->lead)];
}

static void add_rates(tamis_text_buffer *t, const tamis_plan *plan, const tamis_choice *choice) {
    const double sure = sure_of(plan, choice);
    if (sure > 0)
        tamis_text_add(
            t,
            "sure         with the second best so near, the choice was within 1.10 of the fastest in %.0f %% "
            "of the cases that the rates were fitted to\n",
            100 * sure);
    tamis_text_add(t, "rates        ");
    tamis_rates_say(t, &plan->evidence.rates_source);
    tamis_text_add(t, "\n");
}

static void staged(tamis_text_buffer *t, const char *name, bool is_staged) {
    if (is_staged)
        tamis_text_add(t, "             %s is column-major: every execution transposes it through the workspace\n",
                       name);
}

tamis_status tamis_plan_explain(const tamis_plan *plan, char *out, size_t bytes, size_t *needed) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_plan_create");
    if (!out && bytes > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "text = NULL, but bytes = %zu", bytes);
    const tamis_options *const o = &plan->options;
    const tamis_profile *const profile = &plan->evidence.profile;
    const tamis_turns_state now = tamis_plan_now(plan);
    const tamis_choice *const choice = now.choice;
    const tamis_prepared_sizes *const sizes = now.sizes;
    tamis_text_buffer t = {out, bytes, 0};
    tamis_text_add(&t, "operation    %s", tamis_operation_name(o->operation));
    if (o->operation != TAMIS_OP_SPMM)
        tamis_text_add(&t, ", edge %s, K = %lld", plan->edge_text ? plan->edge_text->text : tamis_edge_name(o->edge),
                       (long long)o->inner);
    if (o->operation != TAMIS_OP_SDDMM) tamis_text_add(&t, ", L = %lld", (long long)o->width);
    if (o->d_is_b) tamis_text_add(&t, ", D is B");
    tamis_text_add(&t, ", %s", tamis_type_name(o->type));
    if (o->batch > 1) tamis_text_add(&t, ", batch of %lld", (long long)o->batch);
    tamis_text_add(
        &t,
        "\nmatrix       %lld x %lld, %lld nonzeros, %.3g a row (longest %lld, variation %.2f, %lld empty), density %.2g %%\n",
        (long long)profile->rows, (long long)profile->cols, (long long)profile->nnz, profile->mean,
        (long long)profile->max, profile->variation, (long long)profile->empty_rows, 100 * profile->density);
    tamis_text_add(&t, "device       %s, %s, %d thread%s%s\n", plan->device->description.name,
                   plan->device->description.instruction_set, o->threads, o->threads == 1 ? "" : "s",
                   plan->evidence.ceilings.measured ? "" : " (built-in ceilings: no probe has run)");
    tamis_text_add(&t, "algorithm    %s (%s)%s%s%s\n", choice->algorithm->description.name,
                   choice->algorithm->description.source, sizes->parameters[0] ? ", " : "", sizes->parameters,
                   sizes->math == TAMIS_MATH_TF32 ? ", inputs rounded to TF32" : "");
    tamis_text_add(&t, "why          %s\n", choice->reason);
    tamis_text_add(&t, "predicted    %.3g ms a call\n", choice->prediction.call_seconds * 1e3);
    add_rates(&t, plan, choice);
    add_measured(&t, choice);
    add_trial(&t, now.left);
    tamis_text_add(&t, "set-up       %.3g ms, and %.3g ms to check S; ", plan->setup_seconds * 1e3,
                   plan->check_seconds * 1e3);
    const int64_t calls = break_even(plan, choice);
    if (!choice->algorithm->needs_preparation)
        tamis_text_add(&t, "nothing is prepared beyond the split between threads\n");
    else if (calls < 0)
        tamis_text_add(&t, "it is not predicted to pay off: the best without preparation takes %.3g ms\n",
                       choice->unprepared_seconds * 1e3);
    else
        tamis_text_add(&t, "preparing pays off from call %lld on\n", (long long)(calls < 1 ? 1 : calls));
    tamis_text_add(&t, "memory       %zu bytes of workspace, %zu bytes prepared\n", plan->workspace_bytes,
                   sizes->prepared_bytes);
    if (plan->unlisted)
        tamis_text_add(&t, "             the mask's columns are not listed: cells come from its runs\n");
    if (plan->columns)
        tamis_text_add(&t, "             the mask's columns are listed for this plan: %zu bytes\n",
                       tamis_bytes(profile->nnz, tamis_index_size(plan->problem.index_type)));
    staged(&t, "A", !plan->order.rows && plan->staging.a.at >= 0);
    staged(&t, "B", plan->staging.b.at >= 0);
    staged(&t, "D", plan->staging.d.at >= 0);
    staged(&t, "the output", plan->staging.out.at >= 0);
    if (plan->order.permutation)
        tamis_text_add(&t,
                       "             S is COO and not in row order: values and samples pass through a permutation\n");
    if (plan->order.rows)
        tamis_text_add(&t, "             most rows have no entries: every execution gathers A's other rows (%lld)\n",
                       (long long)plan->problem.rows);
    for (int i = 0; i < choice->declined_count; i++)
        tamis_text_add(&t, "%-12s %s: %s\n", i == 0 ? "declined" : "", choice->declined[i].algorithm->description.name,
                       choice->declined[i].reason);
    if (needed) *needed = t.used + 1;
    return TAMIS_OK;
}

tamis_status tamis_plan_describe(const tamis_plan *plan, tamis_plan_report *report) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_plan_create");
    if (!report) return tamis_fail(TAMIS_ERROR_ARGUMENT, "report = NULL: expected an address for the result");
    const tamis_turns_state now = tamis_plan_now(plan);
    const tamis_choice *const choice = now.choice;
    const tamis_prepared_sizes *const sizes = now.sizes;
    *report = (tamis_plan_report){
        .algorithm = choice->algorithm->description.name,
        .reason = choice->reason,
        .parameters = sizes->parameters,
        .instruction_set = plan->device->description.instruction_set,
        .threads = plan->options.threads,
        .check_seconds = plan->check_seconds,
        .setup_seconds = plan->setup_seconds,
        .predicted_seconds = choice->prediction.call_seconds,
        .break_even_calls = break_even(plan, choice),
        .workspace_bytes = plan->workspace_bytes,
        .prepared_bytes = sizes->prepared_bytes,
        .declined = choice->declined_count,
        .math = sizes->math,
        .chosen_by = choice->chosen_by,
        .measured_seconds = choice->measured_seconds,
        .measuring_seconds = choice->measuring_seconds,
        .candidates = choice->candidate_count,
        .trial = now.left,
        .lead = choice->lead,
        .sure = sure_of(plan, choice),
    };
    return TAMIS_OK;
}

tamis_status tamis_plan_declined(const tamis_plan *plan, int number, const char **algorithm, const char **reason) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_plan_create");
    const tamis_choice *const choice = tamis_plan_now(plan).choice;
    if (number < 0 || number >= choice->declined_count)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "number = %d is not in 0 .. %d", number, choice->declined_count - 1);
    if (algorithm) *algorithm = choice->declined[number].algorithm->description.name;
    if (reason) *reason = choice->declined[number].reason;
    return TAMIS_OK;
}

tamis_status tamis_plan_candidate(const tamis_plan *plan, int number, const char **algorithm, double *predicted_seconds,
                                  double *measured_seconds) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_plan_create");
    const tamis_choice *const choice = tamis_plan_now(plan).choice;
    if (number < 0 || number >= choice->candidate_count)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "number = %d is not in 0 .. %d", number, choice->candidate_count - 1);
    const tamis_candidate *const candidate = &choice->candidates[number];
    if (algorithm) *algorithm = candidate->algorithm->description.name;
    if (predicted_seconds) *predicted_seconds = candidate->prediction.call_seconds;
    if (measured_seconds) *measured_seconds = candidate->measured_seconds;
    return TAMIS_OK;
}
