"""Copies lines from standard input to standard output, each with the time of its arrival (CLOCK_MONOTONIC, nanoseconds) and a space before
it. The soak's client parses answers of megabytes, and what comes meanwhile must not look late: this process only reads, and keeps what
the client does not take yet."""
import collections
import os
import select
import time

CHUNK = 1 << 20


def main():
    waiting, done, partial, ended = collections.deque(), 0, [], False
    os.set_blocking(1, False)
    while waiting or not ended:
        readable, writable, _ = select.select([] if ended else [0], [1] if waiting else [], [])
        if readable:
            data = os.read(0, CHUNK)
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            ended = not data
            *whole, rest = data.split(b'\n')
            for line in whole:
                waiting.append(b'%d %s\n' % (now, b''.join([*partial, line])))
                partial = []
            partial.append(rest)
        if writable:
            try:
                done += os.write(1, memoryview(waiting[0])[done:done + CHUNK])
            except BlockingIOError:
                continue
            except BrokenPipeError:
                return
            if done == len(waiting[0]):
                waiting.popleft()
                done = 0


if __name__ == '__main__':
    main()
