"""Faults that are applied to a JVM from outside, and undone."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from .keeper import limit_group

BURNERS = 12
THROTTLED_US = 5000
LITTLE_OF_A_CPU_US = 60_000
WRITER = ("import os,sys\nf=os.open(sys.argv[1],os.O_WRONLY|os.O_CREAT|os.O_DSYNC)\n"
          "while True:\n os.pwrite(f,b'x'*262144,0)")
BURN = "while True: pass"
# What jcmd asks the JVM again and again, and the seconds in between.
ASKED = {"class-histograms": ("GC.class_histogram", "0.1"), "heap-figures": ("GC.heap_info", "2")}


class Outside:
    """One injector. `stack` holds what it needs for the whole run, `during` what a fault does."""

    def __init__(self, what, keeper, folder):
        self.what, self.keeper, self.folder = what, keeper, folder
        self.stack, self.during = contextlib.ExitStack(), contextlib.ExitStack()
        self.group = self.pid = None

    def log_folder(self):
        """Where the GC log is written: on a disk of its own if that is to be frozen."""
        if self.what != "freeze-log":
            return self.folder
        disk, image = self.folder / "disk", self.folder / "image"
        disk.mkdir()
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, disk], check=True)
        self.stack.callback(image.unlink)
        self.stack.enter_context(self.keeper.held("mount", disk))
        self.stack.callback(lambda: shutil.copy(disk / "gc.log", self.folder / "gc.log"))
        return disk

    def prepare(self, pid):
        self.pid = pid
        if self.what == "quota":
            root = Path("/sys/fs/cgroup/cpu")
            root = root if root.is_dir() else Path("/sys/fs/cgroup")
            self.group = root / f"fathom-lab-{os.getpid()}"
            self.group.mkdir(exist_ok=True)
            self.stack.enter_context(self.keeper.held("group", self.group))
            (self.group / "cgroup.procs").write_text(str(pid))

    def begin(self):
        """Begins the fault; for a fault that goes on and off it returns the action that is to be
        repeated.
        """
        enter, held, started = self.during.enter_context, self.keeper.held, self.keeper.started
        if self.what == "burn":
            for _ in range(BURNERS):
                enter(started([sys.executable, "-c", BURN]))
        elif self.what == "burn-nicely":
            enter(started(["nice", "-n", "19", sys.executable, "-c", BURN]))
        elif self.what == "write-disk":
            for i in range(3):
                enter(started([sys.executable, "-c", WRITER, str(self.folder / f"written-{i}")]))
        elif self.what == "quota":
            limit_group(self.group, THROTTLED_US)
            self.during.callback(limit_group, self.group, -1)
        elif self.what == "stop":
            enter(held("stopped", self.pid))
            os.kill(self.pid, signal.SIGSTOP)
        elif self.what in ASKED:
            jcmd = Path(f"/proc/{self.pid}/exe").resolve().with_name("jcmd")
            what, pause = ASKED[self.what]
            enter(started(["sh", "-c", 'while "$0" "$1" $2; do sleep $3; done', jcmd, str(self.pid), what, pause],
                          stdout=subprocess.DEVNULL))
        elif self.what == "freeze-log":
            enter(held("frozen", self.folder / "disk"))
            subprocess.run(["fsfreeze", "-f", self.folder / "disk"], check=True)

    def hold(self, seconds):
        """Lets the fault last. Repeated stops happen here."""
        end = time.monotonic() + seconds
        while self.what == "stop-and-go" and time.monotonic() < end:
            with self.keeper.held("stopped", self.pid):
                os.kill(self.pid, signal.SIGSTOP)
                time.sleep(0.35)
            time.sleep(0.15)
        time.sleep(max(0, end - time.monotonic()))

    def end(self):
        self.during.close()

    def close(self):
        """After the JVM has ended."""
        self.stack.close()
        for written in self.folder.glob("written-*"):
            written.unlink()
