/* tamis cache: the compiled GPU kernels, the choices of measured plans and the ceilings on disk. */
#include <stdio.h>
#include <tamis/cache.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/text.h"

typedef struct settings {
    bool json;
} settings;

static const tool_option options[] = {
    TOOL_JSON_OBJECT(offsetof(settings, json)),
    {.name = NULL},
};

static void print_json(const tamis_cache_description *cache, bool cleared, int64_t removed) {
    tool_json json = tool_json_open(stdout, true);
    tool_json_put(&json, tool_str("path", *cache->path ? cache->path : NULL),
                  tool_only(cache->refused, TOOL_OF(*cache, refused)), TOOL_OF(*cache, entries), TOOL_OF(*cache, bytes),
                  TOOL_OF(*cache, most_bytes), TOOL_OF(*cache, plans), TOOL_OF(*cache, ceilings),
                  tool_only(cleared, tool_int("removed", removed)));
    tool_json_finish(&json);
}

static void print_text(const tamis_cache_description *cache, bool cleared, int64_t removed) {
    if (!*cache->path) {
        printf("no folder: %s\n", cache->refused);
        return;
    }
    puts(cache->path);
    if (cleared) printf("  removed  %s\n", tool_word_count(removed).text);
    printf("  kernels  %s\n", tool_word_count(cache->entries).text);
    printf("  size     %s of at most %s\n", tool_word_bytes(cache->bytes).text,
           tool_word_bytes(cache->most_bytes).text);
    printf("  plans    %s measured\n", tool_word_count(cache->plans).text);
    printf("  ceilings %s measured\n", tool_word_count(cache->ceilings).text);
}

static int run_cache(const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count;
    enum { INFO, CLEAR };
    int action = INFO;
    TOOL_TRY(tool_choice_parse(&tool_cache_actions, "", operands[0], &action));
    const bool clear = action == CLEAR;
    int64_t removed = 0;
    tamis_cache_description cache;
    tamis_status status = clear ? tamis_cache_clear(&removed) : TAMIS_OK;
    if (status == TAMIS_OK) status = tamis_cache_describe(&cache);
    if (status != TAMIS_OK) return tool_library_error(status, NULL);
    if (set->json)
        print_json(&cache, clear, removed);
    else
        print_text(&cache, clear, removed);
    return TOOL_OK;
}

const tool_command tool_cache_command =
    TOOL_COMMAND("cache", "info|clear", "show or remove the compiled GPU kernels, measured plans and ceilings on disk",
                 options, settings, .first = &tool_cache_actions, .run = run_cache);
