/*
 * The cross tests on a device whose kernels take long to compile.
 *   test_gpu_cross DEVICE SECONDS [ALGORITHMS]     by time: every algorithm of the device against the oracle, over
 *       operations, edges, types, cases and widths in an order that is drawn, until the time is over. All operations,
 *       edges and types come once before any comes again. ALGORITHMS: so many of each problem, drawn; else all of them.
 *   test_gpu_cross DEVICE sweep [PART PARTS]       every algorithm and type at every width of a list, see
 *       ../cross/sweep.c; or every PARTS-th problem of it from PART on
 */
#include "support/test.h"

#include <time.h>

#include "base/edges.h"
#include "cross/cross.h"

/* Everything but the problems, which are drawn. */
static int make_deck(cross_card *deck) {
    int count = 0;
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++)
            for (int type = 0; type <= TAMIS_BF16; type++)
                deck[count++] = (cross_card){
                    .operation = (tamis_operation)operation, .edge = (tamis_edge)edge, .type = (tamis_type)type};
    return count;
}

static void shuffle(cross_card *deck, int count, tamis_random *random) {
    for (int i = count - 1; i > 0; i--) {
        const int64_t j = tamis_random_below(random, i + 1);
        const cross_card kept = deck[i];
        deck[i] = deck[j];
        deck[j] = kept;
    }
}

/* Two thirds of the problems are cases of the table, the rest small widths. */
static cross_case draw_case(tamis_random *random) {
    const int64_t k = tamis_random_below(random, 71), choice = tamis_random_below(random, cross_case_count);
    const cross_case narrow = {
        "small width", "every remainder of every vector", 11, 17, 70, k, k ? k : 1, SHAPE_UNIFORM, 0, 0};
    return tamis_random_below(random, 3) ? cross_cases[choice] : narrow;
}

static void print_counts(int problems, const cross_counts *counts) {
    printf("%d problems: %ld runs, %ld declined, %ld failed", problems, counts->run, counts->declined, counts->failed);
}

/* Before each problem, for whoever cuts this off or finds it dead. */
static void announce(int problems, const cross_counts *counts, const cross_card *card) {
    print_counts(problems, counts);
    printf("; next: %s %s %s, %s, K = %lld\n", tamis_operation_name(card->operation), tamis_edge_name(card->edge),
           tamis_type_name(card->type), card->problem.name, (long long)card->problem.inner);
    fflush(stdout);
}

static int by_time(const char *device, int seconds, int most, tamis_random *random, cross_counts *counts) {
    cross_card deck[256];
    const time_t end = time(NULL) + seconds;
    const int count = make_deck(deck);
    int drawn = 0;
    for (; drawn == 0 || time(NULL) < end; drawn++) {
        if (drawn % count == 0) shuffle(deck, count, random);
        cross_card next = deck[drawn % count];
        next.problem = draw_case(random);
        announce(drawn, counts, &next);
        cross_run(device, &next.problem, next.operation, next.edge, next.type, most, random, counts);
    }
    return drawn;
}

static int by_width(const char *device, int part, int parts, tamis_random *random, cross_counts *counts) {
    int done = 0;
    for (int n = part; n < cross_sweep_count; n += parts, done++) {
        const cross_card next = cross_sweep_card(n);
        announce(done, counts, &next);
        cross_run(device, &next.problem, next.operation, next.edge, next.type, 0, random, counts);
    }
    return done;
}

TEST_RUN() {
    cross_counts counts = {0};
    tamis_device *device = NULL;
    if (argc < 3) return 2;
    const bool sweep = strcmp(argv[2], "sweep") == 0;
    const int parts = sweep && argc > 4 ? atoi(argv[4]) : 1, part = sweep && argc > 4 ? atoi(argv[3]) : 0;
    if (part < 0 || parts <= part) return 2;
    if (tamis_device_open(argv[1], &device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    tamis_device_close(device);
    tamis_random random = tamis_random_start(test_seed(), 3);
    const int done = sweep ? by_width(argv[1], part, parts, &random, &counts)
                           : by_time(argv[1], atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0, &random, &counts);
    print_counts(done, &counts);
    printf("\n");
    return counts.failed > 0 || counts.run == 0;
}
