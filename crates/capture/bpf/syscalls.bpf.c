// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Every system call of the targets, summed up in the kernel; long ones told one by one.
 *
 *   enters ──▶ when ──▶ returns ──▶ counted by thread, call and end ──▶ long? ──▶ what it was on, user stack ──▶ ring buffer
 *
 * Both tracepoints are hit by every process of the host. What is kept of a thread hangs on the thread itself (task
 * storage), so that a call of any other costs two failed look-ups. Arguments are read when a call returns: the registers
 * still hold them, and what they point to is mapped, as the kernel has just read it.
 */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "files.h"
#include "sockets.h"
#include "syscalls.h"

/* fs/pipe.c, net/socket.c and fs/anon_inodes.c: include/uapi/linux/magic.h */
#define ANON_INODE_MAGIC 0x09041934
#define MODE_TYPE 0170000
#define MODE_SOCKET 0140000
/* include/uapi/linux/fcntl.h */
#define AT_WORKING_DIRECTORY (-100)
/* Names of a path at most. */
#define MOST_NAMES 48

const volatile struct syscalls_config config = {};

/* A thread of a target. */
struct caller {
	__u64 enter_ns; /* 0: it is in no call */
	__u64 stretch_ns; /* since when its calls are counted to tell whether it is hot */
	__u32 calls;
	__u8 hot;
	__u8 coarse;    /* its call is timed by ticks */
	__u16 pad;
	__u64 ticks;    /* when a call that is timed by them began */
	__u64 last_ns;  /* when the last call that was timed ended */
	__u32 nr;
	__u32 kernel_tid; /* changes when the thread becomes another program */
	__u32 pid;      /* as fathom names it */
	__u32 tid;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct caller);
} callers SEC(".maps");

/* Since when a target is watched. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u64);
} since SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CALLS);
	__type(key, __u32);
	__type(value, struct call_shape);
} shapes SEC(".maps");

/* Only its thread writes an entry, so that no update is lost without atomic operations. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct call_key);
	__type(value, struct call_total);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} events SEC(".maps");

/* [0] events that found no room, [1] calls that could not be counted, [2] long calls beyond what is told a second,
 * [3] told without a stack, as there were too many. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

/* What is too large for the stack of a program. */
struct scratch {
	struct call_event event;
	char bytes[CALL_TEXT_BYTES];
	struct call_total fresh;
	__u64 second;
	__u32 stacks;
	__u32 told;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* The same for the walk over all threads, which programs of the processor it runs on may interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} walk_scratch SEC(".maps");

static __always_inline void lost(__u32 which)
{
	__u64 *count = bpf_map_lookup_elem(&losses, &which);

	if (count)
		*count += 1;
}

static __always_inline struct scratch *scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

/* What is kept of the current thread; made when it belongs to a target. */
static __always_inline struct caller *caller_of(bool *fresh)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct caller *caller = bpf_task_storage_get(&callers, (void *)task, 0, 0);
	__u32 kernel_tid = task->pid;

	*fresh = false;
	if (caller && caller->kernel_tid == kernel_tid)
		return caller;
	struct caller named = { .kernel_tid = kernel_tid };

	/* Read in place in the usual case: every system call of the host comes by here. */
	named.pid = in_first_namespace() ? (__u32)task->tgid : pid_of(task);

	if (!caller && (!named.pid || named.pid == own_pid || (!all_processes && !bpf_map_lookup_elem(&targets, &named.pid))))
		return NULL;
	named.tid = tid_of(task);
	if (caller) {
		*caller = named;
		return caller;
	}
	*fresh = true;
	caller = bpf_task_storage_get(&callers, (void *)task, &named, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!caller)
		lost(1);
	return caller;
}

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

static __always_inline void count_call(struct caller *caller, __u64 length, __s64 result, bool coarse)
{
	struct call_key key = { .tid = caller->tid, .nr = caller->nr, .end = end_of(result) };
	struct call_total *total = bpf_map_lookup_elem(&totals, &key);

	if (!total) {
		struct scratch *s = scratch();

		if (!s)
			return;
		s->fresh.pid = caller->pid;
		if (bpf_map_update_elem(&totals, &key, &s->fresh, BPF_NOEXIST))
			lost(1);
		total = bpf_map_lookup_elem(&totals, &key);
		if (!total)
			return;
	}
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

/* Appends a text to the event; false when there is no room for it. */
static __always_inline bool append(struct scratch *s, const void *from, bool from_user)
{
	__u32 at = s->event.text;
	long length;

	if (at > CALL_TEXT_BYTES - CALL_PIECE_BYTES)
		return false;
	if (from_user)
		length = bpf_probe_read_user_str(s->bytes + at, CALL_PIECE_BYTES, from);
	else
		length = bpf_probe_read_kernel_str(s->bytes + at, CALL_PIECE_BYTES, from);
	if (length > 0)
		s->event.text = at + length;
	return true;
}

struct path_walk {
	struct scratch *scratch;
	struct vfsmount___fathom *mount;
	struct dentry___fathom *dentry;
	struct vfsmount___fathom *root_mount;
	struct dentry___fathom *root_dentry;
	__u32 whole;
	__u32 unused;
};

/* One name of a path, from its end to the root of the thread. */
static long path_step(__u32 i, void *context)
{
	struct path_walk *w = context;
	struct scratch *s = w->scratch;
	struct dentry___fathom *dentry = w->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	struct vfsmount___fathom *inside = w->mount;
	struct dentry___fathom *top = BPF_CORE_READ(inside, mnt_root);

	if (dentry == w->root_dentry && inside == w->root_mount)
		goto whole;
	if (dentry == top || dentry == parent) {
		__u64 within = bpf_core_field_offset(struct mount___fathom, mnt);
		struct mount___fathom *mount = (void *)inside - within;
		struct mount___fathom *above = BPF_CORE_READ(mount, mnt_parent);

		/* The root of a namespace, or of a file system that is mounted nowhere (pipes, memfd). */
		if (above == mount || dentry != top || !above)
			goto whole;
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = (void *)above + within;
		return 0;
	}
	if (!append(s, BPF_CORE_READ(dentry, d_name.name), false))
		return 1;
	w->dentry = parent;
	return 0;
whole:
	w->whole = 1;
	return 1;
}

/* Names of a path, leaf first; whether it is all of them. */
static __always_inline bool append_path(struct scratch *s, struct task_struct___files *task, struct path___fathom *path)
{
	struct path_walk w = {
		.scratch = s,
		.mount = path->mnt,
		.dentry = path->dentry,
		.root_mount = BPF_CORE_READ(task, fs, root.mnt),
		.root_dentry = BPF_CORE_READ(task, fs, root.dentry),
	};

	bpf_loop(MOST_NAMES, path_step, &w, 0);
	return w.whole;
}

/* The name of a Unix socket: the peer's, or its own where the peer has none. */
static __always_inline void append_unix_name(struct scratch *s, struct sock___fathom *sk)
{
	struct unix_address___fathom *address;
	struct unix_sock___fathom *socket = (void *)sk, *peer;
	char first = 0;

	peer = (void *)BPF_CORE_READ(socket, peer);
	address = peer ? BPF_CORE_READ(peer, addr) : NULL;
	if (!address)
		address = BPF_CORE_READ(socket, addr);
	if (!address)
		return;
	const char *name = (const char *)address + bpf_core_field_offset(struct unix_address___fathom, name)
			   + bpf_core_field_offset(struct sockaddr_un___fathom, sun_path);

	/* An abstract name begins with 0. */
	bpf_probe_read_kernel(&first, 1, name);
	append(s, first ? name : name + 1, false);
	s->event.socket.peer_known = first ? 1 : 2;
}

/* What stands behind a descriptor. */
static __always_inline void read_file(struct scratch *s, struct task_struct___files *task, struct file___fathom *file)
{
	struct call_event *event = &s->event;
	struct path___fathom path = {};

	event->inode = BPF_CORE_READ(file, f_inode, i_ino);
	event->mode = BPF_CORE_READ(file, f_inode, i_mode);
	event->magic = BPF_CORE_READ(file, f_inode, i_sb, s_magic);
	if ((event->mode & MODE_TYPE) == MODE_SOCKET) {
		struct socket___fathom *socket = BPF_CORE_READ(file, private_data);
		struct sock___fathom *sk = BPF_CORE_READ(socket, sk);

		read_ends(&event->socket, sk);
		if (event->socket.family == FAMILY_UNIX)
			append_unix_name(s, sk);
		event->path = event->text;
		return;
	}
	BPF_CORE_READ_INTO(&path, file, f_path);
	if (!append_path(s, task, &path))
		event->flags |= CALL_PATH_CUT;
	event->path = event->text;
	struct dentry___fathom *dentry = path.dentry;

	if (dentry && !BPF_CORE_READ(dentry, d_hash.pprev) && dentry != BPF_CORE_READ(dentry, d_parent))
		event->flags |= CALL_DELETED;
}

/* The argument that names a file, and the directory that it is relative to. */
static __always_inline void read_path(struct scratch *s, struct task_struct___files *task, __u64 at, __s32 dirfd)
{
	struct path___fathom path = {};
	char first = 0;

	if (bpf_probe_read_user(&first, 1, (void *)at))
		return;
	if (first != '/') {
		if (dirfd == AT_WORKING_DIRECTORY) {
			BPF_CORE_READ_INTO(&path, task, fs, pwd);
		} else {
			struct file___fathom *file = file_of(task, dirfd);

			if (file)
				BPF_CORE_READ_INTO(&path, file, f_path);
		}
		if (path.dentry && !append_path(s, task, &path))
			s->event.flags |= CALL_BASE_CUT;
		s->event.base = s->event.text - s->event.path;
	}
	append(s, (void *)at, true);
}

/* The peer that a call names itself: of a socket that is not connected. */
static __always_inline void read_address(struct socket_ends *ends, __u64 at)
{
	struct {
		__u16 family;
		__u16 port;
		__u32 rest[6];
	} address = {};

	/* sockaddr_in is shorter, and may end where its page does. */
	if (!at || bpf_probe_read_user(&address, 16, (void *)at))
		return;
	if (address.family == FAMILY_INET) {
		ends->family = FAMILY_INET;
		__builtin_memcpy(ends->peer, &address.rest[0], 4);
	} else if (address.family == FAMILY_INET6 && !bpf_probe_read_user(&address, 28, (void *)at)) {
		ends->family = FAMILY_INET6;
		__builtin_memcpy(ends->peer, &address.rest[1], 16);
	} else {
		return;
	}
	ends->peer_port = __builtin_bswap16(address.port);
	ends->peer_known = 1;
}

static __always_inline __u64 argument_of(struct call_event *event, __u8 index_plus_one)
{
	__u32 i = index_plus_one - 1;

	return i < 6 ? event->argument[i] : 0;
}

/* The user stack of the current thread; its stamp, by which the event names it. */
static __always_inline __u64 send_stack(void)
{
	struct walk *w = begin_sample(SAMPLE_WAIT);

	if (!w)
		return 0;
	walk_current(w);
	__u32 frames = w->sample.frames;

	if (frames > MOST_FRAMES)
		frames = MOST_FRAMES;
	w->sample.kernel_frames = 0;
	__u64 size = sizeof(struct stack_sample) + frames * sizeof(struct walked_frame);

	if (bpf_ringbuf_output(&samples, &w->sample, size, BPF_RB_NO_WAKEUP))
		return 0;
	return w->sample.t_ns;
}

/* Whether there is room for one more this second: [0] told, [1] with a stack. */
static __always_inline bool may_tell(struct scratch *s, __u64 now)
{
	__u64 second = now >> 30;

	if (s->second != second) {
		s->second = second;
		s->stacks = s->told = 0;
	}
	if (s->told >= config.most_events) {
		lost(2);
		return false;
	}
	s->told += 1;
	return true;
}

static __always_inline void begin_event(struct call_event *event, struct caller *caller, __u8 kind)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->pid = caller->pid;
	event->tid = caller->tid;
	event->nr = caller->nr;
	event->enter_ns = caller->enter_ns;
}

static __always_inline void send_event(struct scratch *s)
{
	__u32 text = s->event.text;

	if (text > CALL_TEXT_BYTES)
		text = CALL_TEXT_BYTES;
	if (bpf_ringbuf_output(&events, &s->event, sizeof(s->event) + text, BPF_RB_NO_WAKEUP))
		lost(0);
}

/* What a call of a thread was on; false when it is one that is not told for that. `own`: it is the current thread, whose memory
 * can be read. */
static __always_inline bool read_call(struct scratch *s, struct task_struct___files *task, struct pt_regs___fathom *regs,
				      struct call_shape *shape, bool own)
{
	struct call_event *event = &s->event;
	struct file___fathom *file = NULL;
	__s32 fd = -1;

	event->argument[0] = BPF_CORE_READ(regs, di);
	event->argument[1] = BPF_CORE_READ(regs, si);
	event->argument[2] = BPF_CORE_READ(regs, dx);
	event->argument[3] = BPF_CORE_READ(regs, r10);
	event->argument[4] = BPF_CORE_READ(regs, r8);
	event->argument[5] = BPF_CORE_READ(regs, r9);
	if (shape->result_is_fd && event->result >= 0 && own)
		fd = event->result;
	else if (shape->fd)
		fd = argument_of(event, shape->fd);
	else if (own && shape->polls && event->argument[1] == 1)
		bpf_probe_read_user(&fd, sizeof(fd), (void *)event->argument[0]);
	if (fd >= 0)
		file = file_of(task, fd);
	if (file)
		read_file(s, task, file);
	if (shape->tell == TELL_FILES && event->magic == ANON_INODE_MAGIC)
		return false;
	if (shape->tell == TELL_SOCKET && (!event->socket.family || event->socket.state == STATE_LISTEN))
		return false;
	if (!own)
		return true;
	if (shape->path && !file)
		read_path(s, task, argument_of(event, shape->path),
			  shape->dirfd ? (__s32)argument_of(event, shape->dirfd) : AT_WORKING_DIRECTORY);
	if (shape->address && !event->socket.peer_known)
		read_address(&event->socket, argument_of(event, shape->address));
	return true;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs___fathom *regs, long nr)
{
	bool fresh;
	struct caller *caller = caller_of(&fresh);

	if (!caller)
		return 0;
	caller->nr = nr;
	caller->calls += 1;
	caller->coarse = caller->hot && caller->calls % HOT_ONE_OF;
	if (caller->coarse) {
		caller->ticks = bpf_jiffies64();
		caller->enter_ns = caller->last_ns;
	} else {
		caller->enter_ns = bpf_ktime_get_ns();
	}
	return 0;
}

/* Whether a thread makes so many calls that not all of them are timed. */
static __always_inline void judge_rate(struct caller *caller, __u64 now)
{
	__u64 length = now - caller->stretch_ns;

	if (length < HOT_STRETCH_NS)
		return;
	/* Calls that wait make a stretch longer, and are no reason to hurry. */
	caller->hot = length < 2 * HOT_STRETCH_NS && caller->calls > config.hot_calls;
	caller->calls = 0;
	caller->stretch_ns = now;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs___fathom *regs, long result)
{
	bool fresh;
	struct caller *caller = caller_of(&fresh);
	__u8 flags = 0;
	__u32 nr;

	if (!caller)
		return 0;
	if (fresh) {
		/* It was in the call when its watch began; a thread that was just born seems to return from the call that
		 * made it, and did not wait. */
		__u64 *from = bpf_map_lookup_elem(&since, &caller->pid);

		nr = BPF_CORE_READ(regs, orig_ax);
		if (!from || (result == 0 && (nr == 56 || nr == 57 || nr == 58 || nr == 435)))
			return 0;
		caller->nr = nr;
		caller->enter_ns = *from;
		flags = CALL_BEGAN_BEFORE;
	}
	if (!caller->enter_ns)
		return 0;
	bool coarse = caller->coarse && !flags;
	__u64 now = 0, length = 0;

	if (!coarse || bpf_jiffies64() - caller->ticks >= COARSE_LONG_TICKS) {
		now = bpf_ktime_get_ns();
		length = now - caller->enter_ns;
	}
	/* One whose beginning was not seen has no length that could be counted. */
	if (!flags)
		count_call(caller, length, result, coarse);
	if (!length)
		goto over;
	if (coarse)
		flags = CALL_COARSE;
	caller->last_ns = now;
	judge_rate(caller, now);
	struct scratch *s;
	struct call_shape *shape;

	nr = caller->nr;
	if (length < config.min_ns || !(s = scratch()) || !(shape = bpf_map_lookup_elem(&shapes, &nr)) || !shape->tell)
		goto over;
	begin_event(&s->event, caller, CALL_TOLD);
	s->event.exit_ns = now;
	s->event.result = result;
	s->event.flags = flags;
	if (!read_call(s, (void *)bpf_get_current_task_btf(), regs, shape, true) || !may_tell(s, now))
		goto over;
	bpf_get_current_comm(s->event.comm, sizeof(s->event.comm));
	if (s->stacks < config.most_stacks) {
		s->stacks += 1;
		s->event.stack_ns = send_stack();
	} else {
		lost(3);
	}
	send_event(s);
over:
	caller->enter_ns = 0;
	return 0;
}

/* What the kernel gives to a program that walks over all threads (kernel/bpf/task_iter.c). */
struct bpf_iter__task___fathom {
	void *meta;
	struct task_struct *task;
};

/* Calls that have not ended: read by user space when the recording ends, and for an excerpt of one that goes on. What a
 * call names in its thread's memory cannot be read from here. */
SEC("iter/task")
int each_task(struct bpf_iter__task___fathom *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_struct___fathom *thread = (void *)task;
	struct caller known = {}, *caller;
	struct call_shape *shape;
	__u32 zero = 0, nr;
	__u8 flags = CALL_UNFINISHED;
	struct scratch *s = bpf_map_lookup_elem(&walk_scratch, &zero);

	if (!task || !s || (BPF_CORE_READ(thread, flags) & (TASK_IS_KERNEL_THREAD | TASK_EXITS)))
		return 0;
	struct pt_regs___fathom *regs = (void *)bpf_task_pt_regs(task);

	caller = bpf_task_storage_get(&callers, task, 0, 0);
	if (caller && caller->kernel_tid == BPF_CORE_READ(thread, pid)) {
		known = *caller;
		if (known.coarse)
			flags |= CALL_COARSE;
	} else {
		/* It is in the same call since before its watch began. */
		known.pid = pid_of(thread);
		known.tid = tid_of(thread);
		known.nr = BPF_CORE_READ(regs, orig_ax);
		__u64 *from = bpf_map_lookup_elem(&since, &known.pid);

		if (!from || known.pid == own_pid)
			return 0;
		known.enter_ns = *from;
		flags |= CALL_BEGAN_BEFORE;
	}
	__u64 now = bpf_ktime_get_ns();

	nr = known.nr;
	if (!known.enter_ns || now < known.enter_ns + config.min_ns || !(shape = bpf_map_lookup_elem(&shapes, &nr))
	    || !shape->tell || shape->polls)
		return 0;
	begin_event(&s->event, &known, CALL_TOLD);
	s->event.exit_ns = now;
	s->event.flags = flags;
	if (!read_call(s, (void *)task, regs, shape, false))
		return 0;
	BPF_CORE_READ_STR_INTO(&s->event.comm, thread, comm);
	send_event(s);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_exit, struct task_struct *task)
{
	struct caller *caller = bpf_task_storage_get(&callers, task, 0, 0);
	struct scratch *s = scratch();

	if (!caller || !s)
		return 0;
	begin_event(&s->event, caller, CALL_THREAD_ENDED);
	s->event.exit_ns = bpf_ktime_get_ns();
	bpf_get_current_comm(s->event.comm, sizeof(s->event.comm));
	send_event(s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
