/*
 * Models in files: everything comes back and goes on as if it had never been away, the same model gives the same bytes,
 * nothing that is damaged, cut short or made up is taken for a model, and a write that fails leaves the old file.
 */
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io_folder.h"
#include "ml/files/model_file.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/methods/methods.h"
#include "model_rows.h"
#include "support/decimal_comma.h"

static tamis_device *device;

/* ------------------------------------------------------------------------------------------ files */

/* A file of these bytes is refused, with a message that has `words` in it. */
static void refuse_bytes(const void *content, size_t size, const char *words) {
    const char *const path = in_folder("broken");
    write_bytes(path, content, size);
    tamis_model *model = (tamis_model *)&device;
    const int64_t live = tamis_memory_live();
    const tamis_status status = tamis_model_load(device, path, &model);
    unlink(path);
    if (status != TAMIS_ERROR_FORMAT || !strstr(tamis_last_error(), words))
        fail_msg("status %s, '%s', expected %s", tamis_status_name(status), tamis_last_error(), words);
    assert_null(model);
    assert_int_equal(tamis_memory_live(), live);
    assert_int_equal(strncmp(tamis_last_error(), path, strlen(path)), 0);
}

/* ------------------------------------------------------------------------------------------ a model */

/* Every field has a value of its own, some of them at the edges of what a double is. */
static tamis_model *whole_model(tamis_type type) {
    tamis_model *const model = model_by_hand(device, TAMIS_ALS, TAMIS_DATA_RATINGS, 5, 7, 3, type, true);
    tamis_model_options *const o = &model->options;
    o->method = TAMIS_BPR; /* which has states of rows and of columns */
    model->method = ml_method_of(TAMIS_BPR);
    o->iterations = 41;
    o->seed = UINT64_MAX;
    o->tolerance = 0x1.123456789abcdp-9;
    o->skip_loss = true;
    o->regularization = 5e-324;
    o->weighted = false;
    o->cg_steps = 9;
    o->confidence = -0.0;
    o->inner_rounds = 8;
    o->nonnegative = true;
    o->row_prior = 1.7976931348623157e308;
    o->column_prior = 0.1;
    o->maximum_a_posteriori = true;
    o->batch_rows = INT64_MAX;
    o->rate_decay = 2.2250738585072011e-308;
    o->rate = 1. / 3;
    o->column_regularization = 1e-300;
    o->threads = 3;
    model->nnz = 123456789012345;
    model->mean = -0.1;
    model->scale = 1. / 7;
    model->prior_ratings = 2.5;
    model->share = 1. / 3;
    model->least = -INFINITY;
    model->most = INFINITY;
    model->data_sum = 0xfedcba9876543210;
    model->iterations_done = 40;
    model->batches_done = 6;
    model->steps = 1000000000007;
    for (int i = 0; i < ML_PARTS; i++) model->parts[i] = i == 2 ? NAN : 1. / (i + 7);
    model->loss = 3.25;
    for (int i = 1; i < 4; i++) {
        works(ml_dense_make(model, i == 2 ? 5 : 7, 1, &model->states[i]));
        fill(model, &model->states[i], 20 + (unsigned)i, true);
    }
    static const char *const words[] = {"a", "=", "caf\xc3\xa9", "two words", "\n", "row_factors=1 1 fp32", "Z"};
    OWN(tamis_names) *names, *none;
    works(tamis_names_create(&names));
    works(tamis_names_create(&none));
    for (int i = 0; i < 7; i++) {
        int64_t index;
        works(tamis_names_add(names, words[i], strlen(words[i]), &index));
    }
    works(tamis_model_set_names(model, none, names));
    return model;
}

/* ------------------------------------------------------------------------------------------ there and back */

TEST(comes_back) {
    (void)set_decimal_comma(); /* where one is installed, a comma in numbers changes nothing */
    for (int type = 0; type < 2; type++) {
        OWN(tamis_model) *const model = whole_model((tamis_type)type), *loaded;
        works(tamis_model_save(model, in_folder("one")));
        assert_string_equal(tamis_last_error(), "");
        works(tamis_model_load(device, in_folder("one"), &loaded));
        assert_string_equal(tamis_last_error(), "");
        model_expect_same("a file", loaded, model);
        works(tamis_model_save(loaded, in_folder("two")));
        works(tamis_model_save(model, in_folder("one"))); /* over the old one */
        OWN(file_content) one = read_bytes(in_folder("one")), two = read_bytes(in_folder("two"));
        assert_int_equal(one.size, two.size);
        assert_memory_equal(one.data, two.data, one.size);
        unlink(in_folder("one"));
        unlink(in_folder("two"));
        assert_int_equal(files_in_folder(), 0);
    }
    (void)setlocale(LC_ALL, "C");
}

/* ------------------------------------------------------------------------------------------ damage */

static file_content saved(void) {
    OWN(tamis_model) *const model = whole_model(TAMIS_F32);
    return model_bytes(model);
}

TEST(notices_every_flip) {
    OWN(file_content) b = saved();
    for (size_t i = 0; i < b.size; i++)
        for (int way = 0; way < 3; way++) {
            const unsigned char old = b.data[i];
            b.data[i] = (unsigned char)(old ^ (way == 0 ? 0xff : way == 1 ? 1 : 0x80));
            refuse_bytes(b.data, b.size, i < 8 ? "not a Tamis model" : "the model ");
            b.data[i] = old;
        }
}

TEST(notices_what_is_missing) {
    OWN(file_content) b = saved();
    for (size_t size = 0; size < b.size; size++)
        refuse_bytes(b.data, size, size < 8 ? "not a Tamis model" : "truncated");
    OWN(char) *const longer = calloc(b.size + 8, 1);
    assert_non_null(longer);
    memcpy(longer, b.data, b.size);
    refuse_bytes(longer, b.size + 8, "there are extra bytes after it");
    refuse_bytes("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", 58, "not a Tamis model");
    longer[8] = 8;
    refuse_bytes(longer, b.size, ": the model has version 8 of the format, this library reads 1 to 7");
}

/* ------------------------------------------------------------------------------------------ made up */

/* The header as a string, with room for more. */
static char *header_of(const file_content *file, size_t more, uint32_t *length) {
    memcpy(length, file->data + 12, sizeof *length);
    char *const text = calloc(*length + 1 + more, 1);
    assert_non_null(text);
    memcpy(text, file->data + ML_FILE_PREAMBLE, *length);
    return text;
}

/* The file with `from` in its header changed to `to`, and lengths and checksum made right again. */
static file_content changed(const file_content *good, const char *from, const char *to) {
    uint32_t header;
    OWN(char) *const text = header_of(good, strlen(to), &header);
    char *const at = strstr(text, from);
    if (!at) {
        fail_msg("the header has no '%s'", from);
        abort(); /* for analysers: it does not come back */
    }
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
    const size_t aligned = (ML_FILE_PREAMBLE + header + 63) / 64 * 64; /* where the first section is */
    const size_t used = ML_FILE_PREAMBLE + strlen(text), begin = (used + 63) / 64 * 64;
    file_content b = {.data = calloc(begin + good->size, 1), .size = begin + good->size - aligned};
    memcpy(b.data, good->data, ML_FILE_PREAMBLE);
    memcpy(b.data + ML_FILE_PREAMBLE, text, strlen(text));
    memcpy(b.data + begin, good->data + aligned, good->size - aligned);
    const uint32_t length = (uint32_t)strlen(text);
    const uint64_t size = b.size;
    memcpy(b.data + 12, &length, sizeof length);
    memcpy(b.data + 16, &size, sizeof size);
    ml_checksum checksum = ml_checksum_start();
    ml_checksum_add(&checksum, b.data, (int64_t)b.size - 8);
    const uint64_t sum = ml_checksum_end(&checksum);
    memcpy(b.data + b.size - 8, &sum, sizeof sum);
    return b;
}

static void refuse_changed(const file_content *good, const char *from, const char *to, const char *words) {
    OWN(file_content) b = changed(good, from, to);
    refuse_bytes(b.data, b.size, words);
}

TEST(refuses_what_cannot_be) {
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"factors=3\n", "factors=3\nflavour=5\n", "an unknown or misplaced line: 'flavour=5'"},
        {"factors=3\n", "", "an unknown or misplaced line: 'type=fp32'"},
        {"factors=3\n", "factors=3\nfactors=3\n", "an unknown or misplaced line: 'factors=3'"},
        {"factors=3\n", "factors= 3\n", "an invalid value: 'factors= 3'"},
        {"factors=3\n", "factors=3 \n", "an invalid value: 'factors=3 '"},
        {"factors=3\n", "factors=\n", "an invalid value"},
        {"factors=3\n", "factors=9223372036854775808\n", "an invalid value"},
        {"factors=3\n", "factors=2000\n", "the model's options are invalid: factors = 2000"},
        {"factors=3\n", "factors=4\n", "width = 4, but the options make it 5"},
        {"biases=true\n", "biases=false\n", "width = 4, but the options make it 3"},
        {"biases=true\n", "biases=yes\n", "an invalid value"},
        {"method=bpr\n", "method=svd\n", "an invalid value: 'method=svd'"},
        {"method=bpr\n", "method=an-extremely-long-name-of-a-method-that-is-none\n", "an invalid value"},
        {"type=fp32\n", "type=fp16\n", "the model's options are invalid: type = fp16"},
        {"type=fp32\n", "type=fp64\n", "row_factors is fp32, but the model is fp64"},
        {"iterations=41\n", "iterations=2147483648\n", "an invalid value"},
        {"iterations=41\n", "iterations=-41\n", "the model's options are invalid: iterations = -41"},
        {"seed=18446744073709551615\n", "seed=18446744073709551616\n", "an invalid value"},
        {"regularization=0x0.0000000000001p-1022", "regularization=0x0.0000000000001p-1021", "an invalid value"},
        {"regularization=0x0.0000000000001p-1022", "regularization=0x0.000000000001p-1022", "an invalid value"},
        {"regularization=0x0.0000000000001p-1022", "regularization=5e-324", "an invalid value"},
        {"regularization=0x0.0000000000001p-1022", "regularization=nan", "the model's options are invalid"},
        {"regularization=0x0.0000000000001p-1022", "regularization=0x0.0000000000000p-1022",
         "lambda = 0, expected a positive number"},
        {"lambda=0x0.0000000000000p-1022", "lambda=0x1.0000000000000p+0", "lambda = 1, expected 0: it is not found by"},
        {"rate=0x1.5555555555555p-2", "rate=0x1.5555555555555p+1024", "an invalid value"},
        {"rows=5\n", "rows=6\n", "row_factors is 5 x 4, but the model's sizes make it 6 x 4"},
        {"cols=7\n", "cols=8\n", "column_factors is 7 x 4, but the model's sizes make it 8 x 4"},
        {"cols=7\n", "cols=0\n", "is invalid"},
        {"rows=5\n", "rows=-5\n", "is invalid"},
        {"nnz=123456789012345\n", "nnz=36028797018963968\n", "is invalid"},
        {"iterations_done=40\n", "iterations_done=2147483647\n", "is invalid"},
        {"steps=1000000000007\n", "steps=-1\n", "is invalid"},
        {"row_factors=5 4 fp32\n", "row_factors=5 5 fp32\n", "row_factors is 5 x 5"},
        {"row_factors=5 4 fp32\n", "row_factors=5 4 int32\n", "an invalid value"},
        {"row_factors=5 4 fp32\n", "", "the model has no row_factors"},
        {"row_factors=5 4 fp32\ncolumn_factors=7 4 fp32\n", "column_factors=7 4 fp32\nrow_factors=5 4 fp32\n",
         "an unknown or misplaced line: 'row_factors"},
        {"column_factors=7 4 fp32\n", "", "the model has no column_factors"},
        {"state3=7 1 fp32\n", "state3=7 5000000 fp32\n", "state3 is 7 x 5000000, but the model's sizes make it 7 x 1"},
        {"state3=7 1 fp32\n", "state3=9223372036854775807 9223372036854775807 fp32\n", "sizes make it 7 x 1"},
        {"state3=7 1 fp32\n", "state3=6 1 fp32\n", "state3 is 6 x 1, but the model's sizes make it 7 x 1"},
        {"state2=5 1 fp32\n", "state2=400000 1 fp32\n", "state2 is 400000 x 1, but the model's sizes make it 5 x 1"},
        {"state2=5 1 fp32\n", "", "the model has no state2"},
        {"state1=7 1 fp32\n", "state0=8 1 fp32\n", "the model has state0, which bpr with these options has not"},
        {"state3=7 1 fp32\n", "state3=-7 -1 fp32\n", "an invalid value"},
        {"state3=7 1 fp32\n", "state3=7 1 fp64\n", "state3 is fp64, but the model is fp32"},
        {"state3=7 1 fp32\n", "state4=7 1 fp32\n", "an unknown or misplaced line"},
        {"mean=-0x1.999999999999ap-4\n", "mean=-inf\n", "mean = -inf, expected a finite number"},
        {"column_names=7 ", "column_names=7 9000", "sizes do not match a file"},
        {"column_names=7 ", "column_names=7 9223372036854775", "sizes do not match a file"},
        {"column_names=7 ", "column_names=6 ", "column_names has more bytes than names"},
        {"column_names=7 ", "column_names=8 ", "column_names has no name 7"},
        {"column_names=7 ", "column_names=9223372036854775807 ", "column_names has 9223372036854775807 names in"},
        {"row_names=0 0\n", "row_names=1 0\n", "row_names has 1 names in 0 bytes"},
        {"row_names=0 0\n", "row_names=0 0", "the model's header has an invalid value"},
    };
    OWN(file_content) good = saved();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_changed(&good, cases[i].from, cases[i].to, cases[i].words);
    /* a header that ends early; names twice */
    uint32_t length;
    OWN(char) *const text = header_of(&good, 0, &length);
    refuse_changed(&good, strstr(text, "rows=5\n"), "", "the model's header ends before rows");
    refuse_changed(&good, text, "", "the model has no header");
    for (size_t i = 0; i + 1 < good.size; i++)
        if (memcmp(good.data + i, "Z", 2) == 0) good.data[i] = 'a';
    refuse_changed(&good, "factors=3", "factors=3", "column_names has the name 0 twice, as 6");
}

/* Saves a model whose checksum is right, whatever is in it, and expects that it is refused. */
static void refuse_saved(const tamis_model *model, const char *words) {
    OWN(file_content) b = model_bytes(model);
    refuse_bytes(b.data, b.size, words);
}

/* What a server computes with is checked as long as it may not be: of each range of numbers, at the ends of matrices.
 */
TEST(refuses_numbers_out_of_range) {
    OWN(tamis_model) *const model = whole_model(TAMIS_F64);
    const struct {
        tamis_dense *matrix;
        int64_t at;
        double number;
        const char *words;
    } cases[] = {{&model->row_factors, 19, NAN, ": row_factors(4, 3) = nan, expected a finite number"},
                 {&model->row_factors, 0, -INFINITY, ": row_factors(0, 0) = -inf, expected a finite number"},
                 {&model->column_factors, 5, INFINITY, ": column_factors(1, 1) = inf, expected a finite number"},
                 {&model->states[1], 6, NAN, ": state1(6, 0) = nan, expected a finite number of 0 or more"},
                 {&model->states[1], 0, INFINITY, ": state1(0, 0) = inf, expected a finite number of 0 or more"},
                 {&model->states[2], 4, -1e-300, ": state2(4, 0) = -1e-300, expected 0 or more"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double *const at = (double *)cases[i].matrix->data + cases[i].at, before = *at;
        *at = cases[i].number;
        refuse_saved(model, cases[i].words);
        *at = before;
    }
}

/* A learned alpha is a number above 0, as large as there are topics; without learning there is none. */
TEST(refuses_priors_that_are_none) {
    tamis_model_options options = default_options(TAMIS_LDA);
    options.factors = 3;
    options.learn_row_prior = true;
    OWN(data) d = data_make(50, 31, 6, 77);
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    float *const alpha = model->states[0].data;
    static const float none[] = {-3e38F, 0, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        const float before = alpha[1];
        alpha[1] = none[i];
        refuse_saved(model, ", expected a finite number above 0");
        alpha[1] = before;
    }
    OWN(file_content) good = model_bytes(model);
    refuse_changed(&good, "learn_row_prior=true\n", "learn_row_prior=false\n",
                   "the model has state0, which lda with these options has not");
}

/* Programs take names for numbers of rows and columns, and write where those lie. */
TEST(refuses_names_of_nothing) {
    int64_t index;
    OWN(tamis_model) *model = whole_model(TAMIS_F32);
    works(tamis_names_add(model->column_names, "more", 4, &index));
    refuse_saved(model, ": column_names has 8 names, but the model has 7 columns");
    for (int i = 0; i < 6; i++) works(tamis_names_add(model->row_names, "abcdef" + i, 1, &index));
    REFUSED(ARGUMENT, "^rows has 6 names, the model has 5 rows$", tamis_model_set_names(model, model->row_names, NULL));
    refuse_saved(model, ": row_names has 6 names, but the model has 5 rows");
}

/* The neighbours of a column are used as places in an array. */
TEST(refuses_neighbours_that_are_none) {
    static const struct {
        int at;
        float number;
        const char *words;
    } cases[] = {
        {4, 31, ": neighbour 0 of column 1 is 31, expected -1 or a column of 0 to 30"},
        {5, -2, ": neighbour 1 of column 1 is -2, expected -1"},
        {5, 1.5F, ": neighbour 1 of column 1 is 1.5, expected -1"},
        {0, NAN, ": neighbour 0 of column 0 is nan, expected -1"},
        {1, INFINITY, ": neighbour 1 of column 0 is inf, expected -1"},
        {3, NAN, ": the weight of neighbour 1 of column 0 is nan, expected a finite number"},
    };
    tamis_model_options options = default_options(TAMIS_ITEM_KNN);
    options.neighbours = 2;
    OWN(data) d = data_make(50, 31, 6, 77);
    OWN(tamis_model) *const model = model_fitted(device, &options, &d.view);
    float *const kept = model->column_factors.data;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float before = kept[cases[i].at];
        kept[cases[i].at] = cases[i].number;
        refuse_saved(model, cases[i].words);
        kept[cases[i].at] = before;
    }
    kept[5] = -1;
    tamis_model_free(model_reloaded(device, model));
}

/* Version 5 has no beta, version 4 no weights of uses, version 3 no lambda by noise, version 2 no rate_offset, version
 * 1 neither scale nor prior_ratings: its ratings were fitted as they are, under lambda times their number.
 */
TEST(reads_version_1) {
    OWN(file_content) good = saved();
    uint32_t length;
    OWN(char) *const text = header_of(&good, 0, &length);
    char *const begin = strstr(text, "scale="), *const end = strstr(text, "row_factors=");
    assert_true(begin && end && begin < end);
    *end = '\0';
    good.data[8] = 1;
    OWN(file_content) old = changed(&good, begin, "");
    refuse_changed(&good, "factors=3", "factors=3", "an unknown or misplaced line: 'scale=");
    good.data[8] = 2;
    refuse_changed(&good, strstr(begin, "prior_ratings="), "", "an unknown or misplaced line: 'row_factors=");
    refuse_changed(&good, begin, "scale=0x0.0000000000000p-1022\nprior_ratings=0x0.0000000000000p-1022\n",
                   "scale = 0, expected a positive number");
    static const char *const ends[] = {"rate_offset=", "lambda=", "weights=", "beta="}; /* of 2 to 5 */
    for (int version = 2; version <= 5; version++) {
        good.data[8] = (unsigned char)version;
        OWN(file_content) b = changed(&good, strstr(begin, ends[version - 2]), "");
        OWN(tamis_model) *of_version;
        write_bytes(in_folder("old"), b.data, b.size);
        works(tamis_model_load(device, in_folder("old"), &of_version));
        assert_int_equal(of_version->options.weights, TAMIS_WEIGHTS_LINEAR);
    }
    good.data[8] = 2;
    write_bytes(in_folder("old"), old.data, old.size);
    OWN(tamis_model) *const expected = whole_model(TAMIS_F32), *loaded;
    expected->scale = 1;
    expected->prior_ratings = 0;
    expected->share = ML_SHARE;
    works(tamis_model_load(device, in_folder("old"), &loaded));
    unlink(in_folder("old"));
    model_expect_same("a file", loaded, expected);
    OWN(tamis_model) *const latest =
        model_reloaded(device, loaded); /* by a file of the latest version, which says so */
    model_expect_same("a file", latest, expected);
}

/* ------------------------------------------------------------------------------------------ writing fails */

TEST(keeps_the_old_file) {
    OWN(tamis_model) *const model = whole_model(TAMIS_F32);
    OWN(tamis_model) *const large =
        model_by_hand(device, TAMIS_ALS, TAMIS_DATA_RATINGS, 300, 900, 32, TAMIS_F32, false);
    tamis_model *loaded;
    const char *const path = in_folder("model");
    char message[1200];
    works(tamis_model_save(model, path));
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit tight = {.rlim_cur = 20000, .rlim_max = before.rlim_max};
    const int64_t live = tamis_memory_live();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const tamis_status status = tamis_model_save(large, path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    snprintf(message, sizeof message, "%s: cannot write: %s", path, strerror(EFBIG));
    assert_string_equal(tamis_last_error(), message);
    assert_int_equal(status, TAMIS_ERROR_FILE);
    assert_int_equal(tamis_memory_live(), live);
    assert_int_equal(files_in_folder(), 1);
    works(tamis_model_load(device, path, &loaded));
    model_expect_same("a file", loaded, model);
    tamis_model_free(loaded);

    assert_int_equal(tamis_model_save(model, folder), TAMIS_ERROR_FILE);
    snprintf(message, sizeof message, "%s: cannot write: %s", folder, strerror(EISDIR));
    assert_string_equal(tamis_last_error(), message);
    assert_int_equal(tamis_model_save(model, in_folder("no/where")), TAMIS_ERROR_FILE);
    assert_int_equal(tamis_model_load(device, folder, &loaded), TAMIS_ERROR_FILE);
    assert_int_equal(tamis_model_load(device, in_folder("none"), &loaded), TAMIS_ERROR_FILE);
    assert_null(loaded);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(tamis_model_save(model, "/dev/full"), TAMIS_ERROR_FILE);
        snprintf(message, sizeof message, "/dev/full: cannot write: %s", strerror(ENOSPC));
        assert_string_equal(tamis_last_error(), message);
    }
    assert_int_equal(chmod(folder, 0500), 0);
    if (geteuid() != 0) { /* root may write anywhere */
        assert_int_equal(tamis_model_save(model, path), TAMIS_ERROR_FILE);
        works(tamis_model_load(device, path, &loaded));
        tamis_model_free(loaded);
    }
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(tamis_memory_live(), live);
    unlink(path);
    assert_int_equal(files_in_folder(), 0);
}

TEST(refuses_arguments) {
    const tamis_model_options options = default_options(TAMIS_ALS);
    OWN(tamis_model) *const empty = model_made(device, &options), *const model = whole_model(TAMIS_F32);
    tamis_model *loaded = NULL;
    REFUSED(ARGUMENT, "^model is NULL$", tamis_model_save(NULL, in_folder("x")));
    REFUSED(ARGUMENT, "^the model has not been fitted yet$", tamis_model_save(empty, in_folder("x")));
    REFUSED(ARGUMENT, "^path is NULL$", tamis_model_save(model, NULL));
    REFUSED(ARGUMENT, "^device is NULL$", tamis_model_load(NULL, in_folder("x"), &loaded));
    REFUSED(ARGUMENT, "^path is NULL$", tamis_model_load(device, NULL, &loaded));
    REFUSED(ARGUMENT, "^model is NULL$", tamis_model_load(device, in_folder("x"), NULL));
    model->width = 9; /* what could not be read again is not written */
    assert_int_equal(tamis_model_save(model, in_folder("x")), TAMIS_ERROR_INTERNAL);
    assert_int_equal(files_in_folder(), 0);
}

TEST(survives_faults) {
    OWN(tamis_model) *const model = whole_model(TAMIS_F64);
    const char *const path = in_folder("model");
    for (int loads = 0; loads < 2; loads++) {
        EACH_FAULT_OF(w, .least = loads ? 10 : 3) {
            OWN(tamis_model) *loaded = NULL;
            if (FAULTY(w, loads ? tamis_model_load(device, path, &loaded) : tamis_model_save(model, path)) !=
                TAMIS_OK) {
                assert_null(loaded);
                assert_int_equal(files_in_folder(), loads);
            } else if (loads) {
                model_expect_same("a file", loaded, model);
            }
        }
    }
    unlink(path);
}

/* However a stream is cut, its checksum is the same; and each of its lengths has another. */
TEST(sums_streams) {
    unsigned char zeros[40] = {0};
    uint64_t sums[41];
    for (int size = 0; size <= 40; size++) {
        ml_checksum whole = ml_checksum_start();
        ml_checksum_add(&whole, zeros, size);
        sums[size] = ml_checksum_end(&whole);
        for (int other = 0; other < size; other++) assert_true(sums[other] != sums[size]);
        for (int cut = 0; cut <= size; cut++)
            for (int next = cut; next <= size; next++) {
                ml_checksum parts = ml_checksum_start();
                ml_checksum_add(&parts, zeros, cut);
                ml_checksum_add(&parts, zeros + cut, next - cut);
                ml_checksum_add(&parts, zeros + next, size - next);
                assert_true(ml_checksum_end(&parts) == sums[size]);
            }
        if (size < 40) zeros[size] = (unsigned char)(size % 3);
    }
}

static int set_up(void **state) {
    if (make_folder(state) != 0) return 1;
    return tamis_device_open("cpu", &device) != TAMIS_OK;
}

static int tear_down(void **state) {
    tamis_device_close(device);
    return remove_folder(state) != 0 || tamis_memory_live() != 0;
}

TEST_FIXTURE(set_up, tear_down)
