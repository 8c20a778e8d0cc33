/* Runs every target on its committed seeds, without libFuzzer: replay [CORPUS]. */
#include "support/test.h"

#include <dirent.h>

#include "fuzz.h"

enum { MOST_BYTES = 1 << 20, PATH = 1024 };

/* The content is given in a block of exactly its size, so that a sanitizer sees a read beyond it. */
static int run_file(const fuzz_target *target, const char *path) {
    static uint8_t content[MOST_BYTES];
    FILE *const file = fopen(path, "rb");
    if (!file) return 0;
    const size_t size = fread(content, 1, sizeof content, file);
    fclose(file);
    uint8_t *const exact = malloc(size > 0 ? size : 1);
    if (!exact) return 0;
    memcpy(exact, content, size);
    target->run(target, exact, size);
    free(exact);
    return 1;
}

static int run_folder(const fuzz_target *target, const char *corpus) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", corpus, target->name);
    DIR *const folder = opendir(path);
    if (!folder) return 0;
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[PATH * 2];
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count += run_file(target, name);
    }
    closedir(folder);
    return count;
}

TEST_RUN() {
    const char *const corpus = argc > 1 ? argv[1] : TAMIS_SOURCE_FOLDER "/tests/fuzz/corpus";
    int passed = 0, failed = 0;
    for (int i = 0; fuzz_target_at(i); i++) {
        const int files = run_folder(fuzz_target_at(i), corpus);
        printf("%s: %d seeds\n", fuzz_target_at(i)->name, files);
        passed += files;
        failed += files == 0;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
