// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The unwinder as a function of user space: the same code, other surroundings. One walk at a
 * time. */
#define FATHOM_USER_MODE
#include "unwind_port.h"
#include "unwind.h"

struct user_mode user_mode;
static struct walk walk;

/* Walks from registers (numbered as instructions have them) and gives the sample's
 * head and its frames. */
void fathom_walk(const struct user_mode *with, const struct process_code *process, const __u64 registers[REGISTERS], __u64 pc,
		 struct stack_sample *sample, struct walked_frame frames[MOST_FRAMES])
{
	user_mode = *with;
	memset(&walk, 0, sizeof(walk));
	walk.process = *process;
	memcpy(walk.registers, registers, sizeof(walk.registers));
	walk.pc = pc;
	walk.sp = registers[RSP];
	walk.fp = registers[RBP];
	walk_stack(&walk);
	*sample = walk.sample;
	memcpy(frames, walk.frame, sizeof(walk.frame));
}
