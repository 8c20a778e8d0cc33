/* The signals INT, TERM and HUP: work ends at a clean point if one comes soon, else where it is, and the process ends
   by the signal, so that a shell's loop ends with it. */
#ifndef TOOL_INTERRUPT_H
#define TOOL_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on the first signal sets the flag; the process has some tenths of a second to end. Then, or by a second
   signal that is not of the same Ctrl-C, it ends at once: in any system call, and however long a computation takes. Its
   temporary files are removed. What was ignored before, as by nohup(1), stays ignored. Called by the main thread. */
void tool_interrupt_catch(void);
bool tool_interrupted(void);

/* A process that is to tell others of its end has that many seconds for it. */
void tool_interrupt_wait(int seconds);

/* Before the process ends or becomes another program: signals have their usual effect again, also one that has
   come. */
void tool_interrupt_release(void);

/* A group of processes that ends with this one, from now on or no longer. */
void tool_interrupt_takes(pid_t group);
void tool_interrupt_leaves(pid_t group);

/* Before it becomes an interpreter of Python: the same, but INT waits until the interpreter, which would make an
   exception of it, has set the usual effect and lets it through. */
void tool_interrupt_hand_over(void);

/* What is said where the process ends at once; and instead, if there is such a file by then. Both stay the caller's. */
void tool_interrupt_words(const char *words);
void tool_interrupt_words_if(const char *path, const char *words);

#endif
