/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * Writeback of the page cache: its rounds, the files that are written back in them, and who
 * wrote to those last.
 *
 *   writeback_dirty_inode ───────────┐
 *   writeback_dirty_inode_enqueue ───┴──▶ writers ─┐
 *     (by whom)                                    ▼
 *   writeback_single_inode_start ──▶ writeback_single_inode ──▶ bytes by device and writer; large and slow files reported
 *
 * The kernel's threads write for others. Who dirtied a page is not kept by the kernel; who last
 * changed a file's time or length is seen here, from the begin of the recording on, and who dirtied
 * the first page of a clean one: what is made and written within a tick of the coarse clock changes
 * neither its time nor, with delayed allocation, its length on the disk.
 */
#ifndef FATHOM_WRITEBACK_H
#define FATHOM_WRITEBACK_H

/* A block device's own pages, those of a file system's metadata, are of a file in here
 * (include/uapi/linux/magic.h). */
#define BDEV_MAGIC 0x62646576

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct backing_dev_info___disk {
	char dev_name[64];
};

struct bdi_writeback___disk {
	struct backing_dev_info___disk *bdi;
};

enum wb_reason {
	WB_REASON_BACKGROUND,
};

struct wb_writeback_work___disk {
	enum wb_reason reason;
};

enum writeback_sync_modes {
	WB_SYNC_NONE,
};

struct writeback_control___disk {
	long nr_to_write;
	enum writeback_sync_modes sync_mode;
};

struct hlist_node___disk {
	struct hlist_node___disk *next;
};

struct hlist_head___disk {
	struct hlist_node___disk *first;
};

struct super_block___disk {
	unsigned int s_dev;
	unsigned long s_magic;
	struct backing_dev_info___disk *s_bdi;
};

struct inode___disk {
	struct super_block___disk *i_sb;
	unsigned long i_ino;
	struct bdi_writeback___disk *i_wb; /* with CONFIG_CGROUP_WRITEBACK */
	struct hlist_head___disk i_dentry;
};

union alias___disk {
	struct hlist_node___disk d_alias;
};

struct dentry___disk {
	struct dentry___disk *d_parent;
	struct qstr___fathom d_name;
	union alias___disk d_u;
};

#pragma clang attribute pop

/* Files by file system and number: the pointer of one that is forgotten may be that of another. */
struct file_key {
	__u64 inode;
	__u32 dev;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct file_key);
	__type(value, struct disk_writer);
} writers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct written_key);
	__type(value, __u64); /* bytes */
} written SEC(".maps");

static __always_inline struct file_key file_key(struct inode___disk *inode)
{
	struct file_key key = {.inode = BPF_CORE_READ(inode, i_ino), .dev = BPF_CORE_READ(inode, i_sb, s_dev)};

	return key;
}

static __always_inline int note_writer(struct inode___disk *inode)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct file_key key = file_key(inode);
	struct disk_writer *known = bpf_map_lookup_elem(&writers, &key), fresh = {.pid = pid_of(task)};

	if (known && known->pid == fresh.pid)
		return 0;
	/* A thread of the kernel writes what somebody else wrote: that of a loop device its own
	 * files, and whoever writes back only changes what stands on the disk about a file. */
	if (task->flags & TASK_IS_KERNEL_THREAD) {
		__u64 at = (__u64)inode;

		if (known || bpf_map_lookup_elem(&begun, &at))
			return 0;
	}
	BPF_CORE_READ_STR_INTO(&fresh.comm, task, group_leader, comm);
	bpf_map_update_elem(&writers, &key, &fresh, BPF_ANY);
	return 0;
}

SEC("tp_btf/writeback_dirty_inode")
int BPF_PROG(on_dirty_changed, struct inode___disk *inode)
{
	return note_writer(inode);
}

/* Once for each time that a clean file gets dirty, not for each page. */
SEC("tp_btf/writeback_dirty_inode_enqueue")
int BPF_PROG(on_dirty_first, struct inode___disk *inode)
{
	return note_writer(inode);
}

SEC("tp_btf/writeback_single_inode_start")
int BPF_PROG(on_file_start, struct inode___disk *inode)
{
	begin_work(inode);
	return 0;
}

/* The names from a file up to the root of its file system; a file may have none any more. */
static __always_inline void name_file(struct disk_file *file, struct inode___disk *inode)
{
	struct hlist_node___disk *alias = BPF_CORE_READ(inode, i_dentry.first);
	struct dentry___disk *dentry, *parent;

	if (!alias)
		return;
	dentry = (void *)alias - bpf_core_field_offset(struct dentry___disk, d_u.d_alias);
	for (int i = 0; i < DISK_NAMES; i++) {
		parent = BPF_CORE_READ(dentry, d_parent);
		if (!parent || parent == dentry)
			return;
		bpf_probe_read_kernel_str(file->names[i].bytes, DISK_FILE_NAME, BPF_CORE_READ(dentry, d_name.name));
		dentry = parent;
	}
	/* More of them than there is room for. */
	file->cut = 1;
}

SEC("tp_btf/writeback_single_inode")
int BPF_PROG(on_file_end, struct inode___disk *inode, struct writeback_control___disk *control, unsigned long asked)
{
	__u64 at = (__u64)inode, now = bpf_ktime_get_ns(), *begin = bpf_map_lookup_elem(&begun, &at), from;
	long left = BPF_CORE_READ(control, nr_to_write), pages = asked - left;

	if (!begin)
		return 0;
	from = *begin;
	bpf_map_delete_elem(&begun, &at);
	/* Only its times, or nothing at all. */
	if (pages <= 0)
		return 0;
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	__u64 bytes = pages * config.page_bytes, *sum;
	struct file_key key = file_key(inode);
	struct disk_writer *writer = bpf_map_lookup_elem(&writers, &key);
	struct written_key by = {};
	struct bdi_writeback___disk *wb = NULL;

	if (bpf_core_field_exists(inode->i_wb))
		wb = BPF_CORE_READ(inode, i_wb);
	if (wb)
		BPF_CORE_READ_STR_INTO(&by.device, wb, bdi, dev_name);
	else
		BPF_CORE_READ_STR_INTO(&by.device, inode, i_sb, s_bdi, dev_name);
	if (writer && writer->pid && bpf_map_lookup_elem(&targets, &writer->pid))
		by.pid = writer->pid;
	else if (writer)
		__builtin_memcpy(by.comm, writer->comm, sizeof(by.comm));
	sum = bpf_map_lookup_elem(&written, &by);
	if (sum)
		__sync_fetch_and_add(sum, bytes);
	else if (bpf_map_update_elem(&written, &by, &bytes, BPF_NOEXIST))
		lost(LOST_ENTRY);
	if (now - from < config.min_ns && bytes < config.large_bytes)
		return 0;
	bool may = may_report(now, BUDGET_FILES);
	struct disk_file *file = may ? bpf_ringbuf_reserve(&events, sizeof(*file), 0) : NULL;

	if (!file) {
		lost(may ? LOST_EVENT : UNREPORTED_FILES);
		return 0;
	}
	__builtin_memset(file, 0, sizeof(*file));
	file->event.from_ns = file->event.issued_ns = from;
	file->event.to_ns = now;
	file->event.bytes = bytes;
	file->event.inode = key.inode;
	file->event.dev = key.dev;
	file->event.what = DISK_FILE;
	file->event.number = BPF_CORE_READ(control, sync_mode);
	file->event.pid = pid_of(task);
	file->event.tid = tid_of(task);
	bpf_get_current_comm(file->event.comm, sizeof(file->event.comm));
	__builtin_memcpy(file->event.name, by.device, sizeof(file->event.name));
	if (writer)
		__builtin_memcpy(&file->writer, writer, sizeof(file->writer));
	file->metadata = BPF_CORE_READ(inode, i_sb, s_magic) == BDEV_MAGIC;
	name_file(file, inode);
	bpf_ringbuf_submit(file, 0);
	return 0;
}

SEC("tp_btf/writeback_start")
int BPF_PROG(on_writeback_start, struct bdi_writeback___disk *wb)
{
	begin_work(wb);
	return 0;
}

SEC("tp_btf/writeback_written")
int BPF_PROG(on_writeback_end, struct bdi_writeback___disk *wb, struct wb_writeback_work___disk *work)
{
	struct disk_event *event = end_work(wb, DISK_WRITEBACK);

	if (!event)
		return 0;
	event->number = BPF_CORE_READ(work, reason);
	BPF_CORE_READ_STR_INTO(&event->name, wb, bdi, dev_name);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

#endif
