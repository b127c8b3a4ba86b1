"""What a run leaves in the system, and how it is undone, even when the run itself is killed.

A separate process holds the other end of a pipe. What is started, mounted, frozen or limited is
reported to it first and taken off its list when it was undone. When the pipe ends, it undoes what
is left, newest first: so a lab that was killed leaves no JVM, no control group and no mount behind.
"""
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def started_at(pid):
    """The start time of a process in ticks, which identifies it together with its pid."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]


def end_process(value):
    """Ends a process, its own children first."""
    pid, _, started = value.partition(" ")
    if started_at(pid) != started:
        return
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            end_process(f"{child} {started_at(child)}")
    for sent in (signal.SIGCONT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), sent)


def end_group(value):
    """Lifts the limit of a control group, and removes it as soon as nobody is in it."""
    group = Path(value)
    if not group.is_dir():
        return
    limit_group(group, -1)
    for _ in range(100):
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.1)


def limit_group(group, quota):
    """Gives a control group `quota` microseconds of each tenth of a second; -1: no limit."""
    version_1 = group / "cpu.cfs_quota_us"
    if version_1.exists():
        version_1.write_text(str(quota))
    else:
        (group / "cpu.max").write_text(f"{quota if quota > 0 else 'max'} 100000")


def thaw(value):
    subprocess.run(["fsfreeze", "-u", str(value)], stderr=subprocess.DEVNULL, check=False)


def unmount(value):
    """Unmounts, as soon as the killed processes have released their files."""
    for _ in range(100):
        if not os.path.ismount(value):
            return
        subprocess.run(["umount", value], stderr=subprocess.DEVNULL, check=False)
        time.sleep(0.1)


def go_on(value):
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(value), signal.SIGCONT)


UNDO = {"process": end_process, "group": end_group, "frozen": thaw, "mount": unmount, "stopped": go_on}


class Keeper:
    """The lab's end of the pipe."""

    def __init__(self):
        here = Path(__file__).resolve().parent.parent
        self.process = subprocess.Popen([sys.executable, "-m", "faultlab.keeper"], cwd=here, text=True,
                                        stdin=subprocess.PIPE, start_new_session=True)

    def report(self, sign, kind, value):
        self.process.stdin.write(f"{sign}{kind} {value}\n")
        self.process.stdin.flush()

    @contextlib.contextmanager
    def held(self, kind, value):
        """Something that is undone at the end of the block, or by the keeper if the end is never
        reached.
        """
        self.report("+", kind, value)
        try:
            yield
        finally:
            UNDO[kind](str(value))
            self.report("-", kind, value)

    @contextlib.contextmanager
    def started(self, command, **options):
        """A process that lives no longer than the block."""
        process = subprocess.Popen(command, **options)
        with self.held("process", f"{process.pid} {started_at(process.pid)}"):
            yield process
        process.wait()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    held = []
    for line in sys.stdin:
        sign, what = line[0], line[1:].rstrip("\n")
        if sign == "+":
            held.append(what)
        elif what in held:
            held.remove(what)
    for what in reversed(held):
        kind, _, value = what.partition(" ")
        UNDO[kind](value)


if __name__ == "__main__":
    main()
