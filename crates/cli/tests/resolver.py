"""A resolver on port 53 of the loopback: answers after a delay (argument, seconds); names that
begin with "lost" never.
"""
import socket
import struct
import sys
import threading
import time

delay = float(sys.argv[1])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
print("ready", flush=True)


def answer(question, client):
    end = 12
    while question[end]:
        end += 1 + question[end]
    kind = struct.unpack(">H", question[end + 1 : end + 3])[0]
    if question[13:17] == b"lost":
        return
    time.sleep(delay)
    found = kind == 1
    reply = question[:2] + struct.pack(">HHHHH", 0x8180, 1, found, 0, 0) + question[12 : end + 5]
    if found:
        reply += b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes([127, 0, 0, 9])
    server.sendto(reply, client)


while True:
    packet, sender = server.recvfrom(600)
    threading.Thread(target=answer, args=(packet, sender), daemon=True).start()
