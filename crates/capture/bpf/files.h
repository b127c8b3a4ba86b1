/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What stands behind a descriptor of the current thread: the kernel's types for
 * it, by name (CO-RE). */
#ifndef FATHOM_FILES_H
#define FATHOM_FILES_H

#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr___fathom {
	const unsigned char *name;
};

struct hlist_bl_node___fathom {
	void **pprev;
};

struct dentry___fathom {
	struct hlist_bl_node___fathom d_hash;
	struct dentry___fathom *d_parent;
	struct qstr___fathom d_name;
};

struct vfsmount___fathom {
	struct dentry___fathom *mnt_root;
};

/* fs/mount.h */
struct mount___fathom {
	struct mount___fathom *mnt_parent;
	struct dentry___fathom *mnt_mountpoint;
	struct vfsmount___fathom mnt;
};

struct path___fathom {
	struct vfsmount___fathom *mnt;
	struct dentry___fathom *dentry;
};

struct super_block___fathom {
	unsigned long s_magic;
};

struct inode___fathom {
	unsigned short i_mode;
	struct super_block___fathom *i_sb;
	unsigned long i_ino;
};

struct file___fathom {
	void *private_data;
	struct inode___fathom *f_inode;
	unsigned int f_flags;
	struct path___fathom f_path;
};

struct fdtable___fathom {
	unsigned int max_fds;
	struct file___fathom **fd;
};

struct files_struct___fathom {
	struct fdtable___fathom *fdt;
};

struct fs_struct___fathom {
	struct path___fathom root;
	struct path___fathom pwd;
};

struct task_struct___files {
	struct files_struct___fathom *files;
	struct fs_struct___fathom *fs;
};

#pragma clang attribute pop

/* The open file of a descriptor of a thread; none when there is none. */
static __always_inline struct file___fathom *file_of(struct task_struct___files *task, __u32 fd)
{
	struct fdtable___fathom *table = BPF_CORE_READ(task, files, fdt);
	struct file___fathom *file = NULL, **files;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

#endif
