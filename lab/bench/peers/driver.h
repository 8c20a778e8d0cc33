/*
 * Python processes that compute beside the program: one for each module, with driver.py in it, started when it is first
 * wanted and kept until the program ends. Commands and answers are lines; arrays go through a file in memory. Whatever
 * such a process does, the program gets an answer or a reason: a process that ends, answers something else or takes too
 * long is abandoned. TAMIS_PYTHON names another interpreter than python3, TAMIS_PYTHON_TIMEOUT the seconds to wait.
 */
#ifndef TOOL_DRIVER_H
#define TOOL_DRIVER_H

#include <stdbool.h>

#include "cli/text.h"

typedef struct tool_driver tool_driver;

/* The process of that module. NULL: it cannot be started; the first time a warning says why. */
tool_driver *tool_driver_get(const char *module);

/* Sends a command and waits for the answer. False: there is none, and the text says why (it is empty after Ctrl-C). */
bool tool_driver_ask(tool_driver *driver, const char *command, tool_text *answer);

/* Allocates zeroed bytes in the file that both processes see; NULL: there is no memory. One block at a time; the caller
   returns it. */
void *tool_driver_memory(tool_driver *driver, size_t bytes);
void tool_driver_return_memory(tool_driver *driver);

#endif
