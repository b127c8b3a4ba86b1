/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What a system call was on: the file or the peer behind its descriptor, the path or the address it
 * names. Part of syscalls.bpf.c. */

/* fs/pipe.c, net/socket.c and fs/anon_inodes.c: include/uapi/linux/magic.h */
#define ANON_INODE_MAGIC 0x09041934
#define MODE_TYPE 0170000
#define MODE_SOCKET 0140000
/* include/uapi/linux/fcntl.h */
#define AT_WORKING_DIRECTORY (-100)
/* Names of a path at most. */
#define MOST_NAMES 48

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

		/* The root of a namespace, or of a file system that is mounted
		 * nowhere (pipes, memfd). */
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

/* What a call of a thread was on; false when a call on that is not reported. `own`: it is the
 * current thread, whose memory can be read. */
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
	if (shape->report == REPORT_FILES && event->magic == ANON_INODE_MAGIC)
		return false;
	if (shape->report == REPORT_SOCKET && (!event->socket.family || event->socket.state == STATE_LISTEN))
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
