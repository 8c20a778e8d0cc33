/* See python.h. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/interrupt.h"
#include "cli/python.h"

/* Start-up code: if the package is missing, it says what to install and exits with TOOL_UNSUPPORTED. Before importing
   anything it removes the current folder from the path, as that may hold untrusted modules. */
static const char start[] =
    "import sys\n"
    "sys.path = [folder for folder in sys.path if folder]\n"
    "import importlib.util, runpy, signal\n"
    "if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN: signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})\n"
    "module = sys.argv.pop(1)\n"
    "package, name = module.split('.')\n"
    "folders = '.' if package == 'tamis' else '. ./lab/python'\n"
    "for needed in ('tamis', package):\n"
    "    if importlib.util.find_spec(needed): continue\n"
    "    print(f\"tamis {name.strip('_')}: {sys.executable} has no package {needed}: pip install {folders} in a clone of \"\n"
    "          \"Tamis, or name another interpreter in TAMIS_PYTHON\", file=sys.stderr)\n"
    "    sys.exit(4)\n"
    "runpy.run_module(module, run_name='__main__', alter_sys=True)\n";

static char *word(const void *text) { return (char *)(uintptr_t)text; } /* which nobody writes to */

const char *tool_python_interpreter(void) {
    if (getauxval(AT_SECURE)) return NULL;
    const char *const named = getenv("TAMIS_PYTHON");
    return named && *named ? named : "python3";
}

int tool_python_start(const char *module, int count, char *const *given) {
    const char *const python = tool_python_interpreter();
    if (!python)
        return tool_failure(TOOL_UNSUPPORTED,
                            "this command is written in Python, which a setuid process does not start");
    char **arguments = tool_allocate((size_t)count + 5, sizeof *arguments);
    char *const first[] = {word(python), word("-c"), word(start), word(module)};
    memcpy((void *)arguments, (const void *)first, sizeof first);
    if (count > 0) memcpy((void *)(arguments + 4), (const void *)given, (size_t)count * sizeof *arguments);
    fflush(stdout);
    tool_interrupt_hand_over();
    execvp(python, arguments);
    tool_error("%s cannot be started: %s (TAMIS_PYTHON may name another interpreter)", python, strerror(errno));
    free((void *)arguments);
    return TOOL_UNSUPPORTED;
}

int tool_python_command(const char *module) {
    int count = 0;
    char *const *given = tool_options_given(&count);
    return tool_python_start(module, count, given);
}
