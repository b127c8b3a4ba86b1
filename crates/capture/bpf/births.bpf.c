// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Children of what is recorded: recorded from their first instruction on, however short they live,
 * as they are entered here and not when somebody next looks at /proc.
 */
#include <linux/bpf.h>
#include "namespace.h"
#include "targets.h"
#include <bpf/bpf_tracing.h>
#include "births.h"
#include "losses.h"

/* Whether every process is reported, as it may match what was asked for; else the recorded
 * ones and their children. */
const volatile __u8 report_all = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} births SEC(".maps");

static __always_inline void send(struct task_struct___fathom *task, __u32 pid, __u32 parent, __u32 kind, bool heir)
{
	struct birth *birth = bpf_ringbuf_reserve(&births, sizeof(*birth), 0);

	/* The process is found by looking, later. */
	if (!birth) {
		lost(LOST_EVENT);
		return;
	}
	birth->t_ns = bpf_ktime_get_ns();
	birth->pid = pid;
	birth->parent = parent;
	birth->kind = kind;
	birth->heir = heir;
	BPF_CORE_READ_STR_INTO(&birth->comm, task, comm);
	bpf_ringbuf_submit(birth, 0);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_birth, struct task_struct___fathom *parent, struct task_struct___fathom *child)
{
	__u32 pid = pid_of(child), of = pid_of(parent);
	__u8 yes = 1;

	/* A thread is no process of its own. */
	if (!pid || pid == of)
		return 0;
	bool heir = of != own_pid && bpf_map_lookup_elem(&targets, &of);

	if (heir)
		bpf_map_update_elem(&targets, &pid, &yes, BPF_ANY);
	if (heir || report_all)
		send(child, pid, of, BIRTH_FORK, heir);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct___fathom *task)
{
	__u32 pid = pid_of(task);

	if (pid && (report_all || bpf_map_lookup_elem(&targets, &pid)))
		send(task, pid, 0, BIRTH_EXEC, false);
	return 0;
}

/* The last thread takes the process off the list: user space may never have heard of it. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_end, struct task_struct___fathom *task)
{
	__u32 pid;

	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0;
	pid = pid_of(task);
	bpf_map_delete_elem(&targets, &pid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
