// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Requests to block devices, of the whole host, with what of the page cache's
 * writing holds others up.
 *
 *   block_io_start ──▶ block_rq_issue ──▶ block_rq_complete ──▶ counted by device, kind and issuer; slow ones reported
 *     (by whom)  queue              device
 *
 * Requests end in an interrupt, which may come while another program here runs: what it reports
 * goes through a ring of its own and never through the scratch of a walk.
 */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "files.h"
#include "budget.h"
#include "calls.h"
#include "disk.h"

#define SLOTS 8192
#define WINDOW_NS 100000000ull
/* include/linux/blk_types.h */
#define REQ_OP_MASK 0xff
/* arch/x86/entry/syscalls/syscall_64.tbl */
#define CALL_FSYNC 74
#define CALL_FDATASYNC 75
#define CALL_SYNC_FILE_RANGE 277
#define CALL_SYNCFS 306

const volatile struct disk_config config = {};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk___disk {
	int major;
	int first_minor;
	char disk_name[DISK_NAME];
};

struct request_queue___disk {
	struct gendisk___disk *disk;
};

struct request___disk {
	struct request_queue___disk *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
};

struct block_device___disk {
	unsigned int bd_dev;
};

struct journal_s___disk {
	char j_devname[56];
	struct block_device___disk *j_fs_dev;
};

#pragma clang attribute pop

/* A request under way. */
struct under_way {
	__u64 begun_ns;
	__u64 issued_ns;
	__u32 bytes;
	__u32 pid;
	__u32 tid;
	__u32 target;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct under_way);
} requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct disk_key);
	__type(value, struct disk_counts);
} totals SEC(".maps");

/* A second of files that are written back, on four CPUs that report all they may: while others are
 * attached, nobody reads. */
#define EVENT_BYTES (4 << 20)
#include "events.h"

/* Commits by journal, writeback by its control block, that of a file by its
 * inode: when they began. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} begun SEC(".maps");

struct sync_slot {
	__u32 tid;
	__u32 call;
	__u64 from_ns;
	__u32 fd;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct sync_slot);
} syncs SEC(".maps");

/* Requests and files have budgets of their own. */
#define BUDGET_REQUESTS 0
#define BUDGET_FILES 1

static __always_inline bool may_report(__u64 now, __u32 which)
{
	return may_spend(which, now, WINDOW_NS, config.most);
}

static __always_inline struct under_way *begins(struct request___disk *rq)
{
	__u64 key = (__u64)rq;
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct under_way fresh = {.begun_ns = bpf_ktime_get_ns(), .pid = pid_of(task), .tid = tid_of(task)};

	/* The kernel's own threads are known by their names: who dirtied what
	 * they write is not known. */
	fresh.target = !(task->flags & TASK_IS_KERNEL_THREAD) && is_recorded(fresh.pid);
	bpf_get_current_comm(fresh.comm, sizeof(fresh.comm));
	if (bpf_map_update_elem(&requests, &key, &fresh, BPF_ANY)) {
		lost(LOST_ENTRY);
		return NULL;
	}
	return bpf_map_lookup_elem(&requests, &key);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_start, struct request___disk *rq)
{
	begins(rq);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_insert, struct request___disk *rq)
{
	__u64 key = (__u64)rq;

	if (!bpf_map_lookup_elem(&requests, &key))
		begins(rq);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request___disk *rq)
{
	__u64 key = (__u64)rq;
	struct under_way *request = bpf_map_lookup_elem(&requests, &key);

	if (!request)
		request = begins(rq);
	if (!request)
		return 0;
	request->issued_ns = bpf_ktime_get_ns();
	request->bytes = BPF_CORE_READ(rq, __data_len);
	return 0;
}

static __always_inline __u32 op_of(__u32 flags)
{
	switch (flags & REQ_OP_MASK) {
	case 0:
		return DISK_READ;
	case 1:
	case 7: /* zone append */
		return DISK_WRITE;
	case 2:
		return DISK_FLUSH;
	case 3:
	case 5: /* secure erase */
	case 9: /* write zeroes */
		return DISK_DISCARD;
	default:
		return DISK_OTHER;
	}
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request___disk *rq, __u8 status, unsigned int bytes)
{
	__u64 key = (__u64)rq, now = bpf_ktime_get_ns();
	struct under_way *request = bpf_map_lookup_elem(&requests, &key);

	/* A part of it is done, or it began before it was watched. */
	if (!request || bytes < BPF_CORE_READ(rq, __data_len))
		return 0;
	struct gendisk___disk *disk = BPF_CORE_READ(rq, q, disk);
	struct disk_key at = {};
	struct disk_counts *counts;
	__u64 issued = request->issued_ns ?: request->begun_ns;
	__u64 queue = issued - request->begun_ns, device = now - issued;

	at.dev = (__u32)BPF_CORE_READ(disk, major) << 20 | (__u32)BPF_CORE_READ(disk, first_minor);
	at.op = op_of(BPF_CORE_READ(rq, cmd_flags));
	if (request->target) {
		at.pid = request->pid;
	} else {
		__builtin_memcpy(at.comm, request->comm, sizeof(at.comm));
		/* "kworker/u8:3": its numbers mean nothing to anybody. */
		if (at.comm[0] == 'k' && at.comm[1] == 'w' && at.comm[2] == 'o' && at.comm[3] == 'r' && at.comm[7] == '/')
			__builtin_memset(at.comm + 7, 0, sizeof(at.comm) - 7);
	}
	counts = bpf_map_lookup_elem(&totals, &at);
	if (!counts) {
		struct disk_counts first = {};

		BPF_CORE_READ_STR_INTO(&first.device, disk, disk_name);
		bpf_map_update_elem(&totals, &at, &first, BPF_NOEXIST);
		counts = bpf_map_lookup_elem(&totals, &at);
	}
	if (counts) {
		__sync_fetch_and_add(&counts->count, 1);
		__sync_fetch_and_add(&counts->bytes, request->bytes);
		__sync_fetch_and_add(&counts->queue_ns, queue);
		__sync_fetch_and_add(&counts->device_ns, device);
		if (status)
			__sync_fetch_and_add(&counts->failed, 1);
		if (queue + device > counts->longest_ns)
			counts->longest_ns = queue + device;
	} else {
		lost(LOST_ENTRY);
	}
	if (queue + device >= config.min_ns) {
		bool may = may_report(now, BUDGET_REQUESTS);
		struct disk_event *event = may ? bpf_ringbuf_reserve(&events, sizeof(*event), 0) : NULL;

		if (event) {
			__builtin_memset(event, 0, sizeof(*event));
			event->from_ns = request->begun_ns;
			event->issued_ns = issued;
			event->to_ns = now;
			event->bytes = request->bytes;
			event->what = DISK_REQUEST;
			event->number = at.op;
			event->pid = request->pid;
			event->tid = request->tid;
			event->dev = at.dev;
			event->result = status;
			__builtin_memcpy(event->comm, request->comm, sizeof(event->comm));
			BPF_CORE_READ_STR_INTO(&event->name, disk, disk_name);
			bpf_ringbuf_submit(event, 0);
		} else {
			lost(may ? LOST_EVENT : UNREPORTED_REQUESTS);
		}
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

static __always_inline void begin_work(void *what)
{
	__u64 key = (__u64)what, now = bpf_ktime_get_ns();

	bpf_map_update_elem(&begun, &key, &now, BPF_ANY);
}

/* Ends a commit or a round of writeback; an event for what was long, to be filled in and sent. */
static __always_inline struct disk_event *end_work(void *what, __u32 kind)
{
	__u64 key = (__u64)what, now = bpf_ktime_get_ns(), *from = bpf_map_lookup_elem(&begun, &key), from_ns;
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();

	if (!from)
		return NULL;
	from_ns = *from;
	bpf_map_delete_elem(&begun, &key);
	if (now - from_ns < config.min_ns)
		return NULL;
	struct disk_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		lost(LOST_EVENT);
		return NULL;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->from_ns = event->issued_ns = from_ns;
	event->to_ns = now;
	event->what = kind;
	event->pid = pid_of(task);
	event->tid = tid_of(task);
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	return event;
}

SEC("tp_btf/jbd2_start_commit")
int BPF_PROG(on_commit_start, struct journal_s___disk *journal)
{
	begin_work(journal);
	return 0;
}

SEC("tp_btf/jbd2_end_commit")
int BPF_PROG(on_commit_end, struct journal_s___disk *journal)
{
	struct disk_event *event = end_work(journal, DISK_COMMIT);

	if (!event)
		return 0;
	event->dev = BPF_CORE_READ(journal, j_fs_dev, bd_dev);
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), journal->j_devname);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

#include "writeback.h"

/* The arguments behind `wb` and `dtc`: thresh, bg_thresh, dirty, bdi_thresh … differ by kernel;
 * `pause` is the last but one of all of them up to 6.18, and dirtied ones before it are counts.
 * Where it stands is user space's to find out. */
const volatile __u32 pause_argument = 0;

SEC("tp_btf/balance_dirty_pages")
int on_throttle(__u64 *ctx)
{
	struct bdi_writeback___disk *wb = (void *)ctx[0];
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	__u32 pid = pid_of(task);
	__s64 pause = 0;

	if (!is_recorded(pid))
		return 0;
	/* Two loads at places that are fixed: the verifier takes no other. */
	if (pause_argument == 6) {
		pause = ctx[6];
		asm volatile("" : "+r"(pause));
	} else if (pause_argument == 10) {
		pause = ctx[10];
		asm volatile("" : "+r"(pause));
	}
	if (pause <= 0 || pause > 1000)
		return 0;
	struct disk_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		lost(LOST_EVENT);
		return 0;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->from_ns = event->issued_ns = bpf_ktime_get_ns();
	event->to_ns = event->from_ns + pause * config.jiffy_ns;
	event->what = DISK_THROTTLE;
	event->pid = pid;
	event->tid = tid_of(task);
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	BPF_CORE_READ_STR_INTO(&event->name, wb, bdi, dev_name);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/* The calls are those of SYNC_CALLS in src/disk/program.rs. */
static __always_inline int sync_begins(struct pt_regs___fathom *regs, long number)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), at = tid % SLOTS;

	if (number != CALL_FSYNC && number != CALL_FDATASYNC && number != CALL_SYNC_FILE_RANGE && number != CALL_SYNCFS)
		return 0;
	struct sync_slot *slot = bpf_map_lookup_elem(&syncs, &at);

	if (!slot)
		return 0;
	slot->tid = tid;
	slot->call = number;
	slot->fd = regs->di;
	slot->from_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call, struct pt_regs___fathom *regs, long number)
{
	sync_begins(regs, number);
	enter_further(ctx);
	return 0;
}

static __always_inline int sync_ends(struct pt_regs___fathom *regs, long result)
{
	__u64 number = regs->orig_ax;

	if (number != CALL_FSYNC && number != CALL_FDATASYNC && number != CALL_SYNC_FILE_RANGE && number != CALL_SYNCFS)
		return 0;
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), at = tid % SLOTS;
	struct sync_slot *slot = bpf_map_lookup_elem(&syncs, &at);
	__u64 now = bpf_ktime_get_ns();

	if (!slot || slot->tid != tid || slot->call != number || !slot->from_ns)
		return 0;
	__u64 from = slot->from_ns;

	slot->from_ns = 0;
	if (now - from < config.min_ns)
		return 0;
	struct walk *w = begin_sample(SAMPLE_WAIT);

	if (!w)
		return 0;
	struct disk_event event = {.from_ns = from, .issued_ns = from, .to_ns = now, .what = DISK_SYNC, .number = number};
	struct file___fathom *file = file_of((void *)bpf_get_current_task_btf(), slot->fd);

	event.pid = w->sample.pid;
	event.tid = w->sample.tid;
	event.fd = slot->fd;
	event.result = result;
	if (file) {
		event.inode = BPF_CORE_READ(file, f_inode, i_ino);
		bpf_probe_read_kernel_str(event.name, sizeof(event.name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	}
	walk_current(w);
	__u32 frames = w->sample.frames;

	if (frames > MOST_FRAMES - 16)
		frames = MOST_FRAMES - 16;
	w->sample.frames = frames;
	w->sample.kernel_frames = 0;
	__u32 behind = frames * sizeof(struct walked_frame);

	if (bpf_probe_read_kernel((char *)w->frame + behind, sizeof(event), &event))
		return 0;
	__u64 size = sizeof(struct stack_sample) + behind + sizeof(event);

	if (size > sizeof(struct stack_sample) + sizeof(w->frame))
		return 0;
	if (bpf_ringbuf_output(&samples, &w->sample, size, BPF_RB_NO_WAKEUP))
		lost(LOST_EVENT);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs___fathom *regs, long result)
{
	sync_ends(regs, result);
	leave_further_from_call(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
