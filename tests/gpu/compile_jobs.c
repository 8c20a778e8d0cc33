#include "compile_jobs.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "gpu/compile/jit.h"
#include "gpu/runtime/nvrtc.h"
#include "support/test.h"

void job_add(job_list *list, int architecture, const char *name, const char *definitions, const char *source) {
    if (list->count == list->room) {
        list->room = 2 * list->room + 64;
        list->jobs = realloc(list->jobs, (size_t)list->room * sizeof *list->jobs);
        if (!list->jobs) abort();
    }
    job *const j = &list->jobs[list->count++];
    *j = (job){architecture, strdup(name), strdup(definitions), source ? strdup(source) : NULL};
    if (!j->name || !j->definitions) abort();
}

static void raise_to(int *most, int value) {
    if (value > *most) *most = value;
}

/* A number before `what` in the line, as in "Used 40 registers, used 1 barriers, 12288 bytes smem". */
static bool number_before(const char *line, const char *what, int *value) {
    const char *at = strstr(line, what);
    if (!at) return false;
    while (at > line && at[-1] == ' ') at--;
    while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
    *value = atoi(at);
    return true;
}

void job_read_log(const char *log, job_result *result) {
    char line[512];
    for (const char *at = log; *at;) {
        const size_t length = strcspn(at, "\n");
        int value;
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), at);
        if (number_before(line, "bytes stack frame", &value)) {
            result->reported = true;
            raise_to(&result->stack, value);
        }
        if (number_before(line, "bytes spill stores", &value)) raise_to(&result->spill_stores, value);
        if (number_before(line, "bytes spill loads", &value)) raise_to(&result->spill_loads, value);
        if (number_before(line, "registers", &value)) raise_to(&result->registers, value);
        if (number_before(line, "bytes smem", &value)) raise_to(&result->shared, value);
        at += length + (at[length] == '\n');
    }
}

static void compile(const job *j, job_result *result) {
    char *source = NULL, *log = NULL;
    tamis_gpu_binary binary = {NULL, 0};
    const double start = test_seconds();
    result->state = JOB_STARTED;
    if (tamis_gpu_source_text(j->name, &source) == TAMIS_OK &&
        tamis_nvrtc_compile(j->architecture, j->name, j->source ? j->source : source, j->definitions, &binary, &log) ==
            TAMIS_OK) {
        job_read_log(log, result);
        result->state = JOB_DONE;
    } else {
        result->reported = true;
        snprintf(result->message, sizeof result->message, "%s", tamis_last_error());
        result->state = JOB_REFUSED;
    }
    result->seconds = test_seconds() - start;
    tamis_release(source);
    tamis_release(log);
    tamis_release(binary.memory);
}

typedef struct board {
    atomic_llong next;
    job_result results[];
} board;

static void swap(job_list *list, int64_t i, int64_t j) {
    const job kept = list->jobs[i];
    list->jobs[i] = list->jobs[j];
    list->jobs[j] = kept;
}

static bool is_first(const job_list *list, int64_t firsts, int64_t i, bool any_chip) {
    for (int64_t f = 0; f < firsts; f++)
        if ((any_chip || list->jobs[f].architecture == list->jobs[i].architecture) &&
            strcmp(list->jobs[f].name, list->jobs[i].name) == 0)
            return false;
    return true;
}

/* How many must be compiled whatever the time. */
static int64_t put_in_order(job_list *list, uint64_t seed, bool any_chip) {
    tamis_random random = tamis_random_start(seed, UINT64_MAX);
    int64_t firsts = 0;
    for (int64_t i = list->count - 1; i > 0; i--) swap(list, i, tamis_random_below(&random, i + 1));
    for (int64_t i = 0; i < list->count; i++)
        if (is_first(list, firsts, i, any_chip)) swap(list, i, firsts++);
    return firsts;
}

static void work(const job_list *list, board *shared, int64_t firsts, double end) {
    for (;;) {
        const long long i = atomic_fetch_add(&shared->next, 1);
        if (i >= list->count || (i >= firsts && test_seconds() > end)) return;
        compile(&list->jobs[i], &shared->results[i]);
    }
}

/* Processes and not threads: one that dies takes a single kernel with it. */
void jobs_run(job_list *list, uint64_t seed, int seconds, bool any_chip) {
    const size_t bytes = sizeof(board) + (size_t)list->count * sizeof(job_result);
    const int64_t firsts = put_in_order(list, seed, any_chip);
    const double end = test_seconds() + seconds;
    long workers = sysconf(_SC_NPROCESSORS_ONLN);
    board *const shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) abort();
    if (workers < 1) workers = 1;
    for (long running = 0;;) {
        /* one more for one that has died, while there is work */
        while (running < workers && atomic_load(&shared->next) < list->count &&
               (test_seconds() < end || atomic_load(&shared->next) < firsts)) {
            const pid_t child = fork();
            if (child < 0) abort();
            if (child == 0) {
                work(list, shared, firsts, end);
                _exit(0);
            }
            running++;
        }
        if (running == 0) break;
        if (wait(NULL) < 0) abort();
        running--;
    }
    list->results = calloc((size_t)list->count + 1, sizeof *list->results);
    if (!list->results) abort();
    memcpy(list->results, shared->results, (size_t)list->count * sizeof *list->results);
    munmap(shared, bytes);
}

void jobs_free(job_list *list) {
    for (int64_t i = 0; i < list->count; i++) {
        free(list->jobs[i].name);
        free(list->jobs[i].definitions);
        free(list->jobs[i].source);
    }
    free(list->jobs);
    free(list->results);
    *list = (job_list){NULL, NULL, 0, 0};
}
