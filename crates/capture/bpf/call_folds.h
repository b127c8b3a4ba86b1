/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * Calls of threads that have ended, kept by process. Part of syscalls.bpf.c.
 *
 * User space reads the totals once a second and gives back the room of threads that are gone. A
 * program whose threads live for milliseconds fills it faster than that, and the calls of all
 * others would be lost. So from as many entries on as user space says, a thread that ends adds its
 * own to those of its process and gives their room back itself:
 *
 *   thread, call, end ──▶ thread ends, many entries ──▶ its process (OF_ENDED), call, end
 *
 * The last thread of a process keeps its own, as there would be as many. What user space has
 * written of a thread before is among what its process gets: src/syscalls/totals.rs.
 */

static __always_inline bool are_many(void)
{
	__u32 made = ENTRIES_MADE, given_back = ENTRIES_GIVEN_BACK, from = FOLDS_FROM;
	__s64 *count = bpf_map_lookup_elem(&entries, &made), *back = bpf_map_lookup_elem(&entries, &given_back);
	__s64 *many = bpf_map_lookup_elem(&entries, &from);

	return count && back && many && *count - *back >= *many;
}

/* Other threads of the process may end at the same time. */
static __always_inline void add_total(struct call_total *sum, const struct call_total *total)
{
	__sync_fetch_and_add(&sum->count, total->count);
	__sync_fetch_and_add(&sum->timed, total->timed);
	__sync_fetch_and_add(&sum->ns, total->ns);
	__sync_fetch_and_add(&sum->coarse_ns, total->coarse_ns);
	__sync_fetch_and_add(&sum->coarse, total->coarse);
	if (total->longest_ns > sum->longest_ns)
		sum->longest_ns = total->longest_ns;
	for (__u32 i = 0; i < CALL_LENGTHS; i++)
		if (total->length[i])
			__sync_fetch_and_add(&sum->length[i], total->length[i]);
}

struct fold {
	struct used_calls *used;
	__u32 tid;
	__u32 pid;
	__u32 left; /* entries that stay */
};

/* Moves one entry of a thread to its process. A reading meanwhile sees it in neither, and
 * nothing is written twice. */
static long fold_entry(__u32 i, void *context)
{
	struct fold *fold = context;
	struct scratch *s = scratch();
	__u64 at = i;

	/* What is compared is what is looked up: the verifier knows no bound of another copy of
	 * it. */
	asm volatile("" : "+r"(at));
	if (at >= MOST_USED || at >= fold->used->count || !s)
		return 1;
	__u16 call = fold->used->call[at];
	struct call_key own = { .tid = fold->tid, .nr = call >> 2, .end = call & 3 };
	struct call_key of_process = { .tid = fold->pid | OF_ENDED, .nr = own.nr, .end = own.end };
	struct call_total *total = bpf_map_lookup_elem(&totals, &own), *sum = total_of(&of_process, fold->pid, NULL);

	if (!total)
		return 0;
	if (!sum) {
		fold->left += 1;
		return 0;
	}
	s->folded = *total;
	if (bpf_map_delete_elem(&totals, &own))
		return 0;
	count_entries(-1);
	add_total(sum, &s->folded);
	return 0;
}

/* Gives the room of a thread that ends back; whether all of it is. */
static __always_inline bool fold_calls(struct caller *caller)
{
	struct fold fold = { .used = &caller->used, .tid = caller->tid, .pid = caller->pid };

	if (!are_many())
		return false;
	__u32 folded = THREADS_FOLDED;
	__s64 *threads = bpf_map_lookup_elem(&entries, &folded);

	if (threads)
		__sync_fetch_and_add(threads, 1);
	loop(MOST_USED, fold_entry, &fold);
	return caller->used.count <= MOST_USED && !fold.left;
}
