/* The signals INT, TERM and HUP. Work ends at a clean point if it reaches one soon, else at once. The process then ends
   by the signal, so that a shell's loop ends, too. */
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

/* Extends the grace time to this many seconds, for a process that must inform others of its end. */
void tool_interrupt_wait(int seconds);

/* Restores the default effect of signals, also of one already received, before the process ends or calls exec(). */
void tool_interrupt_release(void);

/* Register a process group to be ended with this process; unregister it. */
void tool_interrupt_takes(pid_t group);
void tool_interrupt_leaves(pid_t group);

/* The same before the process becomes a Python interpreter. INT is blocked until the interpreter, which would raise an
   exception for it, has restored the default effect and unblocks it. */
void tool_interrupt_hand_over(void);

/* Set the message printed if the process ends at once, and another one for the case that a file exists by then. Not
   copied. */
void tool_interrupt_words(const char *words);
void tool_interrupt_words_if(const char *path, const char *words);

#endif
