/* Public API of timings, and of the fit of a device's predictions to them. */
#include <tamis/ceilings.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "base/status.h"
#include "core/plan.h"
#include "select/ceilings.h"
#include "select/device_key.h"
#include "select/fit.h"
#include "select/rates.h"

struct tamis_timings {
    tamis_device *device;
    tamis_timing_list list;
    char key[TAMIS_DEVICE_KEY]; /* of the machine that they were made on */
    double rates[TAMIS_RATES_MOST];
    bool fitted;
};

static tamis_status check(const tamis_timings *timings) {
    tamis_clear_error();
    return timings ? TAMIS_OK : tamis_fail(TAMIS_ERROR_ARGUMENT, "timings = NULL: make them with tamis_timings_create");
}

/* Equal GPUs have one key. */
static void make_key(const tamis_device *device, char key[TAMIS_DEVICE_KEY]) {
    if (!tamis_device_key(device->backend, device->number, device->description.threads, key)) key[0] = 0;
    tamis_device_key_of_chip(key);
}

/* Timings of two machines have no rates in common. */
static tamis_status check_machine(const tamis_timings *timings) {
    char key[TAMIS_DEVICE_KEY];
    make_key(timings->device, key);
    if (strcmp(key, timings->key) == 0) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "the timings are another machine's (%s): its rates can be exported only",
                      timings->key);
}

tamis_status tamis_timings_create(tamis_device *device, tamis_timings **timings) {
    tamis_timings *made = NULL;
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!timings) return tamis_fail(TAMIS_ERROR_ARGUMENT, "timings = NULL: expected an address for the result");
    *timings = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *made, "timings", (void **)&made));
    made->device = device;
    made->list.backend = device->backend;
    made->list.device = device->handle;
    make_key(device, made->key);
    *timings = made;
    return TAMIS_OK;
}

void tamis_timings_destroy(tamis_timings *timings) {
    if (!timings) return;
    tamis_timing_list_clear(&timings->list);
    tamis_release(timings);
}

tamis_status tamis_timings_add(tamis_timings *timings, const char *label, const tamis_plan *plan, double seconds) {
    TRY(check(timings));
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: expected the plan that was timed");
    if (!label || !*label || *label == ' ' || strlen(label) >= TAMIS_TIMING_LABEL || strpbrk(label, "\r\n\t"))
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "label: expected one line of at most %d characters that names the problem",
                          TAMIS_TIMING_LABEL - 1);
    TRY(check_machine(timings));
    if (plan->device->backend != timings->device->backend || plan->device->number != timings->device->number)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan: it was made on another device than the timings");
    if (!(seconds > 0 && isfinite(seconds)))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "seconds = %g: expected the time of an execution", seconds);
    const bool on_host = plan->device->backend->location == TAMIS_HOST; /* GPUs compile meanwhile */
    const tamis_timing timing = {.algorithm = tamis_plan_now(plan).choice->algorithm,
                                 .seconds = seconds / (double)plan->problem.batch, /* predictions are a member's */
                                 .setup_seconds = on_host ? plan->setup_seconds : 0};
    if (plan->problem.edge_constants.text || plan->problem.nnz == 0) return TAMIS_OK; /* predictions know no texts */
    return tamis_timing_list_add(&timings->list, label, &plan->problem, &timing);
}

bool tamis_timings_are_own(const tamis_timings *timings) {
    const bool own = timings && check_machine(timings) == TAMIS_OK;
    tamis_clear_error();
    return own;
}

bool tamis_timings_has(const tamis_timings *timings, const char *label) {
    return timings && label && tamis_timing_list_find(&timings->list, label) != NULL;
}

/* Copies what `write` writes to a file in memory into the caller's text. */
static tamis_status write_text(const tamis_timings *timings, void (*write)(const tamis_timings *timings, FILE *file),
                               char *text, size_t bytes, size_t *needed) {
    char *all = NULL;
    size_t length = 0;
    if (bytes > 0 && !text) return tamis_fail(TAMIS_ERROR_ARGUMENT, "text = NULL, but bytes = %zu", bytes);
    FILE *const file = open_memstream(&all, &length);
    if (!file) return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for a text");
    const locale_t before = tamis_c_locale_enter();
    write(timings, file);
    tamis_c_locale_leave(before);
    if (fclose(file) != 0) {
        free(all);
        return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for a text");
    }
    if (bytes > 0) snprintf(text, bytes, "%s", all);
    if (needed) *needed = length + 1;
    free(all);
    return TAMIS_OK;
}

static void write_list(const tamis_timings *timings, FILE *file) {
    tamis_timing_list_write(&timings->list, timings->key, file);
}

static void write_rates(const tamis_timings *timings, FILE *file) {
    fprintf(file, "/* Fitted to %lld cases of %s. */\n", (long long)timings->list.count, timings->key);
    tamis_rates_write(file, timings->list.backend->rates, timings->rates);
}

tamis_status tamis_timings_write(const tamis_timings *timings, char *text, size_t bytes, size_t *needed) {
    TRY(check(timings));
    return write_text(timings, write_list, text, bytes, needed);
}

tamis_status tamis_timings_read(tamis_timings *timings, const char *text, const char *name) {
    TRY(check(timings));
    if (!text || !*text) return tamis_fail(TAMIS_ERROR_ARGUMENT, "text: expected what tamis_timings_write wrote");
    FILE *const file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    if (!file) return tamis_fail(TAMIS_ERROR_MEMORY, "no memory to read a text");
    const locale_t before = tamis_c_locale_enter();
    const tamis_status status = tamis_timing_list_read(&timings->list, file, name ? name : "the timings", timings->key);
    tamis_c_locale_leave(before);
    fclose(file);
    return status;
}

static tamis_choices_judged judged(const tamis_regret *regret) {
    const double cases = fmax(1, (double)regret->cases);
    return (tamis_choices_judged){.cases = regret->cases,
                                  .mean = exp(regret->logs / cases),
                                  .within = (double)regret->near / cases,
                                  .most = regret->most,
                                  .error = sqrt(regret->squares / fmax(1, (double)regret->timings))};
}

tamis_status tamis_timings_fit(tamis_timings *timings, tamis_fit *fit) {
    TRY(check(timings));
    if (!fit) return tamis_fail(TAMIS_ERROR_ARGUMENT, "fit = NULL: expected an address for the result");
    const tamis_device *const device = timings->device;
    tamis_timing_list *const list = &timings->list;
    tamis_ceilings ceilings;
    tamis_regret crossed;
    tamis_rates_source source;
    double before[TAMIS_RATES_MOST];
    *fit = (tamis_fit){.rates = 0};
    tamis_ceilings_get(device->backend, device->number, device->description.threads, TAMIS_PROBE_NEVER, &ceilings,
                       before, &source);
    timings->fitted = false;
    tamis_rates_built_in(device->backend, device->number, timings->rates); /* which have not seen these timings */
    const tamis_regret old = tamis_rates_judge(list, before);
    TRY(tamis_rates_cross(list, timings->rates, &crossed));
    TRY(tamis_rates_fit(list, timings->rates, &fit->rates));
    tamis_rates_note(list->backend->rates, &crossed, timings->rates);
    const tamis_regret now = tamis_rates_judge(list, timings->rates);
    fit->before = judged(&old);
    fit->crossed = judged(&crossed);
    fit->after = judged(&now);
    timings->fitted = true;
    return TAMIS_OK;
}

static tamis_status check_fitted(const tamis_timings *timings) {
    TRY(check(timings));
    return timings->fitted ? TAMIS_OK : tamis_fail(TAMIS_ERROR_ARGUMENT, "timings: call tamis_timings_fit before");
}

tamis_status tamis_timings_keep(const tamis_timings *timings) {
    TRY(check_fitted(timings));
    TRY(check_machine(timings));
    const tamis_device *const device = timings->device;
    if (!tamis_rates_set(device->backend, device->number, device->description.threads, timings->rates))
        return tamis_fail(TAMIS_ERROR_FILE,
                          "the rates cannot be kept: the cache cannot be written, or has too many devices");
    return TAMIS_OK;
}

tamis_status tamis_timings_export(const tamis_timings *timings, char *text, size_t bytes, size_t *needed) {
    TRY(check_fitted(timings));
    return write_text(timings, write_rates, text, bytes, needed);
}

tamis_status tamis_device_rates(tamis_device *device, char *text, size_t bytes, size_t *needed) {
    tamis_ceilings ceilings;
    tamis_rates_source source;
    double rates[TAMIS_RATES_MOST];
    tamis_text_buffer buffer = {text, bytes, 0};
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!text && bytes > 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "text = NULL, but bytes = %zu", bytes);
    tamis_ceilings_get(device->backend, device->number, device->description.threads, TAMIS_PROBE_NEVER, &ceilings,
                       rates, &source);
    tamis_rates_say(&buffer, &source);
    if (needed) *needed = buffer.used + 1;
    return TAMIS_OK;
}

tamis_status tamis_device_forget_rates(tamis_device *device) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!tamis_rates_set(device->backend, device->number, device->description.threads, NULL))
        return tamis_fail(TAMIS_ERROR_FILE, "the rates of this device cannot be removed from the cache");
    return TAMIS_OK;
}
