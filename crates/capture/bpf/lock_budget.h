/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* How many waits for locks a CPU looks into, and walks the stacks of (locks.h says
 * why there is a limit). */
#ifndef FATHOM_LOCK_BUDGET_H
#define FATHOM_LOCK_BUDGET_H

#include "budget.h"
#include "locks.h"

enum lock_budget { ASKED, ASKED_LATER, WALKED };

/* Whether one more thread that sleeps often may be asked. */
static __always_inline bool may_ask(__u64 now)
{
	return may_spend(ASKED, now, BUDGET_WINDOW_NS, ASKED_IN_A_WINDOW);
}

/* The same when its sleep was long and is over. */
static __always_inline bool may_ask_later(__u64 now)
{
	return may_spend(ASKED_LATER, now, BUDGET_WINDOW_NS, ASKED_IN_A_WINDOW);
}

/* Whether one more stack may be walked. */
static __always_inline bool may_walk(__u64 now)
{
	return may_spend(WALKED, now, BUDGET_WINDOW_NS, WALKED_IN_A_WINDOW);
}

#endif
