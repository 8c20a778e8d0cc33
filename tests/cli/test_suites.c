/* The program's own suites: every case of every one parses, names matrices, algorithms and parameters that there are.
 */
#include "support/test.h"

#include <tamis/algorithms.h>

#include <ctype.h>

#include "bench/bench.h"
#include "bench/peers.h"
#include "bench/suite.h"
#include "cli/command.h"

static bool has_word(const char *text, const char *word, size_t length) {
    for (const char *at = text; (at = strstr(at, word)); at++) {
        const bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        if (begins && !isalnum((unsigned char)at[length]) && at[length] != '_') return true;
    }
    return false;
}

/* Whether some device has an algorithm of that name with each of the parameters. */
static bool parameters_exist(const char *algorithm, const char *parameters) {
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        tamis_algorithm_description description;
        works(tamis_algorithm_at(i, &description));
        bool all = strcmp(description.name, algorithm) == 0;
        for (const char *at = parameters; all && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
            char word[64];
            const size_t length = strcspn(at, "=");
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            all = has_word(description.parameters, word, length);
        }
        if (all) return true;
    }
    return false;
}

static void check_case(const tool_suite *suite, const tool_suite_case *one) {
    tool_bench_settings settings = {0};
    char **words = calloc((size_t)one->option_count + 1, sizeof *words);
    assert_non_null(words);
    for (int i = 0; i < one->option_count; i++) words[i] = one->options[i];
    int operands = 0;
    bool help = false;
    tool_options_preset(tool_bench_command.options, &settings);
    print_message("%s, line %d\n", suite->name, one->line);
    assert_int_equal(
        tool_options_parse(tool_bench_command.options, &settings, one->option_count, words, &operands, &help), 0);
    assert_int_equal(operands, 0);
    for (const char *list = settings.variants, *name = NULL; list && *list;) {
        char parameters[128];
        assert_int_equal(tool_bench_take_variant(&list, &name, parameters, sizeof parameters), 0);
        if (!parameters_exist(name, parameters)) fail_msg("%s has not all of %s", name, parameters);
    }
    const char *baseline = settings.baseline_name;
    assert_true(!baseline || tool_peer_find(baseline) ||
                tool_choices_find(&tool_algorithms_one, baseline, strlen(baseline)) > 0);
    char file[] = "a-file.mtx";
    char *const files[] = {file};
    tool_inputs inputs;
    assert_int_equal(tool_suite_inputs(suite, one, 1, files, &inputs), 0);
    assert_true(inputs.count > 0);
    for (int i = 0; i < inputs.count; i++)
        assert_true(!inputs.at[i].stand_in || strncmp(inputs.at[i].spec, "generate:", 9) == 0);
    tool_inputs_free(&inputs);
    free((void *)words);
}

TEST(test_every_suite) {
    unsetenv("TAMIS_MATRIX_PATH");
    int count = 0;
    for (; tool_suite_name(count); count++) {
        tool_suite suite;
        assert_int_equal(tool_suite_open(tool_suite_name(count), &suite), 0);
        assert_string_equal(suite.name, tool_suite_name(count));
        assert_non_null(suite.title);
        assert_non_null(suite.about);
        /* a small and a full tier, on the processor and on a GPU */
        bool there[2][2] = {{false}};
        for (int c = 0; c < suite.case_count; c++) {
            check_case(&suite, &suite.cases[c]);
            if (suite.cases[c].place != TOOL_ON_GPU) there[suite.cases[c].full][0] = true;
            if (suite.cases[c].place != TOOL_ON_CPU) there[suite.cases[c].full][1] = true;
        }
        assert_true(there[0][0] && there[0][1] && there[1][0] && there[1][1]);
        tool_suite_free(&suite);
    }
    assert_true(count >= 7);
}
