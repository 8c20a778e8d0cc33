/*
 * plans.txt has a line that names the format, then one line per plan, newest first: seconds, "sure" or "doubtful",
 * algorithm and key, separated by tabs. Malformed lines are skipped, and dropped when the file is next written; a file
 * with another first line counts as empty. If two processes write at the same time, one may lose its plan, which is
 * then measured again; readers always see a complete file.
 */
#include "select/remembered.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/cache_folder.h"
#include "base/fork_lock.h"

/* A thousand plans of at most a kilobyte each: the file is read in a millisecond. */
enum { PLANS_MOST = 1000, LINE_BYTES = TAMIS_REMEMBERED_KEY + 128 };
static const char *const format_line = "tamis plans 2\n", *const file_name = "plans.txt";

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* for writers in this process; other processes may still collide */
TAMIS_FORK_LOCK(lock)

/* Opens the file and reads its first line; NULL if there is no file, or if it has another format. */
static FILE *open_plans(void) {
    char line[LINE_BYTES];
    FILE *const file = tamis_cache_bytes() > 0 ? tamis_cache_open(NULL, file_name) : NULL;
    if (!file) return NULL;
    if (fgets(line, sizeof line, file) && strcmp(line, format_line) == 0) return file;
    fclose(file);
    return NULL;
}

/* Splits a line in place. */
static bool parse(char *line, tamis_remembered *plan, const char **key) {
    char *end = strchr(line, '\n'), *doubt = strchr(line, '\t'), *name = doubt ? strchr(doubt + 1, '\t') : NULL,
         *rest = name ? strchr(name + 1, '\t') : NULL;
    if (!end || !rest || rest - name - 1 >= (long)sizeof plan->algorithm || rest - name == 1) return false;
    *end = *doubt = *name = *rest = 0;
    plan->doubtful = strcmp(doubt + 1, "doubtful") == 0;
    if (!plan->doubtful && strcmp(doubt + 1, "sure") != 0) return false;
    const locale_t before = tamis_c_locale_enter();
    plan->seconds = strtod(line, &end);
    tamis_c_locale_leave(before);
    if (end == line || *end || !(plan->seconds > 0) || plan->seconds > 1e9) return false;
    snprintf(plan->algorithm, sizeof plan->algorithm, "%s", name + 1);
    *key = rest + 1;
    return true;
}

/* Reads the next line that holds a plan; *key points into `line`. */
static bool next(FILE *file, char *line, tamis_remembered *plan, const char **key) {
    while (fgets(line, LINE_BYTES, file))
        if (parse(line, plan, key)) return true;
    return false;
}

bool tamis_remembered_find(const char *key, tamis_remembered *plan) {
    char line[LINE_BYTES];
    const char *other;
    bool found = false;
    FILE *const file = open_plans();
    if (!file) return false;
    while (!found && next(file, line, plan, &other)) found = strcmp(other, key) == 0;
    fclose(file);
    return found;
}

static void write_plan(FILE *file, const tamis_remembered *plan, const char *key) {
    const locale_t before = tamis_c_locale_enter();
    fprintf(file, "%.6g\t%s\t%s\t%s\n", plan->seconds, plan->doubtful ? "doubtful" : "sure", plan->algorithm, key);
    tamis_c_locale_leave(before);
}

void tamis_remembered_keep(const char *key, const tamis_remembered *plan) {
    char line[LINE_BYTES];
    const char *other;
    tamis_remembered old;
    tamis_cache_draft draft;
    if (tamis_cache_bytes() == 0) return;
    pthread_mutex_lock(&lock);
    if (tamis_cache_draft_open(NULL, file_name, &draft)) {
        fputs(format_line, draft.file);
        write_plan(draft.file, plan, key);
        FILE *const file = open_plans();
        for (int count = 1; file && count < PLANS_MOST && next(file, line, &old, &other);) {
            if (strcmp(other, key) == 0) continue;
            write_plan(draft.file, &old, other);
            count++;
        }
        if (file) fclose(file);
        tamis_cache_draft_close(&draft);
    }
    pthread_mutex_unlock(&lock);
}

int64_t tamis_remembered_count(void) {
    char line[LINE_BYTES];
    const char *key;
    tamis_remembered plan;
    int64_t count = 0;
    FILE *const file = open_plans();
    if (!file) return 0;
    while (next(file, line, &plan, &key)) count++;
    fclose(file);
    return count;
}

int64_t tamis_remembered_clear(void) {
    const int64_t count = tamis_remembered_count();
    if (tamis_cache_bytes() > 0) tamis_cache_remove(NULL, file_name);
    return count;
}
