/* The signals INT, TERM and HUP. Work ends at a clean point if it comes to one soon, else where it is. The process then
   ends by the signal, so that a shell's loop ends with it. */
#ifndef TOOL_INTERRUPT_H
#define TOOL_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

/* Watches for signals; the main thread calls it. The first signal sets the flag and gives the process some tenths of a
   second to end. Then, or at a second signal that is not of the same Ctrl-C, the process removes its temporary files
   and ends at once, in any system call or computation. Signals that were ignored before, as by nohup(1), stay ignored.
 */
void tool_interrupt_catch(void);
bool tool_interrupted(void);

/* Gives a process that has to tell others of its end that many seconds for it. */
void tool_interrupt_wait(int seconds);

/* Gives signals, also one that has come, their usual effect again, before the process ends or becomes another program.
 */
void tool_interrupt_release(void);

/* Makes a group of processes end with this one; lets it go again. */
void tool_interrupt_takes(pid_t group);
void tool_interrupt_leaves(pid_t group);

/* Does so before the process becomes a Python interpreter. INT then waits until the interpreter, which would make an
   exception of it, has set the usual effect and lets it through. */
void tool_interrupt_hand_over(void);

/* Sets the message for when the process ends at once, and another one if a file exists by then. Both stay the caller's.
 */
void tool_interrupt_words(const char *words);
void tool_interrupt_words_if(const char *path, const char *words);

#endif
