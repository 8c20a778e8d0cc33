/*
 * Models that were spoilt by somebody who knows the format are used as a server would: models [COUNT [SEED]], or models
 * --seeds FOLDER, which writes the models that are spoilt. Prints the seed of each before it begins, where a name is in
 * TAMIS_FUZZ_LOG.
 */
#include "support/test.h"

#include <time.h>
#include <unistd.h>

#include "crafted.h"
#include "fuzz.h"

enum { ROWS = 9, COLS = 7, MOST = 1 << 16, BASES = 32, TOO_LONG = 60 };

typedef struct base {
    char name[32];
    uint8_t *file;
    size_t size;
} base;

static base bases[BASES];
static int base_count;

/* Each row has three or four of the columns. */
static void data_make(tamis_sparse *S) {
    static int64_t offsets[ROWS + 1], columns[4 * ROWS];
    static float values[4 * ROWS];
    int64_t nnz = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = i % 2; j < COLS; j += 2, nnz++) {
            columns[nnz] = j;
            values[nnz] = (float)(1 + (i * j) % 5);
        }
        offsets[i + 1] = nnz;
    }
    *S = csr_of(TAMIS_F32, ROWS, COLS, nnz, offsets, columns, values);
    S->offset_type = S->index_type = TAMIS_I64;
}

static void keep(const tamis_model *model, const char *name) {
    static uint8_t content[MOST];
    char path[128];
    const char *const temporary = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.80s/tamis-fuzz-%ld.model", temporary ? temporary : "/tmp", (long)getpid());
    fuzz_demand(tamis_model_save(model, path) == TAMIS_OK, "a model cannot be saved");
    FILE *const file = fopen(path, "rb");
    fuzz_demand(file != NULL && base_count < BASES, "a model cannot be read");
    base *const b = &bases[base_count++];
    b->size = fread(content, 1, sizeof content, file);
    fclose(file);
    unlink(path);
    b->file = malloc(b->size);
    fuzz_demand(b->file != NULL, "no memory");
    memcpy(b->file, content, b->size);
    snprintf(b->name, sizeof b->name, "%.24s.model", name);
}

/* Of each method one model by default, one of fp64 with what else its files can have, and one of a stream. */
static void make_bases(tamis_device *device) {
    tamis_sparse S;
    data_make(&S);
    for (int m = 0; m < tamis_method_count(); m++)
        for (int variant = 0; variant < 3; variant++) {
            tamis_method_description about;
            tamis_model_options options;
            tamis_model *model;
            char name[32];
            fuzz_demand(tamis_method_at(m, &about) == TAMIS_OK, "no method");
            fuzz_demand(tamis_model_options_init(&options, about.method) == TAMIS_OK, "no options");
            options.factors = 2;
            options.iterations = 2;
            options.neighbours = options.neighbours > 0 || (options.neighbours < 0 && variant == 1) ? 2 : 0;
            options.type = variant == 1 ? TAMIS_F64 : TAMIS_F32;
            options.learn_row_prior = variant == 1 && options.method == TAMIS_LDA;
            options.batch_rows = variant == 1 && options.batch_rows == 0 && options.method == TAMIS_GAP ? 4 : 0;
            if (variant == 1 && options.method == TAMIS_IMPLICIT_ALS) options.weights = TAMIS_WEIGHTS_BM25;
            fuzz_demand(tamis_model_create(device, &options, &model) == TAMIS_OK, "a model cannot be made");
            if (variant < 2) fuzz_demand(tamis_model_fit(model, &S, NULL) == TAMIS_OK, "a model cannot be fitted");
            snprintf(name, sizeof name, "%s-%d", about.name, variant);
            if (variant < 2 || tamis_model_partial_fit(model, &S) == TAMIS_OK) keep(model, name);
            tamis_model_free(model);
        }
}

static void write_seeds(const char *folder) {
    for (int i = 0; i < base_count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%.400s/%.31s", folder, bases[i].name);
        FILE *const file = fopen(path, "wb");
        fuzz_demand(file && fwrite(bases[i].file, 1, bases[i].size, file) == bases[i].size, "a file cannot be written");
        fclose(file);
    }
}

/* In a block of exactly its size. */
static void use(const uint8_t *file, size_t size) {
    const fuzz_target *const target = fuzz_target_named("model");
    uint8_t *const exact = malloc(size > 0 ? size : 1);
    fuzz_demand(exact != NULL, "no memory");
    memcpy(exact, file, size);
    alarm(TOO_LONG); /* what does not end is a finding too */
    target->run(target, exact, size);
    alarm(0);
    free(exact);
}

TEST_RUN() {
    static uint8_t spoilt[MOST];
    tamis_device *device;
    fuzz_demand(tamis_device_open("cpu", &device) == TAMIS_OK, "the CPU cannot be opened");
    make_bases(device);
    tamis_device_close(device);
    if (argc > 2 && strcmp(argv[1], "--seeds") == 0) {
        write_seeds(argv[2]);
        return 0;
    }
    const int64_t models = argc > 1 ? strtoll(argv[1], NULL, 10) : 500;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    const char *const log = getenv("TAMIS_FUZZ_LOG");
    printf("%lld models from seed %llu on\n", (long long)models, (unsigned long long)seed);
    fflush(stdout);
    for (int64_t i = 0; i < models; i++) {
        const base *const b = &bases[(seed + (uint64_t)i) % (uint64_t)base_count];
        const size_t size = fuzz_craft_model(b->file, b->size, seed + (uint64_t)i, spoilt, sizeof spoilt);
        if (log) {
            FILE *const file = fopen(log, "wb");
            if (file) fwrite(spoilt, 1, size, file), fclose(file);
        }
        use(spoilt, size);
    }
    for (int i = 0; i < base_count; i++) {
        use(bases[i].file, bases[i].size);
        free(bases[i].file);
    }
    printf("1 passed, 0 failed\n");
    return 0;
}
