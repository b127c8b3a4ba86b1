"""A resolver that answers each DNS query for an address with 127.0.0.1: at once, or late while it
is switched `on`.

python3 -m faultlab.resolver ADDRESS SECONDS
"""
import socket
import sys
import threading
import time

TYPE_A = 1
# Of the query: flags of an answer without error, one question, no other records. Then the answer:
# the name at offset 12.
ONE_ANSWER = b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00"
NO_ANSWER = b"\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00"
LOCALHOST = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x7f\x00\x00\x01"


def question(packet):
    """The bytes of the first question of a packet, and its type."""
    at = 12
    while packet[at]:
        at += packet[at] + 1
    return packet[12:at + 5], int.from_bytes(packet[at + 1:at + 3])


def answer(packet):
    asked, kind = question(packet)
    return packet[:2] + (ONE_ANSWER + asked + LOCALHOST if kind == TYPE_A else NO_ANSWER + asked)


def main():
    address, late = sys.argv[1], float(sys.argv[2])
    is_late = threading.Event()
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))

    def follow():
        for line in sys.stdin:
            is_late.set() if line == "on\n" else is_late.clear()

    threading.Thread(target=follow, daemon=True).start()
    print("ready", flush=True)

    def reply(packet, asker, delay):
        time.sleep(delay)
        server.sendto(answer(packet), asker)

    while True:
        packet, asker = server.recvfrom(1500)
        threading.Thread(target=reply, args=(packet, asker, late if is_late.is_set() else 0), daemon=True).start()


if __name__ == "__main__":
    main()
