// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The tables by which all programs of a recording walk stacks, and no program: they are there
 * whichever collectors run. */
#include "unwind_port.h"
#include "types.h"

SENT(stack_sample);
SENT(kept_head);
NAMED(unwind_limit);
NAMED(process_flag);
NAMED(context_kind);
NAMED(context_state);
NAMED(row_kind);
NAMED(mapping_kind);
NAMED(frame_kind);
NAMED(stack_sample_kind);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
