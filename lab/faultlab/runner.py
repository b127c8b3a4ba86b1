"""Runs one case: the workload, the recorder, and the fault at its time."""
import json
import os
import selectors
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from .outside import Outside

RECORD_SECONDS = 22
LEAST_SECONDS = 5
# The part of the recording in which the fault is on.
FAULT_FROM, FAULT_UNTIL = 9 / 22, 16 / 22
# Some services do some hundred operations before, so that a busy machine warms them up as well.
READY_WITHIN = 240
DUMP_WITHIN = 30
RESULT = "result.json"
# Marks the folder of a run that has not ended, or was aborted.
UNFINISHED = "unfinished"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_ready(process, what):
    """Waits until a program prints `ready`; its other output is dropped."""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        until = time.monotonic() + READY_WITHIN
        said = b""
        while time.monotonic() < until:
            if selector.select(timeout=1):
                some = os.read(process.stdout.fileno(), 4096)
                if not some:
                    break
                said += some
                if b"ready\n" in said:
                    return
    raise RuntimeError(f"{what} did not get ready: {said[-300:].decode(errors='replace')}")


def send(processes, line):
    for process in processes:
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError as gone:
            raise RuntimeError(f"a program of the workload has ended: {process.args[-3:]}") from gone


def busy_ticks():
    """Ticks in which the machine's CPUs were busy, and all ticks."""
    ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def flight(java, pid, folder):
    """Has the JVM write its flight recording; one that does not answer any more leaves none."""
    command = [java / "bin/jcmd", str(pid), "JFR.dump", "name=1", f"filename={folder / 'flight.jfr'}"]
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=DUMP_WITHIN)
    except subprocess.TimeoutExpired:
        pass
    return (folder / "flight.jfr").exists()


def discard(folder):
    """Removes what a service wrote that no verdict needs: its index, its logs, JFR's repository."""
    for left in (*folder.glob("20*_*_*"), *folder.glob("index")):
        shutil.rmtree(left, ignore_errors=True)
    for name in ("library.log", "desk.log"):
        (folder / name).unlink(missing_ok=True)


class Runner:
    """Runs cases on one JDK, with the workloads compiled for it."""

    def __init__(self, fathom, java, feature, seconds, paths, workloads, out, keeper):
        self.fathom, self.java, self.feature, self.seconds = fathom, java, feature, seconds
        self.paths, self.workloads, self.out, self.keeper = paths, workloads, out, keeper

    def commands(self, case, folder, log):
        workload, path = self.workloads[case.workload], self.paths[case.workload]
        flags = [*workload.flags, *case.flags, f"-Xlog:gc*,safepoint:file={log}:time,uptime,level,tags",
                 "-XX:StartFlightRecording=settings=profile", f"-Djava.io.tmpdir={folder}"]
        java = [self.java / "bin/java", *flags, "-cp", path, workload.main]
        if not workload.client:
            return [*java, str(case.workers), "throughput.csv", case.fault], None
        port, peer = free_port(), free_port()
        client = [self.java / "bin/java", "-Xmx200m", "-XX:TieredStopAtLevel=1", "-cp", path,
                  workload.client, str(port), str(peer), str(case.workers), "throughput.csv", case.fault]
        return [*java, str(port), str(peer), case.fault], client

    def run(self, case):
        """Leaves the recording, the logs and `result.json` in the case's folder."""
        folder = self.out / case.id
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / UNFINISHED).touch()
        outside = Outside(case.outside, self.keeper, folder)
        with ExitStack() as stack:
            stack.callback(outside.close)
            log = outside.log_folder() / "gc.log"
            service, client = self.commands(case, folder, log)
            said = stack.enter_context(open(folder / "jvm.out", "wb"))
            pipes = dict(cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
            jvm = stack.enter_context(self.keeper.started(service, **pipes))
            wait_ready(jvm, "the service")
            controlled = [jvm]
            if client:
                controlled.append(stack.enter_context(self.keeper.started(client, **pipes)))
                wait_ready(controlled[1], "its client")
            outside.prepare(jvm.pid)
            stack.callback(outside.end)
            if case.always:
                send(controlled, b"on\n")
                outside.begin()
            if not case.cold:
                time.sleep(self.workloads[case.workload].warm_seconds)
            result = self.recorded(case, jvm, controlled, outside, folder)
            result["flight"] = flight(self.java, jvm.pid, folder)
        discard(folder)
        part = folder / "result.part"
        part.write_text(json.dumps(result, indent=1))
        part.rename(folder / RESULT)
        (folder / UNFINISHED).unlink()
        return result

    def recorded(self, case, jvm, controlled, outside, folder):
        """Records, and injects the fault meanwhile."""
        began, load, busy = time.time(), os.getloadavg(), busy_ticks()
        command = [self.fathom, "record", "-p", str(jvm.pid), "-d", f"{self.seconds:g}s", "-o", "run.fathom"]
        with open(folder / "record.out", "w") as said, \
                self.keeper.started(command, cwd=folder, stdout=said, stderr=said) as recorder:
            time.sleep(max(0, began + self.seconds * FAULT_FROM - time.time()))
            on = time.time()
            changes = not case.always and (case.fault != "none" or case.outside)
            if changes:
                send(controlled, b"on\n")
                outside.begin()
            outside.hold(self.seconds * (FAULT_UNTIL - FAULT_FROM))
            off = time.time()
            if changes:
                outside.end()
                send(controlled, b"off\n")
            recorder.wait(timeout=self.seconds + 90)
        if not (folder / "run.fathom").exists():
            raise RuntimeError(f"nothing was recorded: {(folder / 'record.out').read_text()[-300:]}")
        worked, all_ticks = (after - before for after, before in zip(busy_ticks(), busy))
        return {"schema": 1, "case": case.id, "workload": case.workload, "java": self.feature,
                "record_from": began, "record_seconds": self.seconds, "on": on, "off": off, "load_before": load[0],
                "load_after": os.getloadavg()[0], "cpus": os.cpu_count(),
                "busy_share": worked / max(all_ticks, 1)}
