/*
 * The set-up and teardown of tests of graphs on any device, and which of their calls are drawn:
 *   test_... [DEVICE [STEP [FIRST]]]
 * every STEP-th call, from number FIRST on, which is another one in each run: TAMIS_TEST_SEED draws the same ones
 * again. On OpenCL compiling is what takes the time, for types above all: each graph comes in one type for either way
 * that matrices lie, all types among them. On the CPU the best instruction set runs all calls, the others every third.
 */
#ifndef TAMIS_TESTS_DRAWN_DEVICE_H
#define TAMIS_TESTS_DRAWN_DEVICE_H

#include <stdlib.h>
#include <string.h>

#include "device_fixture.h"
#include "support/brief.h"
#include "support/variants.h"

static int64_t step = 1, number;

static bool is_device(void) { return strcmp(name, "cpu") != 0; }

/* Whether a call of a type on that graph comes, with matrices that lie in the one way or the other. */
static bool is_drawn(int graph, int turn, int type) {
    const bool of_one_type = strncmp(name, "opencl", 6) == 0 && !test_whole();
    if (of_one_type && ((uint64_t)(graph + 2 * turn + type) + drawn_by) % 4 != 0) return false;
    return number++ % step == 0;
}

/* Whether the device is here; the arguments of main(). */
static bool device_is_drawn(int argc, char **argv) {
    if (!device_is_named(argc, argv)) return false;
    step = argc > 2 ? strtoll(argv[2], NULL, 10) : test_rounds(1, 3);
    number = argc > 3 ? step - strtoll(argv[3], NULL, 10) : (int64_t)(drawn_by / 4 % (uint64_t)step);
    return true;
}

/* Calls `run`; on the CPU once for each instruction set that has kernels of its own for graphs. */
static void on_each_instruction_set(void (*run)(void)) {
    const int64_t given = step, others = test_whole() ? 1 : 3;
    unsigned types;
    if (is_device()) {
        run();
        return;
    }
    for (int next = 0, count = 0; test_variant_next(&next, TEST_MESSAGES, &types); count++) {
        step = count == 0 ? given : given * others;
        number = (int64_t)(drawn_by % (uint64_t)step);
        run();
    }
    step = given;
    unsetenv("TAMIS_CPU_ISA");
}

#endif
