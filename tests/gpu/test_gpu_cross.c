/*
 * The cross tests by time: every algorithm of a device against the oracle, over operations, edges, types, cases and
 * widths in an order that is drawn, until the time is over. All operations, edges and types come once before any comes
 * again.
 *   test_gpu_cross DEVICE SECONDS [ALGORITHMS]
 * ALGORITHMS: so many of each problem, drawn; else all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cross/cross.h"

typedef struct card {
    tamis_operation operation;
    tamis_edge edge;
    tamis_type type;
} card;

static int make_deck(card *deck) {
    int count = 0;
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int edge = 0; edge <= (operation == TAMIS_OP_SPMM ? 0 : TAMIS_EDGE_SOFTMAX); edge++)
            for (int type = 0; type <= TAMIS_BF16; type++)
                deck[count++] = (card){(tamis_operation)operation, (tamis_edge)edge, (tamis_type)type};
    return count;
}

static void shuffle(card *deck, int count, tamis_random *random) {
    for (int i = count - 1; i > 0; i--) {
        const int64_t j = tamis_random_below(random, i + 1);
        const card kept = deck[i];
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

int main(int argc, char **argv) {
    card deck[256];
    cross_counts counts = {0};
    tamis_device *device = NULL;
    if (argc < 3) return 2;
    const time_t end = time(NULL) + atoi(argv[2]);
    const int most = argc > 3 ? atoi(argv[3]) : 0;
    if (tamis_device_open(argv[1], &device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    tamis_device_close(device);
    setenv("TAMIS_PROBE", "0", 1);
    tamis_random random = tamis_random_start(test_seed(), 3);
    const int count = make_deck(deck);
    int drawn = 0;
    for (; drawn == 0 || time(NULL) < end; drawn++) {
        if (drawn % count == 0) shuffle(deck, count, &random);
        const card *const c = &deck[drawn % count];
        const cross_case drawn_case = draw_case(&random);
        /* before each, for whoever cuts this off or finds it dead */
        print_counts(drawn, &counts);
        printf("; next: %s %s %s, %s, K = %lld\n", tamis_operation_name(c->operation), tamis_edge_name(c->edge),
               tamis_type_name(c->type), drawn_case.name, (long long)drawn_case.inner);
        fflush(stdout);
        cross_run(argv[1], &drawn_case, c->operation, c->edge, c->type, most, &random, &counts);
    }
    print_counts(drawn, &counts);
    printf("\n");
    return counts.failed > 0 || counts.run == 0;
}
