"""A rank that speaks the bootstrap's protocol by itself and prints what it hears.

usage: bootstrap_client.py killed   all ranks exchange their number, then rank 1 is killed and the others wait for it
       bootstrap_client.py early    rank 1 ends well without a word, and the others wait for it
"""

import os
import signal
import socket
import struct
import sys

HELLO, GIVE, WELCOME, ALL, FAILED = 0, 1, 4, 6, 7
MAGIC = 0x524F4E31


def talk(line: socket.socket, kind: int, content: bytes) -> tuple[int, bytes]:
    line.sendall(struct.pack("=IB", len(content), kind) + content)
    length, answer = struct.unpack("=IB", line.recv(5, socket.MSG_WAITALL))
    return answer, line.recv(length, socket.MSG_WAITALL) if length else b""


def connect(rank: int, size: int) -> socket.socket:
    line = socket.socket(socket.AF_UNIX)
    line.connect("\0" + os.environ["RONDE__BOOTSTRAP"].removeprefix("@"))
    assert talk(line, HELLO, struct.pack("=Iii", MAGIC, rank, size)) == (WELCOME, b"")
    return line


def exchange(line: socket.socket, rank: int, size: int) -> None:
    kind, content = talk(line, GIVE, str(rank).encode())
    assert kind == ALL
    print("all:", ",".join(content[8 + 5 * i : 9 + 5 * i].decode() for i in range(size)), flush=True)


def wait_in_vain(line: socket.socket) -> None:
    kind, content = talk(line, GIVE, b"x")
    assert kind == FAILED
    _, count, lost = struct.unpack("=III", content[:12])
    print("lost:", count, lost, content[16:].decode(), flush=True)


def main() -> None:
    rank, size = int(os.environ["RONDE__RANK"]), int(os.environ["RONDE__SIZE"])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the launcher stops us when rank 1 dies; we want to hear why
    if sys.argv[1] == "early" and rank == 1:
        return
    with connect(rank, size) as line:
        if sys.argv[1] == "killed":
            exchange(line, rank, size)
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        wait_in_vain(line)


if __name__ == "__main__":
    main()
