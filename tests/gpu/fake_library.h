/* What fake_cuda.c and fake_nvrtc.c share: faults, counts of calls, and numbers from the environment. */
#ifndef TAMIS_TESTS_GPU_FAKE_LIBRARY_H
#define TAMIS_TESTS_GPU_FAKE_LIBRARY_H

#define EXPORT(name, ...)                                                                                              \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                                      \
    int name(__VA_ARGS__)

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, REFUSED_BY_CAPTURE = 900 };

/* The code that the function fails with by FAKE_CUDA_FAULT, or SUCCESS. */
int fake_fault(const char *function);
void fake_count_call(const char *function);

/* The number that the variable names, or another one. */
int fake_number(const char *variable, int otherwise);

#define COUNTED fake_count_call(__func__)

#define MAY_FAIL                                                                                                       \
    do {                                                                                                               \
        COUNTED;                                                                                                       \
        const int wrong = fake_fault(__func__);                                                                        \
        if (wrong != SUCCESS) return wrong;                                                                            \
    } while (0)

/* Clean-up: fails where it is named, not with all the others. */
#define MAY_FAIL_ALONE                                                                                                 \
    do {                                                                                                               \
        COUNTED;                                                                                                       \
        const char *const text = getenv("FAKE_CUDA_FAULT");                                                            \
        const int wrong = text && text[0] == '*' ? SUCCESS : fake_fault(__func__);                                     \
        if (wrong != SUCCESS) return wrong;                                                                            \
    } while (0)

#endif
