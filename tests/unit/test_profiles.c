/*
 * The profiles that are built in: their records, in lab/results, are fitted again, from rates that are off by a third.
 * The machine of the records need not be there: a case has all that predictions read.
 */
#include "support/test.h"

#include "base/memory.h"
#include "cpu/backend.h"
#include "cpu/rates.h"
#include "gpu/backend.h"
#include "gpu/runtime/runtime.h"
#include "io/files/input.h"
#include "select/fit.h"
#include "select/rates.h"

extern const tamis_gpu_runtime tamis_gpu_cuda;

/* Predictions read these limits of the GPU on which the records were made. */
static tamis_gpu_device h200 = {.limits = {.name = "cuda:0",
                                           .model = "NVIDIA H200",
                                           .architecture = "sm_90",
                                           .has_fp64 = true,
                                           .subgroup = 32,
                                           .multiprocessors = 132,
                                           .group_most = 1024,
                                           .shared_most = 232448,
                                           .threads_most = 2048,
                                           .cache_l1 = 233472,
                                           .cache_l2 = 62914560,
                                           .memory = 150109880320,
                                           .memory_most = 150109880320,
                                           .groups_most = {INT32_MAX, 65535, 65535}}};

static const struct {
    const char *records, *chip, *instruction_set;
    const tamis_backend *backend;
    tamis_gpu_device *device;
    double mean, within, most; /* what `auto` takes over the fastest; share of the cases within 1.10; the worst */
} profiles[] = {{"epyc-2-cores", "AMD EPYC", "", &tamis_cpu_backend, NULL, 1.016, 0.945, 1.4},
                {"xeon-2-cores", "Intel(R) Xeon(R)", "x86-64-v4", &tamis_cpu_backend, NULL, 1.022, 0.915, 1.35},
                {"xeon-16-cores", "Intel(R) Xeon(R)", "x86-64-v3", &tamis_cpu_backend, NULL, 1.01, 0.97, 1.4},
                {"nvidia-h200", "NVIDIA H200", "", &tamis_cuda_backend, &h200, 1.018, 0.935, 2}};

/* Reads the records; every `step`-th case stays. */
static void read_records(const char *folder, int step, tamis_timing_list *list) {
    char path[256], key[TAMIS_DEVICE_KEY];
    tamis_input input;
    snprintf(path, sizeof path, TAMIS_SOURCE_FOLDER "/lab/results/%s/tuning.txt.xz", folder);
    works(tamis_input_open(path, &(tamis_progress){.report = NULL}, &input));
    FILE *const file = fmemopen((void *)(uintptr_t)input.text.begin, (size_t)(input.text.end - input.text.begin), "r");
    assert_non_null(file);
    works(tamis_timing_list_read(list, file, path, key));
    fclose(file);
    tamis_input_close(&input);
    int64_t kept = 0;
    for (int64_t c = 0; c < list->count; c++)
        if (c % step == 0)
            list->cases[kept++] = list->cases[c];
        else
            tamis_release(list->cases[c]);
    list->count = kept;
}

static const double *built_in(const tamis_rate_table *table, const char *chip, const char *instruction_set) {
    for (int i = 0; i < table->profile_count; i++)
        if (strcmp(table->profiles[i].chip, chip) == 0 &&
            strcmp(table->profiles[i].instruction_set, instruction_set) == 0)
            return table->profiles[i].rates;
    fail_msg("no profile of %s", chip);
    return NULL;
}

/* The device of the profile that is asked for: a processor's own model and kernels have longer names. */
static const tamis_rate_profile *asked;
static tamis_status describe_asked(int number, tamis_device_description *description) {
    static char model[64], instruction_set[64];
    (void)number;
    snprintf(model, sizeof model, "%s 1", asked->chip);
    snprintf(instruction_set, sizeof instruction_set, "%s-more", asked->instruction_set);
    *description = (tamis_device_description){.model = model, .instruction_set = instruction_set};
    return TAMIS_OK;
}

TEST(profiles_are_taken_by_chip_and_instruction_set) {
    double rates[TAMIS_RATES_MOST];
    tamis_backend backend = tamis_cpu_backend;
    const tamis_rate_table *const table = backend.rates;
    const tamis_rate_profile other = {"Intel(R) Xeon(R)", "x86-64-v2", NULL};
    backend.describe = describe_asked;
    for (int i = 0; i <= table->profile_count; i++) {
        const bool known = i < table->profile_count;
        asked = known ? &table->profiles[i] : &other;
        const tamis_rates_source source = tamis_rates_built_in(&backend, 0, rates);
        assert_int_equal(source.of, known ? TAMIS_RATES_CHIP : TAMIS_RATES_OTHER_CHIP);
        assert_memory_equal(rates, table->profiles[known ? i : 0].rates, (size_t)table->count * sizeof *rates);
    }
}

static double mean_of(tamis_regret regret) { return exp(regret.logs / (double)regret.cases); }

TEST(profiles_choose_as_their_records_say) {
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        tamis_timing_list list = {.backend = profiles[i].backend, .device = profiles[i].device};
        read_records(profiles[i].records, 1, &list);
        assert_true(list.count >= 150);
        const tamis_regret regret = tamis_rates_judge(
            &list, built_in(profiles[i].backend->rates, profiles[i].chip, profiles[i].instruction_set));
        print_message("%s: %lld cases, %.4f, %.3f\n", profiles[i].records, (long long)regret.cases, mean_of(regret),
                      (double)regret.near / (double)regret.cases);
        assert_true(mean_of(regret) <= profiles[i].mean && regret.most <= profiles[i].most);
        assert_true((double)regret.near >= profiles[i].within * (double)regret.cases);
        tamis_timing_list_clear(&list);
    }
}

/* The other processor's records, with rates that were not fitted to them. */
TEST(a_profile_serves_another_machine) {
    tamis_timing_list list = {.backend = &tamis_cpu_backend};
    read_records("xeon-2-cores", 1, &list);
    const tamis_regret regret = tamis_rates_judge(&list, built_in(&tamis_cpu_rate_table, "AMD EPYC", ""));
    print_message("%.4f, %.2f at most\n", mean_of(regret), regret.most);
    assert_true(mean_of(regret) <= 1.04 && regret.most < 1.6);
    tamis_timing_list_clear(&list);
}

/* Timings of matrices and types that the fit had none of: fp64, fp16, other sizes. */
TEST(a_profile_serves_other_matrices) {
    tamis_timing_list list = {.backend = &tamis_cuda_backend, .device = &h200};
    read_records("nvidia-h200/unseen", 1, &list);
    const tamis_regret regret = tamis_rates_judge(&list, built_in(tamis_cuda_backend.rates, "NVIDIA H200", ""));
    const double near = (double)regret.near / (double)regret.cases;
    print_message("%lld cases, %.4f, %.3f, %.2f at most\n", (long long)regret.cases, mean_of(regret), near,
                  regret.most);
    assert_true(regret.cases >= 250 && mean_of(regret) <= 1.03 && near >= 0.91 && regret.most < 1.6);
    tamis_timing_list_clear(&list);
}

TEST(profiles_are_found_again) {
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        const tamis_rate_table *const table = profiles[i].backend->rates;
        const double *const known = built_in(table, profiles[i].chip, profiles[i].instruction_set);
        double rates[TAMIS_RATES_MOST];
        int fitted;
        tamis_timing_list list = {.backend = profiles[i].backend, .device = profiles[i].device};
        read_records(profiles[i].records, 4, &list);
        for (int r = 0; r < table->count; r++) {
            const int place = table->rows[r].place;
            rates[place] = known[place] * (table->rows[r].kind != TAMIS_RATE_FITTED ? 1 : r % 2 ? 1.33 : 0.75);
        }
        const tamis_regret off = tamis_rates_judge(&list, rates), before = tamis_rates_judge(&list, known);
        works(tamis_rates_fit(&list, rates, &fitted));
        const tamis_regret after = tamis_rates_judge(&list, rates);
        print_message("%s: %d rates, %.4f off, %.4f fitted, %.4f built in\n", profiles[i].records, fitted, mean_of(off),
                      mean_of(after), mean_of(before));
        assert_true(fitted >= 15 && mean_of(off) > mean_of(after));
        assert_true(mean_of(after) < mean_of(before) + 0.01);
        tamis_timing_list_clear(&list);
    }
}

/* How sure choices are is noted in a profile by the fit: what cross-validation finds again. */
TEST(profiles_say_how_sure_they_are) {
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        const tamis_rate_table *const table = profiles[i].backend->rates;
        const double *const known = built_in(table, profiles[i].chip, profiles[i].instruction_set);
        double rates[TAMIS_RATES_MOST];
        tamis_regret crossed;
        tamis_timing_list list = {.backend = profiles[i].backend, .device = profiles[i].device};
        read_records(profiles[i].records, 1, &list);
        memcpy(rates, known, (size_t)table->count * sizeof *rates);
        works(tamis_rates_cross(&list, rates, &crossed));
        tamis_rates_note(table, &crossed, rates);
        for (int k = 0; k < TAMIS_LEADS; k++) {
            const double now = rates[table->sure + k], noted = known[table->sure + k];
            print_message("%s: %.3f of %lld, noted %.3f\n", profiles[i].records, now, (long long)crossed.led[k], noted);
            assert_true(noted > 0 && fabs(now - noted) <= 0.05);
        }
        /* the farther behind the second best, the surer, unless nearly all choices are right */
        assert_true(known[table->sure] < known[table->sure + 2] || known[table->sure] > 0.95);
        tamis_timing_list_clear(&list);
    }
}

/* Shares of too few cases are not known. */
TEST(few_cases_say_nothing) {
    const tamis_rate_table *const table = &tamis_cpu_rate_table;
    const tamis_regret regret = {.led = {19, 20, 0, 40}, .led_near = {19, 15, 0, 40}};
    const double wanted[TAMIS_LEADS] = {0, 0.75, 0, 1};
    double rates[TAMIS_RATES_MOST];
    memcpy(rates, table->profiles[0].rates, (size_t)table->count * sizeof *rates);
    tamis_rates_note(table, &regret, rates);
    for (int k = 0; k < TAMIS_LEADS; k++) assert_true(rates[table->sure + k] == wanted[k]);
    assert_true(tamis_lead_of(1) == 0 && tamis_lead_of(1.05) == 0 && tamis_lead_of(1.1) == 1);
    assert_true(tamis_lead_of(1.5) == 2 && tamis_lead_of(7) == 3 && tamis_lead_of(INFINITY) == 3);
}

static int set_up(void **state) {
    h200.runtime = &tamis_gpu_cuda;
    return 0;
}

static int tear_down(void **state) { return 0; }

TEST_FIXTURE(set_up, tear_down)
