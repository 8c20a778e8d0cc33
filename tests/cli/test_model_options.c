/* The options of training: their defaults are the library's, none is forgotten, and what a training that goes on may
   change. */
#include "support/test.h"

#include "cli/exit.h"
#include "cli/text.h"
#include "model/options.h"

static tamis_method method_at(int number) {
    tamis_method_description about;
    works(tamis_method_at(number, &about));
    return about.method;
}

static const tool_option *option_of(tamis_method method, const char *name) {
    const tool_option *option = tool_option_find(tool_train_options(method), name, strlen(name));
    if (!option) fail_msg("%s has no --%s", tamis_method_name(method), name);
    return option;
}

TEST(defaults_are_those_of_the_library) {
    for (int number = 0; number < tamis_method_count(); number++) {
        const tamis_method method = method_at(number);
        tool_train_settings preset = {.device = 0}, of_library = {.device = 0};
        tool_options_preset(tool_train_options(method), &preset);
        works(tamis_model_options_init(&of_library.model, method));
        int compared = 0;
        for (const tool_option *option = tool_train_options(method); option->name; option++) {
            if (!tool_train_of_model(option) && strcmp(option->name, "type") != 0) continue;
            const tool_word given = tool_option_text(option, &preset), right = tool_option_text(option, &of_library);
            if (strcmp(given.text, right.text) != 0)
                fail_msg("--%s: %s, but the library has %s", option->name, given.text, right.text);
            compared++;
        }
        assert_true(compared >= 4);
        assert_true(preset.model.checkpoint_seconds == of_library.model.checkpoint_seconds);
    }
}

/* What is typed is what the field of that name has, whatever its C type, and comes back as it was typed. */
TEST(options_are_fields_of_the_library) {
    static const char *const typed[][2] = {{"factors", "7"},       {"iterations", "3"},
                                           {"seed", "9"},          {"type", "fp64"},
                                           {"tolerance", "0.5"},   {"regularization", "0.25"},
                                           {"cg-steps", "2"},      {"biases", "yes"},
                                           {"threads", "2"},       {"loss", "no"},
                                           {"confidence", "3"},    {"inner-rounds", "4"},
                                           {"nonnegative", "yes"}, {"row-prior", "0.1"},
                                           {"map", "yes"},         {"column-prior", "0.2"},
                                           {"batch-rows", "11"},   {"rate-decay", "0.7"},
                                           {"rate", "0.01"},       {"column-regularization", "0.3"},
                                           {"weighted", "no"},     {"checkpoint-seconds", "0.5"}};
    tool_train_settings settings = {.device = 0};
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        int methods = 0;
        for (int number = 0; number < tamis_method_count(); number++) {
            const tamis_method method = method_at(number);
            const char *name = typed[i][0];
            if (!tool_option_find(tool_train_options(method), name, strlen(name))) continue;
            const tool_option *option = option_of(method, name);
            assert_int_equal(tool_option_set(option, &settings, typed[i][1], name), 0);
            assert_string_equal(tool_option_text(option, &settings).text, typed[i][1]);
            methods++;
        }
        assert_true(methods > 0);
    }
    const tamis_model_options *model = &settings.model;
    assert_true(model->factors == 7 && model->iterations == 3 && model->seed == 9 && model->type == TAMIS_F64);
    assert_true(model->tolerance == 0.5 && model->regularization == 0.25 && model->cg_steps == 2 && model->biases);
    assert_true(model->threads == 2 && model->skip_loss && model->confidence == 3 && model->inner_rounds == 4);
    assert_true(model->nonnegative && model->row_prior == 0.1 && model->maximum_a_posteriori);
    assert_true(model->column_prior == 0.2 && model->batch_rows == 11 && model->rate_decay == 0.7);
    assert_true(model->rate == 0.01 && model->column_regularization == 0.3 && !model->weighted);
    assert_true(model->checkpoint_seconds == 0.5);
}

/* The arguments that the program was started with; they stay until the next ones. */
static void give(int count, const char *const *words) {
    static char storage[8][32];
    char *arguments[8];
    for (int i = 0; i < count; i++) {
        snprintf(storage[i], sizeof storage[i], "%s", words[i]);
        arguments[i] = storage[i];
    }
    tool_options_remember(count, arguments);
}

TEST(going_on_keeps_the_numbers) {
    static const char *const more[] = {"data", "--iterations", "40", "--resume", "--factors", "12"};
    static const char *const other[] = {"data", "--factors", "13"};
    tamis_model_options checkpoint;
    works(tamis_model_options_init(&checkpoint, TAMIS_ALS));
    checkpoint.factors = 12;
    checkpoint.cg_steps = 4;
    tool_train_settings settings = {.device = 0};
    tool_options_preset(tool_train_options(TAMIS_ALS), &settings);
    give(6, more);
    assert_int_equal(tool_train_go_on(TAMIS_ALS, &checkpoint, &settings), 0);
    assert_int_equal(settings.model.iterations, 40);
    assert_int_equal(settings.model.factors, 12);
    assert_int_equal(settings.model.cg_steps, 4);
    give(3, other);
    assert_int_equal(tool_train_go_on(TAMIS_ALS, &checkpoint, &settings), TOOL_USAGE);
    tool_options_remember(0, NULL);
}

TEST(arguments_are_typed_again) {
    static const char *const given[] = {"a b.csv", "-o", "it's", "--resume=old", "--x", "", "--resumed", "--resume"};
    tool_text line = {0};
    give(8, given);
    tool_options_retype(&line, "resume");
    assert_string_equal(tool_text_get(&line), " 'a b.csv' -o 'it'\\''s' --x '' --resumed");
    tool_text_free(&line);
    tool_options_retype(&line, NULL);
    assert_non_null(strstr(tool_text_get(&line), "--resume=old"));
    tool_text_free(&line);
    tool_options_remember(0, NULL);
}

TEST_RUN() {
    tool_train_options_prepare();
    return test_run(NULL, NULL, NULL, NULL);
}
