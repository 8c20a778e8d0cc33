/*
 * Every algorithm, edge and type against the oracle over the tables of cases, over all small widths and at
 * every width of a list.
 *   test_cross [SHARE [ROUNDS [DEVICE]]]    runs each combination with a chance of SHARE per cent, ROUNDS times, on
 *                                           the CPU or on DEVICE (skipped with the reason where that is absent)
 */
#include "support/test.h"

#include "base/edges.h"
#include "cross.h"

static int share = 100, rounds = 1;
static const char *device = "cpu";
static uint64_t seed;

static void each(const cross_case *c, tamis_random *random, cross_counts *counts) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++)
            for (int type = 0; type <= TAMIS_BF16; type++)
                if (tamis_random_below(random, 100) < share)
                    cross_run(device, c, (tamis_operation)operation, (tamis_edge)edge, (tamis_type)type, 0, random,
                              counts);
}

static void end(const cross_counts *counts) {
    printf("%ld runs, %ld declined, %ld failed", counts->run, counts->declined, counts->failed);
    if (counts->special > 0)
        printf("; beside NaN and infinity %ld of %ld elements are finite", counts->finite, counts->special);
    printf("\n");
    assert_true(counts->run > 0);
    assert_int_equal(counts->failed, 0);
    assert_int_equal(counts->unbounded, 0);
    /* of a few problems all may be infinite */
    assert_true(counts->special < 10000 || 4 * counts->finite >= counts->special);
}

TEST(test_cases) {
    cross_counts counts = {0};
    tamis_random random = tamis_random_start(seed, 1);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < cross_case_count; i++) each(&cross_cases[i], &random, &counts);
    end(&counts);
}

TEST(test_widths) {
    cross_counts counts = {0};
    tamis_random random = tamis_random_start(seed, 2);
    for (int64_t k = 0; k <= 70; k++) {
        const cross_case c = {
            "small width", "every remainder of every vector", 11, 17, 70, k, k ? k : 1, SHAPE_UNIFORM, 0, 0};
        each(&c, &random, &counts);
    }
    end(&counts);
}

/* K and L of 1 to 9, alike and apart. */
TEST(test_narrow) {
    cross_counts counts = {0};
    tamis_random random = tamis_random_start(seed, 3);
    for (int64_t k = 1; k <= 9; k++)
        for (int i = 0; i < cross_narrow_case_count; i++) {
            cross_case c = cross_narrow_cases[i];
            c.inner = k;
            c.width = i % 2 ? 10 - k : k;
            each(&c, &random, &counts);
        }
    end(&counts);
}

/* Of some types, as bits. */
static void sweep(unsigned types, tamis_random *random, cross_counts *counts) {
    int64_t always = tamis_random_below(random, cross_sweep_count); /* a small share may draw no other */
    while (!(types >> cross_sweep_card((int)always).type & 1)) always = (always + 1) % cross_sweep_count;
    for (int n = 0; n < cross_sweep_count; n++) {
        const cross_card card = cross_sweep_card(n);
        if (!(types >> card.type & 1)) continue;
        if (n == always || tamis_random_below(random, 100) < share)
            cross_run(device, &card.problem, card.operation, card.edge, card.type, 0, random, counts);
    }
}

/* On the CPU each instruction set has kernels of its own, some of bf16 alone. */
TEST(test_sweep) {
    cross_counts counts = {0};
    tamis_random random = tamis_random_start(seed, 4);
    const bool cpu = strcmp(device, "cpu") == 0;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < (cpu ? CROSS_ISAS : 1); i++) {
            const unsigned types = cpu ? cross_isa_types(cross_isas[i]) : 15;
            if (types == 0) continue;
            cross_isa = cpu ? cross_isas[i] : NULL;
            const long before = counts.run;
            sweep(types, &random, &counts);
            printf("%s: %ld runs\n", cpu ? cross_isas[i] : device, counts.run - before);
            assert_true(counts.run > before || share < 5); /* of so few none may have been drawn */
        }
    cross_isa = NULL;
    end(&counts);
}

TEST_RUN() {
    if (argc > 1) share = atoi(argv[1]);
    share = test_rounds(share, (share + 1) / 2);
    if (argc > 2) rounds = atoi(argv[2]);
    if (argc > 3) device = argv[3];
    tamis_device *opened = NULL;
    if (tamis_device_open(device, &opened) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    tamis_device_close(opened);
    seed = test_seed();
    return test_run(NULL, NULL, NULL, NULL);
}
