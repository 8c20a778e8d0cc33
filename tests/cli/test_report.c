/* What the report, the comparison and the roofline are made of: ticks, escapes, means, cases, the rule of a change, and
   that drawings are well-formed whatever the results say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/algorithms.h>
#include <tamis/tamis.h>
#include <unistd.h>

#include <cmocka.h>

#include "axis.h"
#include "cases.h"
#include "charts.h"
#include "compare_rules.h"
#include "figures.h"
#include "markup.h"
#include "mean.h"
#include "page.h"
#include "sections.h"
#include "svg.h"

static void assert_near(double value, double expected, double distance) {
    if (!(fabs(value - expected) <= distance)) fail_msg("%.17g instead of %.17g", value, expected);
}

/* ------------------------------------------------------------------------------------------ axes and words */

static void ticks_are_round_and_few(void **state) {
    (void)state;
    tool_axis axis = tool_axis_linear(7.3, 0, 100, 4);
    assert_int_equal(axis.ticks, 4);
    for (int i = 0; i < axis.ticks; i++) assert_near(axis.tick[i], 2.0 * i, 1e-12);
    axis = tool_axis_log(0.003, 4000, 0, 100, 6);
    assert_in_range(axis.ticks, 2, 6);
    for (int i = 0; i < axis.ticks; i++) {
        const double power = log10(axis.tick[i]);
        assert_near(power, round(power), 1e-9);
    }
    axis = tool_axis_log(1, 10, 0, 100, 6);
    assert_int_equal(axis.ticks, 4); /* 1 2 5 10 */
    assert_near(axis.tick[2], 5, 1e-9);
    axis = tool_axis_log(0.96, 1.11, 0, 100, 5);
    assert_in_range(axis.ticks, 3, 6);
}

static void ticks_stay_on_their_axis(void **state) {
    (void)state;
    for (int i = 0; i < 4000; i++) {
        const double low = pow(10, (i % 41) / 4.0 - 5), high = low * pow(10, (i % 97) / 12.0 + 0.001);
        const tool_axis axis = tool_axis_log(low, high, 10, 300, 2 + i % 7);
        assert_in_range(axis.ticks, 0, TOOL_TICKS);
        for (int j = 0; j < axis.ticks; j++) {
            assert_true(axis.tick[j] >= low * 0.99 && axis.tick[j] <= high * 1.01);
            assert_true(j == 0 || axis.tick[j] > axis.tick[j - 1]);
            const double at = tool_axis_at(&axis, axis.tick[j]);
            assert_true(at >= 10 && at <= 300);
        }
    }
}

static void places_follow_values(void **state) {
    (void)state;
    const tool_axis axis = tool_axis_log(1, 100, 0, 200, 5);
    assert_near(tool_axis_at(&axis, 10), 100, 1e-9);
    assert_near(tool_axis_at(&axis, 1e9), 200, 1e-9);
    assert_near(tool_axis_at(&axis, 0), 0, 1e-9);
    assert_near(tool_axis_at(&axis, (double)NAN), 0, 1e-9);
    const tool_axis broken = tool_axis_log((double)NAN, (double)INFINITY, 0, 200, 5);
    assert_true(isfinite(tool_axis_at(&broken, 3)));
}

static void text_is_escaped(void **state) {
    (void)state;
    static const struct {
        const char *given, *expected;
        int most;
    } rows[] = {
        {"a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;", 99},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 99},
        {"a\xffz\xc3", "a\xef\xbf\xbdz\xef\xbf\xbd", 99},
        {"\x01\x1b[31m", "\xef\xbf\xbd\xef\xbf\xbd[31m", 99},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 99}, /* a surrogate */
        {"abcdef", "abc\xe2\x80\xa6", 4},
        {"abcd", "abcd", 4},
        {"", "", 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tool_text text = {0};
        tool_add_escaped_short(&text, rows[i].given, rows[i].most);
        assert_string_equal(tool_text_get(&text), rows[i].expected);
        tool_text_free(&text);
    }
}

static void numbers_have_units(void **state) {
    (void)state;
    assert_string_equal(tool_word_time(0.0123).text, "12.3\u00a0\u00b5s");
    assert_string_equal(tool_word_time(1500).text, "1.50\u00a0s");
    assert_string_equal(tool_word_time((double)NAN).text, "\u2013");
    assert_string_equal(tool_word_ratio(1.649).text, "1.65\u00d7");
    assert_string_equal(tool_word_ratio(150).text, "150\u00d7");
    assert_string_equal(tool_word_cell(0.00123456).text, "0.001235");
    assert_string_equal(tool_word_cell(1234567).text, "1234567");
    assert_string_equal(tool_word_cell(2.5).text, "2.5");
    assert_string_equal(tool_word_cell(0).text, "0");
    assert_string_equal(tool_word_cell((double)NAN).text, "");
    assert_string_equal(tool_word_place(-0.01).text, "0");
    assert_string_equal(tool_word_place(12.04).text, "12");
}

static void means_are_geometric(void **state) {
    (void)state;
    tool_mean mean = {0};
    assert_true(isnan(tool_mean_get(&mean)));
    const int places[3] = {0, 1, 2};
    tool_mean_add(&mean, 0.5, &places[0]);
    tool_mean_add(&mean, 8, &places[1]);
    tool_mean_add(&mean, 2, &places[2]);
    tool_mean_add(&mean, (double)NAN, NULL);
    tool_mean_add(&mean, 0, NULL);
    tool_mean_add(&mean, -1, NULL);
    tool_mean_add(&mean, (double)INFINITY, NULL);
    assert_near(tool_mean_get(&mean), 2, 1e-12);
    assert_int_equal(mean.count, 3);
    assert_int_equal(mean.wins, 2);
    assert_ptr_equal(mean.least_at, &places[0]);
    assert_ptr_equal(mean.most_at, &places[1]);
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    assert_near(tool_median(odd, 3), 2, 0);
    assert_near(tool_median(even, 4), 2.5, 0);
    assert_true(isnan(tool_median(odd, 0)));
}

/* What noise can explain is neither won nor lost, and a busy machine says nothing. */
static void ties_are_no_wins(void **state) {
    (void)state;
    const double none = (double)NAN;
    const tool_measurement ours = {.median = 1, .low = 0.9, .high = 1.2};
    const tool_measurement others[] = {
        {.median = 2, .low = 1.9, .high = 2.1},                /* won */
        {.median = 1.1, .low = 1.1, .high = 1.3},              /* tied */
        {.median = 0.5, .low = 0.4, .high = 0.6},              /* lost */
        {.median = 8, .low = 7, .high = 9, .disturbed = true}, /* left out */
        {.median = 1.001, .low = none, .high = none},          /* of an older file: tied */
        {.median = 1.01, .low = none, .high = none},           /* of an older file: won */
    };
    const tool_case at = {0};
    tool_mean mean = {0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) tool_mean_add_pair(&mean, &others[i], &ours, &at);
    assert_int_equal(mean.count, 5);
    assert_int_equal(mean.wins, 2);
    assert_int_equal(mean.ties, 2);
    assert_int_equal(mean.disturbed, 1);
    assert_near(mean.most, 2, 0);
}

/* ------------------------------------------------------------------------------------------ the rule of a change */

static tool_span span(double median, double low, double high, double least) {
    return (tool_span){.median = median, .low = low, .high = high, .min = least, .lines = 1};
}

static void changes_are_beyond_noise(void **state) {
    (void)state;
    const tool_span base = span(10, 9.8, 10.2, 9.5);
    static const struct {
        double median, low, high, least;
        tool_change change;
        const char *why;
    } rows[] = {
        {12, 11.8, 12.3, 11.5, TOOL_SLOWER, "all agree"},
        {8, 7.9, 8.2, 7.5, TOOL_FASTER, "all agree"},
        {10.4, 10.3, 10.5, 10.2, TOOL_SAME, "below the threshold"},
        {12, 10.1, 13, 11, TOOL_SAME, "the ranges overlap"},
        {12, 11.8, 12.3, 9.4, TOOL_SAME, "the least time says otherwise"},
        {8, 7.9, 8.2, 9.6, TOOL_SAME, "the least time says otherwise"},
        {12, 11.8, 12.3, (double)NAN, TOOL_SLOWER, "there is no least time"},
        {9.6, 9.55, 9.7, 9, TOOL_SAME, "below the threshold"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tool_span other = span(rows[i].median, rows[i].low, rows[i].high, rows[i].least);
        if (tool_change_of(&base, &other, 0.05) != rows[i].change) fail_msg("row %zu: %s", i, rows[i].why);
    }
}

static void lines_without_quartiles_have_a_wide_range(void **state) {
    (void)state;
    const tool_measurement old = {.median = 10, .min = 9, .q1 = (double)NAN, .q3 = (double)NAN};
    const tool_span range = tool_span_of(&old);
    assert_near(range.low, 9, 0);
    assert_near(range.high, 11, 1e-12);
}

/* ------------------------------------------------------------------------------------------ results from lines */

static void load(tool_results *results, const char *text, size_t bytes) {
    char path[] = "/tmp/tamis-report-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, bytes), (ssize_t)bytes);
    close(descriptor);
    assert_int_equal(tool_results_load(results, path), 0);
    unlink(path);
}

static void load_lines(tool_results *results, const char *const *lines) {
    tool_text text = {0};
    for (; *lines; lines++) tool_text_add(&text, "%s\n", *lines);
    load(results, tool_text_get(&text), text.length);
    tool_text_free(&text);
}

#define LINE(matrix, inner, algorithm, median, more)                                                                   \
    "{\"operation\": \"sddmm\", \"edge\": \"mask\", \"matrix\": \"" matrix                                             \
    "\", \"rows\": 9, \"cols\": 9, \"nnz\": 20, "                                                                      \
    "\"inner\": " inner ", \"width\": 0, \"type\": \"fp32\", \"device\": \"cpu\", \"threads\": 2, \"algorithm\": "     \
    "\"" algorithm "\", \"median_ms\": " median more "}"

static void contestants_of_a_case_come_together(void **state) {
    (void)state;
    static const char *const lines[] = {
        LINE("a", "32", "cpu-rows", "2.0", ", \"auto\": true, \"class\": \"banded\""),
        LINE("a", "32", "cpu-tiled", "1.0", ", \"class\": \"banded\""),
        LINE("a", "32", "cpu-tiled", "0.5", ", \"parameters\": \"tile_columns=64\", \"class\": \"banded\""),
        LINE("a", "32", "naive", "8.0", ", \"baseline\": true, \"class\": \"banded\""),
        LINE("a", "32", "scipy", "4.0", ", \"peer\": true, \"threads\": 1, \"class\": \"banded\""),
        LINE("a", "128", "cpu-rows", "3.0", ", \"class\": \"banded\""),
        LINE("b", "32", "cpu-rows", "1.0", ", \"auto\": true, \"class\": \"uniform\""),
        NULL,
    };
    tool_results results = {0};
    load_lines(&results, lines);
    tool_cases cases;
    tool_cases_build(&results, &cases);
    assert_int_equal(cases.machines, 1);
    assert_int_equal(cases.settings, 2);
    assert_int_equal(cases.count, 3);
    const tool_case *one = &cases.at[0];
    assert_int_equal(one->count, 5);
    assert_string_equal(one->chosen->algorithm, "cpu-rows");
    assert_string_equal(one->fastest->algorithm, "cpu-tiled");
    assert_null(one->fastest->parameters);
    assert_string_equal(one->peer->algorithm, "scipy");
    assert_string_equal(cases.setting[0].label, "SDDMM mask, K\u00a0=\u00a032");
    const tool_mean peers = tool_peer_speedup(&cases, 0, "sddmm", NULL);
    assert_near(tool_mean_get(&peers), 2, 1e-12);
    const tool_mean loss = tool_choice_loss(&cases, 0, NULL);
    assert_int_equal(loss.count, 1);
    assert_near(tool_mean_get(&loss), 2, 1e-12);
    const tool_choice choice = tool_choice_find(&cases, 0, one->class_name, "sddmm", tool_range_of(32));
    assert_string_equal(choice.algorithm, "cpu-tiled");
    assert_string_equal(choice.versus_name, "scipy");
    assert_near(tool_mean_get(&choice.versus), 4, 1e-12);
    assert_null(tool_choice_find(&cases, 0, one->class_name, "spmm", 0).algorithm);
    tool_cases_free(&cases);
    tool_results_free(&results);
}

static void the_latest_run_of_a_case_counts(void **state) {
    (void)state;
    static const char *const lines[] = {
        LINE("a", "32", "cpu-rows", "2.0", ", \"run\": \"new\", \"started\": \"2026-11-21T10:00:00Z\""),
        LINE("a", "32", "cpu-rows", "9.0", ", \"run\": \"old\", \"started\": \"2026-11-20T10:00:00Z\""),
        NULL,
    };
    tool_results results = {0};
    load_lines(&results, lines);
    tool_cases cases;
    tool_cases_build(&results, &cases);
    assert_int_equal(cases.count, 1);
    assert_int_equal(cases.superseded, 1);
    assert_near(cases.at[0].at[0]->median, 2, 0);
    tool_cases_free(&cases);
    tool_results_free(&results);
}

static void repeated_runs_widen_the_range(void **state) {
    (void)state;
    static const char *const before[] = {
        LINE("a", "32", "cpu-rows", "10", ", \"q1_ms\": 9.9, \"q3_ms\": 10.1, \"min_ms\": 9.8"),
        LINE("a", "32", "cpu-rows", "14", ", \"q1_ms\": 13.9, \"q3_ms\": 14.1, \"min_ms\": 13.8"),
        LINE("a", "32", "cpu-rows", "11", ", \"q1_ms\": 10.9, \"q3_ms\": 11.1, \"min_ms\": 10.8"),
        LINE("a", "32", "naive", "10", ", \"q1_ms\": 9.9, \"q3_ms\": 10.1, \"min_ms\": 9.8"),
        NULL,
    };
    static const char *const after[] = {
        LINE("a", "32", "cpu-rows", "13", ", \"q1_ms\": 12.9, \"q3_ms\": 13.1, \"min_ms\": 12.8"),
        LINE("a", "32", "naive", "20", ", \"q1_ms\": 19.9, \"q3_ms\": 20.1, \"min_ms\": 19.8"),
        LINE("b", "32", "naive", "20", ""),
        NULL,
    };
    tool_results results = {0};
    load_lines(&results, before);
    load_lines(&results, after);
    tool_comparison_result result;
    tool_compare_files(&results, 1, 2, 0.05, false, &result);
    assert_int_equal(result.count, 2);
    assert_int_equal(result.only_b, 1);
    assert_int_equal(result.slower, 1); /* the naive loop; the rows vary as much without a change */
    assert_near(result.drift, 2, 1e-12);
    const tool_pair *rows = &result.pair[1];
    assert_string_equal(rows->one->algorithm, "cpu-rows");
    assert_near(rows->a.median, 11, 0);
    assert_near(rows->a.high, 14.1, 1e-12);
    assert_int_equal(rows->change, TOOL_SAME);
    tool_compare_free(&result);
    tool_compare_files(&results, 1, 2, 0.05, true, &result); /* with the drift taken out the rows got faster */
    assert_int_equal(result.slower, 0);
    assert_int_equal(result.faster, 1);
    tool_compare_free(&result);
    tool_results_free(&results);
}

/* ------------------------------------------------------------------------------------------ drawings */

/* Elements are closed in their order, and no attribute or text holds what must be escaped. */
static void assert_well_formed(const char *text) {
    char open[64][16];
    int depth = 0;
    for (const char *at = text; *at; at++) {
        if (*at == '&') assert_true(at[1] == 'a' || at[1] == 'l' || at[1] == 'g' || at[1] == 'q');
        if (*at != '<') continue;
        const char *end = strchr(at, '>');
        assert_non_null(end);
        int quotes = 0;
        for (const char *in = at; in < end; in++) {
            quotes += *in == '"';
            assert_true(in == at || *in != '<');
        }
        assert_int_equal(quotes % 2, 0);
        char name[16] = "";
        const char *from = at[1] == '/' ? at + 2 : at + 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(from, " >/"), from);
        if (at[1] == '/') {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (end[-1] != '/') {
            assert_true(depth < 64);
            memcpy(open[depth++], name, sizeof name);
        }
        at = end;
    }
    assert_int_equal(depth, 0);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf "));
}

static void drawings_are_well_formed(void **state) {
    (void)state;
    static const char *const lines[] = {
        "{\"record\": \"run\", \"device\": \"cpu\", \"fp32_gflops\": [1, 400], \"memory_gbs\": [1, 40], \"l2_gbs\": [null, 0]}",
        "{\"record\": \"matrix\", \"matrix\": \"a<&\\\">\", \"rows\": 9, \"cols\": 9, \"nnz\": 20, \"spy_rows\": 2, \"spy_cols\": 3, "
        "\"spy\": \"012390\"}",
        LINE("a<&\\\">", "32", "cpu-rows<&\\\">", "2.0",
             ", \"setup_ms\": null, \"gflops\": 2, \"bytes_min\": 0, \"min_ms\": 0"),
        LINE("a<&\\\">", "32", "x", "1e-9",
             ", \"setup_ms\": 1e9, \"gflops\": 0.5, \"bytes_min\": 1000, \"q1_ms\": 0, \"q3_ms\": 1e7"),
        LINE("a<&\\\">", "32", "y", "1e9", ", \"gflops\": 1e-7, \"bytes_min\": 10, \"parameters\": \"p=<1>\""),
        NULL,
    };
    tool_results results = {0};
    load_lines(&results, lines);
    tool_cases cases;
    tool_styles styles;
    tool_cases_build(&results, &cases);
    tool_styles_build(&results, &styles);
    tool_text out = {0}, findings = {0};
    tool_chart_bars(&out, &cases.at[0]);
    assert_well_formed(tool_text_get(&out));
    tool_text_free(&out);
    tool_chart_calls(&out, &cases.at[0], "a setting <&>", &styles, &findings);
    assert_well_formed(tool_text_get(&out));
    assert_non_null(strstr(tool_text_get(&findings), "any number of calls"));
    tool_text_free(&out);
    tool_text_free(&findings);
    assert_non_null(cases.at[0].record);
    tool_chart_spy(&out, cases.at[0].record, 0, 100, false);
    assert_well_formed(tool_text_get(&out));
    assert_null(strstr(tool_text_get(&out), "class=\"p0"));
    tool_text_free(&out);
    tool_dot dots[] = {{(double)NAN, 0, 0}, {0, 1, 1}, {1e300, 2, 2}, {1e-300, 3, 9}};
    const tool_dot_row rows[] = {{.label = "<a>", .starred = true, .dots = 4, .dot = dots}, {.label = "", .dots = 0}};
    tool_chart_dots(&out, "<title>", "&", "<", ">", 2, rows);
    assert_well_formed(tool_text_get(&out));
    tool_text_free(&out);
    tool_roof_point points[3];
    bool used[8] = {false};
    tool_roof roof = {.run = cases.machine[0].run, .width = 340, .height = 300, .style = "text{}"};
    const int count = tool_roof_points(&cases, &styles, 0, NULL, true, points, used);
    assert_int_equal(count, 1); /* no bytes, and parameters: two are left out */
    tool_roof_fit(&roof, count, points);
    tool_chart_roofline(&out, &roof, &styles, count, points, "<&>", "\"");
    assert_well_formed(tool_text_get(&out));
    tool_text_free(&out);
    tool_page_write(&results, NULL, &out);
    assert_non_null(strstr(tool_text_get(&out), "</html>"));
    assert_null(strstr(tool_text_get(&out), "a<&"));
    tool_text_free(&out);
    tool_styles_free(&styles);
    tool_cases_free(&cases);
    tool_results_free(&results);
}

static void methods_change_where_curves_cross(void **state) {
    (void)state;
    static const char *const lines[] = {
        LINE("a", "32", "direct", "10", ", \"setup_ms\": 0"),
        LINE("a", "32", "planned", "5", ", \"setup_ms\": 50"),
        LINE("a", "32", "searched", "4", ", \"setup_ms\": 5000"),
        LINE("a", "32", "never", "11", ", \"setup_ms\": 1"),
        NULL,
    };
    tool_results results = {0};
    load_lines(&results, lines);
    tool_cases cases;
    tool_styles styles;
    tool_cases_build(&results, &cases);
    tool_styles_build(&results, &styles);
    tool_text out = {0}, findings = {0};
    tool_chart_calls(&out, &cases.at[0], "s", &styles, &findings);
    assert_string_equal(tool_text_get(&findings),
                        "1 to 10 calls: direct; 11 to 4,950 calls: planned; from 4,951: searched");
    tool_text_free(&out);
    tool_text_free(&findings);
    tool_styles_free(&styles);
    tool_cases_free(&cases);
    tool_results_free(&results);
}

static void long_names_keep_their_ends(void **state) {
    (void)state;
    static const char *const lines[] = {
        LINE("m", "32", "study-spmm-shared-swapped", "1.0", ""),
        LINE("m", "32", "study-spmm-shared-swapped", "2.0", ", \"parameters\": \"block=32\""),
        LINE("m", "32", "study-spmm-shared-swapped", "3.0", ", \"parameters\": \"block=1024\""),
        NULL,
    };
    tool_results results = {0};
    load_lines(&results, lines);
    tool_cases cases;
    tool_cases_build(&results, &cases);
    tool_text out = {0};
    tool_chart_bars(&out, &cases.at[0]);
    assert_non_null(strstr(tool_text_get(&out), ">study-spmm-shared-swapped<"));
    assert_non_null(strstr(tool_text_get(&out), ">study-spmm-s\u2026ped block=32<"));
    assert_non_null(strstr(tool_text_get(&out), ">study-spmm-s\u2026d block=1024<"));
    tool_text_free(&out);
    tool_cases_free(&cases);
    tool_results_free(&results);
}

/* A source that does not begin as its family does would turn its methods grey. */
static void every_algorithm_has_a_family(void **state) {
    (void)state;
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        tamis_algorithm_description description;
        char line[1024];
        assert_int_equal(tamis_algorithm_at(i, &description), TAMIS_OK);
        snprintf(line, sizeof line, LINE("m", "32", "%s", "1.0", ""), description.name);
        const char *const lines[] = {line, NULL};
        tool_results results = {0};
        load_lines(&results, lines);
        tool_styles styles;
        tool_styles_build(&results, &styles);
        assert_int_equal(styles.count, 1);
        assert_string_not_equal(styles.at[0].family, "other");
        tool_styles_free(&styles);
        tool_results_free(&results);
    }
}

static void traffic_has_a_table_with_the_least_in_bold(void **state) {
    (void)state;
    tool_results results = {0};
    char reason[160], line[512];
    for (int tiles = 1; tiles <= 4; tiles++) {
        const int read = tiles == 3 ? 5 : 9; /* gigabytes */
        snprintf(
            line, sizeof line,
            "{\"record\": \"traffic\", \"matrix\": \"words\", \"inner\": 512, \"algorithm\": \"cusddmm-sm-l2\", \"tiles\": %d, "
            "\"tile_columns\": 100, \"median_ms\": 2, \"dram_read_bytes\": %d000000000, \"model_a_bytes\": %d000000000, "
            "\"model_s_bytes\": 1000000000}",
            tiles, read, tiles);
        assert_true(tool_results_line(&results, line, strlen(line), tiles, reason));
    }
    assert_false(tool_results_line(&results, "{\"record\": \"traffic\"}", 21, 5, reason));
    assert_int_equal(results.traffics, 4);
    const tool_page page = {.results = &results};
    tool_text out = {0};
    tool_section_traffic(&page, &out);
    assert_non_null(
        strstr(tool_text_get(&out), "<td>3<td>100<td><strong>5.00</strong><td>3.00<td>1.00<td>1.00<td>2.00"));
    assert_null(strstr(tool_text_get(&out), "<strong>9"));
    tool_text_free(&out);
    tool_results_free(&results);
}

int main(void) {
    if (!tool_results_readable()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round_and_few),
        cmocka_unit_test(ticks_stay_on_their_axis),
        cmocka_unit_test(places_follow_values),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(numbers_have_units),
        cmocka_unit_test(means_are_geometric),
        cmocka_unit_test(ties_are_no_wins),
        cmocka_unit_test(changes_are_beyond_noise),
        cmocka_unit_test(lines_without_quartiles_have_a_wide_range),
        cmocka_unit_test(contestants_of_a_case_come_together),
        cmocka_unit_test(the_latest_run_of_a_case_counts),
        cmocka_unit_test(repeated_runs_widen_the_range),
        cmocka_unit_test(drawings_are_well_formed),
        cmocka_unit_test(methods_change_where_curves_cross),
        cmocka_unit_test(long_names_keep_their_ends),
        cmocka_unit_test(every_algorithm_has_a_family),
        cmocka_unit_test(traffic_has_a_table_with_the_least_in_bold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
