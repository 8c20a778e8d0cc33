/* Sets of names an option may take. Most come from the library, so that they are never listed twice. */
#ifndef TOOL_CHOICES_H
#define TOOL_CHOICES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tool_choices {
    const char *what;                              /* "a type", as messages say: "'fp23' is not a type" */
    const char *const *names;                      /* up to a NULL; or */
    const char *(*name_at)(int index);             /* NULL past the end */
    int (*other)(const char *text, size_t length); /* NULL, or the index of a value without a name; -1: it is none */
    bool many;                                     /* not listed by --help: too many, or different on each machine */
} tool_choices;

/* Returns the name with that index; NULL past the end. */
const char *tool_choice_name(const tool_choices *choices, int index);
/* Returns the index of a name, or -1. */
int tool_choices_find(const tool_choices *choices, const char *name, size_t length);

/* The value of an enumeration is the index of its name here. */
extern const tool_choices tool_types, tool_kept_types, tool_value_columns, tool_operations, tool_edges, tool_maths,
    tool_efforts, tool_overlaps, tool_links, tool_exchanges, tool_transports, tool_partitions, tool_spreads,
    tool_formats, tool_index_types, tool_kinds, tool_file_formats, tool_written_formats, tool_values, tool_duplicates,
    tool_operand_values, tool_arrangements, tool_cache_actions, tool_tiers, tool_model_types, tool_repeats,
    tool_use_weights;
/* 0 is "auto", 1 is "all"; then the names of the registry, each once. The second list lacks "all". */
extern const tool_choices tool_algorithms, tool_algorithms_one;
extern const tool_choices tool_devices; /* 0 is "best" */
bool tool_device_is_present(int index);

#endif
