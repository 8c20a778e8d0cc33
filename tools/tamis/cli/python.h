/* Runs modules of the Python package. */
#ifndef TOOL_PYTHON_H
#define TOOL_PYTHON_H

/* Returns the interpreter: TAMIS_PYTHON, or python3 on the PATH. NULL in a setuid process, since its caller controls
   both. */
const char *tool_python_interpreter(void);

/* Replaces this process by a module of the package, with these arguments; returns the exit code only if that fails. */
int tool_python_start(const char *module, int count, char *const *arguments);
/* The same with the original command line. */
int tool_python_command(const char *module);

#endif
