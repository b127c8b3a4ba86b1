"""Threads that live for a millisecond, one after the other from several makers, each of which makes
known calls. Argument: how many threads.

Prints how often each of the calls was made."""

import os
import sys
import threading

MAKERS = 4
ROUNDS = 5
CALLS = {
    "sched_rr_get_interval": lambda: os.sched_rr_get_interval(0),
    "getsid": lambda: os.getsid(0),
    "getpgid": lambda: os.getpgid(0),
    "getpriority": lambda: os.getpriority(os.PRIO_PROCESS, 0),
    "sched_getscheduler": lambda: os.sched_getscheduler(0),
    "sched_get_priority_max": lambda: os.sched_get_priority_max(os.SCHED_FIFO),
    "sched_get_priority_min": lambda: os.sched_get_priority_min(os.SCHED_FIFO),
    "getresuid": os.getresuid,
    "getresgid": os.getresgid,
    "times": os.times,
}


def brief():
    for call in CALLS.values():
        for _ in range(ROUNDS):
            call()


def make(threads):
    for _ in range(threads):
        thread = threading.Thread(target=brief)
        thread.start()
        thread.join()


def main():
    each = int(sys.argv[1]) // MAKERS
    makers = [threading.Thread(target=make, args=(each,)) for _ in range(MAKERS)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    for name in CALLS:
        print(name, each * MAKERS * ROUNDS)


main()
