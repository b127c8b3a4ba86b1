/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What disk.bpf.c sends to user space. Read by src/disk/record.rs. */
#ifndef FATHOM_DISK_H
#define FATHOM_DISK_H

#include "types.h"

#define DISK_NAME 32

/* What user space asks for. */
struct disk_config {
	__u64 min_ns;   /* requests, commits, writeback and syncs of at least this length
	                 * are reported one by one */
	__u64 jiffy_ns; /* a tick of the kernel's clock */
	__u64 page_bytes;
	__u64 large_bytes; /* files of which as much was written back at once are reported one by
	                    * one, however short it took */
	__u32 most;     /* requests reported one by one, and files, for each CPU
	                 * and tenth of a second */
	__u32 pad;
};

enum disk_op {
	DISK_READ,
	DISK_WRITE,
	DISK_FLUSH,
	DISK_DISCARD,
	DISK_OTHER,
};

/* Requests are counted by device, kind and who issued them. */
struct disk_key {
	__u32 dev;  /* as the kernel has it: 12 bits major, 20 bits minor */
	__u32 op;   /* enum disk_op */
	__u32 pid;  /* of a target; 0: another process, `comm` */
	char comm[16];
	__u32 pad;
};

struct disk_counts {
	__u64 count;
	__u64 bytes;
	__u64 queue_ns;  /* from its making to its issue to the device */
	__u64 device_ns; /* from its issue to its completion */
	__u64 longest_ns;
	__u64 failed;
	char device[DISK_NAME];
};

/* What an event reports. */
enum disk_what {
	DISK_REQUEST = 1,
	DISK_COMMIT = 2,    /* of a journal */
	DISK_WRITEBACK = 3, /* `number`: enum wb_reason of include/linux/backing-dev-defs.h */
	DISK_THROTTLE = 4,  /* a thread that writes is made to wait for writeback */
	DISK_SYNC = 5,      /* `number`: the system call; `inode`, `fd`: of which file */
	DISK_FILE = 6,      /* a file written back: struct disk_file; `number`: whether somebody
	                     * waits (enum writeback_sync_modes) */
};

struct disk_event {
	__u64 from_ns;
	__u64 issued_ns; /* of a request */
	__u64 to_ns;
	__u64 bytes;
	__u64 inode;
	__u32 what;
	__u32 number; /* of a request: enum disk_op */
	__u32 pid;    /* who issued it */
	__u32 tid;
	__u32 dev;
	__s32 result; /* of a request: blk_status_t; of a system call: what it returned */
	__u32 fd;
	__u32 pad;
	char comm[16];
	char name[DISK_NAME]; /* the device; of a sync: the file, without folders */
};

/* Who wrote to a file last. */
struct disk_writer {
	__u32 pid; /* 0: unknown here */
	char comm[16];
};

#define DISK_NAMES 12
#define DISK_FILE_NAME 48

struct file_name {
	char bytes[DISK_FILE_NAME];
};

/* A file that was written back: `bytes`, `inode` and `dev` of the event are its own,
 * `name` is the device. */
struct disk_file {
	struct disk_event event;
	struct disk_writer writer; /* no name: not seen */
	__u8 metadata;             /* it is a block device's own */
	__u8 cut;                  /* folders above are missing in `names` */
	__u16 pad;
	struct file_name names[DISK_NAMES]; /* its own name, then those of the folders up to the
	                                     * root of the file system */
};

/* What was written back is summed by device and by who wrote to the file last. */
struct written_key {
	__u32 pid; /* of a target; 0: another process, `comm` */
	char comm[16];
	char device[DISK_NAME];
};

/* What was not reported one by one, as there was too much of it. */
enum disk_loss {
	UNREPORTED_REQUESTS = OWN_LOSSES,
	UNREPORTED_FILES,
};

NAMED(disk_loss);
SENT(disk_event);
SENT(disk_file);
NAMED(disk_op);
NAMED(disk_what);

#endif
