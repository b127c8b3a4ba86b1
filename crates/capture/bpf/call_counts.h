/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* System calls counted by thread, call and end, with their lengths. Part of syscalls.bpf.c. */

/* Only its thread writes an entry, so that no update is lost without atomic operations. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct call_key);
	__type(value, struct call_total);
} totals SEC(".maps");

static __always_inline __u16 end_of(__s64 result)
{
	if (result >= 0 || result < -4095)
		return CALL_DONE;
	switch (result) {
	case -4:   /* EINTR */
	case -11:  /* EAGAIN */
	case -110: /* ETIMEDOUT */
	case -115: /* EINPROGRESS */
	case -512: /* ERESTARTSYS and the others of include/linux/errno.h */
	case -513:
	case -514:
	case -516:
		return CALL_AGAIN;
	default:
		return CALL_FAILED;
	}
}

static __always_inline __u32 power_of(__u64 ns)
{
	__u32 power = 0;

	if (ns >> 32) {
		power += 32;
		ns >>= 32;
	}
	if (ns >> 16) {
		power += 16;
		ns >>= 16;
	}
	if (ns >> 8) {
		power += 8;
		ns >>= 8;
	}
	if (ns >> 4) {
		power += 4;
		ns >>= 4;
	}
	if (ns >> 2) {
		power += 2;
		ns >>= 2;
	}
	power += ns >> 1;
	return power < CALL_LENGTHS ? power : CALL_LENGTHS - 1;
}

/* The total of a thread's calls of a number and an end; NULL when there is no room for one more. */
static __always_inline struct call_total *total_of(struct call_key *key, __u32 pid)
{
	struct call_total *total = bpf_map_lookup_elem(&totals, key);
	struct scratch *s;

	if (total || !(s = scratch()))
		return total;
	s->fresh.pid = pid;
	if (bpf_map_update_elem(&totals, key, &s->fresh, BPF_NOEXIST))
		lost(1);
	return bpf_map_lookup_elem(&totals, key);
}

static __always_inline void count_call(struct caller *caller, __u64 length, __s64 result, bool coarse)
{
	struct call_key key = { .tid = caller->tid, .nr = caller->nr, .end = end_of(result) };
	struct call_total *total = total_of(&key, caller->pid);

	if (!total)
		return;
	total->count += 1;
	if (coarse) {
		total->coarse += length > 0;
		total->coarse_ns += length;
		return;
	}
	__u32 power = power_of(length);

	total->timed += 1;
	total->ns += length;
	if (length > total->longest_ns)
		total->longest_ns = length;
	if (power < CALL_LENGTHS)
		total->length[power] += 1;
}
