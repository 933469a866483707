"""What the attacked half of the soak runs: one row per kind of attack, with the outcome that its receipt must show. Guest code is
plain Python under a shipped policy; `after` is a second call into the same session, with an outcome of its own."""
import dataclasses
from typing import Any, Callable, Mapping, Optional, Tuple

# A frame on the interpreter's channel with the nonce of the running call (base/wire.h, jail/protocol.h): guest code owns its process
# and finds the nonce in its memory.
FORGE = r'''
import os, re, struct
def nonce():
    found, head = [], re.escape(struct.pack('<HH', 0x4e53, 34)) + b'....(........)' + re.escape(struct.pack('<HHI', 66, 0, 8))
    with open('/proc/self/mem', 'rb', 0) as memory, open('/proc/self/maps') as maps:
        for line in maps:
            span, mode = line.split()[:2]
            start, end = (int(x, 16) for x in span.split('-'))
            if mode[:2] == 'rw' and '[v' not in line and end - start < 64 << 20:
                memory.seek(start)
                found += [m[1] for m in re.finditer(head, memory.read(end - start), re.S)]
    return found[-1]
def field(tag, data):
    return struct.pack('<HHI', tag, 0, len(data)) + data
def send(data):
    while data:
        data = data[os.write(3, data):]
def answer(*fields):
    body = b''.join(fields)
    send(struct.pack('<HHI', 0x4e53, 35, len(body)) + nonce() + body)
OK = field(68, struct.pack('<Q', 0))
'''


@dataclasses.dataclass(frozen=True)
class Attack:
    name: str
    code: str
    status: Tuple[str, ...]                       # any of these; with a cgroup
    without_cgroup: Optional[Tuple[str, ...]] = None  # where nothing caps memory over a tree of processes (doc/HOSTS.md)
    hit: Optional[str] = None                     # limits.hit, where the kind decides it
    check: Optional[Callable[[Mapping[str, Any]], bool]] = None
    after: Optional[str] = None
    after_status: Tuple[str, ...] = ('ok',)
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    needs_cgroup: bool = False                    # left out elsewhere: nothing there bounds what it takes


def error(receipt, kind):
    return receipt['error'] is not None and receipt['error']['type'] == kind


def signal(number):
    return lambda receipt: receipt['error']['signal'] == number


def denied(what, at_least):
    return lambda receipt: sum(row['count'] for row in receipt['denied'] if row['what'].startswith(what)) >= at_least


SHORT = {'timeout': 0.3}
SMALL = {'profile': 'quick'}
CHILD = 'import os, signal, time\n'

ATTACKS = (
    # processes
    Attack('fork bomb', 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass', ('timeout',), hit='timeout', arguments=SHORT,
           check=lambda r: r['metrics']['pids_peak'] is None or r['metrics']['pids_peak'] >= 16),
    Attack('thread bomb', 'import threading, time\nheld = []\ntry:\n  while True:\n    t = threading.Thread(target=time.sleep, args=(60,), daemon=True)\n'
           '    t.start()\n    held.append(t)\nexcept RuntimeError: pass\nlen(held)', ('ok',), check=lambda r: 30 <= r['result']['json'] <= 64),
    Attack('daemonised children', CHILD + 'for n in range(8):\n  if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(3600)\n'
           '    os._exit(0)\nfor n in range(8): os.wait()\n"left"', ('ok',), after='len([p for p in os.listdir("/proc") if p.isdigit()])',
           check=lambda r: r['result']['json'] == 'left'),
    Attack('stopped children', CHILD + 'for n in range(8):\n  if os.fork() == 0:\n    os.setsid()\n    os.kill(os.getpid(), signal.SIGSTOP)\n'
           '    os._exit(0)\ntime.sleep(0.02)\n"stopped"', ('ok',), check=lambda r: r['result']['json'] == 'stopped'),
    Attack('stopped interpreter', CHILD + 'os.kill(os.getpid(), signal.SIGSTOP)', ('timeout',), hit='timeout', arguments=SHORT),
    Attack('spin past the time-out', 'while True: pass', ('timeout',), hit='timeout', arguments=SHORT,
           check=lambda r: r['metrics']['cpu_user_ms'] is None or r['metrics']['cpu_user_ms'] > 1),
    Attack('sleep past the time-out', 'import time\ntime.sleep(60)', ('timeout',), hit='timeout', arguments=SHORT),
    Attack('signals ignored', CHILD + 'for n in range(1, 65):\n  try: signal.signal(n, signal.SIG_IGN)\n  except (OSError, ValueError): pass\ntime.sleep(60)',
           ('timeout',), hit='timeout', arguments=SHORT),
    # memory
    Attack('out of memory', 'hoard = []\nwhile True: hoard.append(bytearray(1 << 22))', ('out_of_memory',), ('error',),
           arguments=SMALL, check=lambda r: r['limits']['hit'] == 'memory' or error(r, 'MemoryError')),
    Attack('out of memory in a child', CHILD + 'pid = os.fork()\nif pid == 0:\n  hoard = []\n  while True: hoard.append(bytearray(1 << 22))\n'
           'os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])', ('ok',), arguments=SMALL, check=lambda r: r['result']['json'] == -9, needs_cgroup=True),
    Attack('memory files', 'import os\nheld = []\nwhile True:\n  held.append(os.memfd_create("x"))\n  os.write(held[-1], bytes(1 << 22))', ('out_of_memory',),
           hit='memory', arguments=SMALL, needs_cgroup=True),
    # disk and descriptors
    Attack('disk full by bytes', 'n = 0\nwhile True:\n  with open(f"/tmp/{n}", "wb", 0) as f: f.write(bytes(1 << 22))\n  n += 1', ('error',), hit='disk',
           check=lambda r: 'Errno 28' in r['error']['message']),
    Attack('file too long', 'with open("/session/fill", "wb", 0) as f:\n  while True: f.write(bytes(1 << 22))', ('error',),
           check=lambda r: 'Errno 27' in r['error']['message'] or 'Errno 28' in r['error']['message']),
    Attack('disk full by inodes', 'n = 0\nwhile True:\n  open(f"/session/{n}", "w").close()\n  n += 1', ('error',), hit='disk',
           check=lambda r: 'Errno 28' in r['error']['message']),
    Attack('descriptors exhausted', 'import os\nheld = []\nwhile True: held.append(os.open("/dev/null", 0))', ('error',), after='len(held) < 256',
           check=lambda r: 'Errno 24' in r['error']['message']),
    # floods
    Attack('output flood', 'import os\nblock = b"x" * 65536\nwhile True: os.write(1, block)', ('timeout',), arguments=SHORT,
           check=lambda r: r['output']['truncated'] and r['output']['stdout_bytes'] > 1 << 18 and len(r['stdout']) < 600_000),
    Attack('output flood on both', 'import os\nblock = bytes(range(256)) * 64\nfor n in range(512):\n  os.write(1, block)\n  os.write(2, block)', ('ok',),
           check=lambda r: r['output']['stdout_bytes'] == r['output']['stderr_bytes'] == 512 * 16384),
    Attack('output of NUL', 'import os\nfor n in range(8):\n  os.write(1, bytes(65536))\n  os.write(2, bytes(65536))', ('ok',),
           check=lambda r: r['output']['stdout_bytes'] == 8 * 65536),
    Attack('output in single bytes', 'import os\nwhile True: os.write(1, b"\\xff")', ('timeout',), hit=None, arguments=SHORT),
    Attack('denied-call flood', 'import socket\nwhile True:\n  try: socket.socket()\n  except OSError: pass', ('timeout',), arguments=SHORT,
           check=denied('socket', 100)),
    Attack('denied-import flood', 'for n in range(2000):\n  try: __import__(f"ctypes.m{n}")\n  except ImportError: pass', ('ok',),
           check=lambda r: sum(row['layer'] == 'import' for row in r['denied']) <= 32),
    Attack('deep value', 'v = []\nfor n in range(3000): v = [v]\nv', ('error',), check=lambda r: error(r, 'RecursionError')),
    Attack('huge value', '"\\x00" * (1 << 24)', ('ok',), check=lambda r: r['result']['truncated']),
    Attack('huge traceback', 'raise ValueError("\\udcff\\x1b[2J" * (1 << 20))', ('error',)),
    # against the supervisor
    Attack('hostile frames', 'import os\nwhile True: os.write(3, os.urandom(65536))', ('crashed',)),
    Attack('frames of another call', FORGE + 'while True: send(struct.pack("<HHIQ", 0x4e53, 35, 0, 7))', ('crashed',)),
    Attack('half a frame', FORGE + 'import time\nsend(struct.pack("<HHI", 0x4e53, 35, 1 << 20))\ntime.sleep(60)', ('timeout',), hit='timeout', arguments=SHORT),
    Attack('frame without end', FORGE + 'send(struct.pack("<HHI", 0x4e53, 35, 0xffffffff))\nwhile True: send(bytes(65536))', ('crashed',)),
    Attack('huge claims', FORGE + 'answer(OK, field(69, b"\\xff" * 900_000), field(71, b"[" * 900_000), field(71, b"[" + b"1," * 100_000 + b"1]"), '
           '*[field(77, struct.pack("<Q", 1 << 63) + b"import\\0" + b"\\x1b" * 4000)] * 300)', ('ok', 'crashed'),
           check=lambda r: len(str(r)) < 2 << 20),
    Attack('two answers', FORGE + 'import time\nanswer(OK, field(69, b"1"))\nanswer(OK, field(69, b"2"))\ntime.sleep(60)', ('ok', 'crashed')),
    Attack('channel half shut for reading', 'import os, socket\nsocket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_RD)', ('ok', 'crashed'), after='1',
           after_status=('ok', 'crashed')),
    Attack('channel half shut for writing', 'import os, socket\nsocket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_WR)', ('crashed',)),
    Attack('channel closed', 'import os\nos.close(3)', ('crashed',)),
    Attack('output closed', 'import os\nos.close(1)\nos.close(2)\n7', ('ok', 'error'), after='8'),
    Attack('descriptors to the supervisor', 'import array, os, socket\nfd = os.open("/dev/null", 0)\nchannel = socket.socket(fileno=os.dup(3))\n'
           'while True: channel.sendmsg([b"x" * 512], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd] * 200))])', ('crashed',), ('crashed', 'error')),
    Attack('descriptors in flight', 'import array, os, socket\nheld, fd = [], os.open("/dev/null", 0)\ntry:\n  while len(held) < 50:\n'
           '    held.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))\n'
           '    held[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd] * 200))])\n'
           'except OSError: pass\nlen(held)', ('ok',)),
    Attack('sockets in a ring', 'import array, socket\nfor n in range(20):\n  a, b = socket.socketpair()\n'
           '  a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [b.fileno()] * 4))])\n'
           '  b.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [a.fileno()] * 4))])\n  a.close(); b.close()\n"rings"',
           ('ok',), ('ok', 'error'), check=lambda r: r['status'] == 'error' or r['result']['json'] == 'rings'),
    # ends
    Attack('SIGSEGV', 'import os\nos.kill(os.getpid(), 11)', ('crashed',), check=signal(11)),
    Attack('stack overflow', 'import sys\nsys.setrecursionlimit(1 << 30)\ndef f(): return [*map(lambda x: f(), (1,))]\nf()', ('crashed',), check=signal(11)),
    Attack('os._exit', 'import os\nos._exit(3)', ('crashed',), check=lambda r: r['error']['exit_code'] == 3),
    Attack('kill of everything', 'import os\nfor pid in (1, -1):\n  for n in (9, 19, 11):\n    try: os.kill(pid, n)\n    except OSError: pass\n"here"',
           ('ok', 'crashed')),
)


def for_host(with_cgroup):
    """The attacks that this host's walls are promised to hold, with the statuses that they must end in."""
    chosen = []
    for attack in ATTACKS:
        if with_cgroup:
            chosen.append(attack)
        elif not attack.needs_cgroup:
            chosen.append(dataclasses.replace(attack, status=attack.without_cgroup or attack.status))
    return chosen
