"""What the zygote changes of the interpreter for speed is not to be noticed: print, fork hooks, where memory lies."""
import subprocess

import pytest

import sandbox

PRINTS = r'''
import contextlib, inspect, io, pickle, sys
class Loud:
    def __str__(self): print("inner"); return "loud"
class Broken:
    def __str__(self): raise ValueError("broken")
class Text(str):
    def __str__(self): return "subclass"
def attempt(*values, **options):
    try: print(*values, **options)
    except Exception as e: print(" ->", type(e).__name__, e)
print(); print("a"); print("a", 1, 1.5, None, True, [1], {2: 3}); print("a", "b", sep="", end=""); print(end="!\n")
print("x", Loud(), 1, sep="-", end="$\n")
attempt("before", Broken(), "after")
attempt(1, sep=3); attempt(1, end=b""); attempt(1, nonsense=2); attempt(1, file=3); attempt(1, sep=None, end=None, flush=[1])
attempt(1, flush=Broken())
print(Text("t"), "\u2028", "\ud800", "é" * 3, sep="|")
print(1, 2, file=None); print(1, 2, file=sys.stdout)
with contextlib.redirect_stdout(io.StringIO()) as caught: print("caught", 2, sep="")
print(repr(caught.getvalue()))
class Tee:
    def __init__(self): self.parts = []
    def write(self, text): self.parts.append(text)
    def flush(self): self.parts.append("flushed")
saved, sys.stdout = sys.stdout, Tee()
print("a", "b", flush=True)
saved, sys.stdout = sys.stdout.parts, saved
print(saved)
print(print, inspect.signature(print), print.__module__, print.__qualname__, len(print.__doc__) > 100)
print(pickle.loads(pickle.dumps(print)) is print, isinstance(print, type(len)))
print(print("x") is None)
'''


def test_print_is_as_in_any_interpreter(program):
    receipt = program.exec_json(PRINTS, expect='ok')
    plain = subprocess.run(['/usr/bin/python3', '-X', 'utf8', '-u', '-c', 'import sys; sys.stdout.reconfigure(errors="backslashreplace")\n' + PRINTS],
                           stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60)
    assert receipt['stdout'] == plain.stdout.decode('utf-8')


def test_print_leaves_in_one_piece(program):
    code = ('import os, socket\n'
            'ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n'
            'ours.settimeout(5)\n'
            'saved = os.dup(1)\n'
            'os.dup2(theirs.fileno(), 1)\n'
            'print("a", 1, None, sep="-")\n'
            'print("no newline", end="")\n'
            'os.dup2(saved, 1)\n'
            '[ours.recv(100), ours.recv(100)]')
    receipt = program.exec_json(code, '--policy', 'open', expect='ok')
    assert receipt['result']['repr'] == "[b'a-1-None\\n', b'no newline']"


def test_what_was_printed_survives_a_kill(program):
    receipt = program.exec_json('import os\nprint("no newline", end="")\nos.kill(os.getpid(), 11)', expect='crashed')
    assert receipt['stdout'] == 'no newline'


FORKS = '''
import logging, os, random, threading
def child(work):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.write(writer, repr(work()).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as f:
        text = f.read().decode()
    os.waitpid(pid, 0)
    return text
random.seed(7)
same = child(random.random) == repr(random.random())
seen = []
os.register_at_fork(before=lambda: seen.append("before"), after_in_child=lambda: seen.append("child"), after_in_parent=lambda: seen.append("parent"))
in_child = child(lambda: seen)
logging._acquireLock()  # a child must get one that is free, and the parent keep its own
logging._releaseLock()
thread = threading.Thread(target=lambda: stop.wait(10))
stop = threading.Event()
thread.start()
threads = child(lambda: [t is threading.main_thread() for t in threading.enumerate()])
stop.set()
thread.join()
[same, in_child, seen[:2], threads, repr(os.register_at_fork), os.register_at_fork.__module__, threading.main_thread().native_id == os.getpid()]
'''


@pytest.mark.parametrize('serve', [False, True], ids=['exec', 'mcp-serve'])
def test_a_fork_by_the_guest_runs_every_hook(program, server, serve):
    """mcp-serve preloads random, threading and others, and leaves out what a payload does not need of their hooks."""
    receipt = server.call(FORKS, policy='open', expect='ok') if serve else program.exec_json(FORKS, '--policy', 'open', expect='ok')
    assert receipt['result']['json'] == [False, "['before', 'child']", ['before', 'parent'], '[True]',
                                         '<built-in function register_at_fork>', 'posix', True], receipt


def test_jails_of_one_zygote_differ(server):
    code = 'import random, tempfile, uuid\n[random.random(), str(random.getrandbits(64)), next(tempfile._get_candidate_names()), str(uuid.uuid1())[-17:]]'
    seen = [server.call(code, f's{i}', policy='open', expect='ok')['result']['json'] for i in range(6)]
    for column in list(zip(*seen))[:3]:
        assert len(set(column)) == len(column), column


def test_the_memory_of_a_call_is_the_guests(program, server):
    """Where there is no memory cgroup the bound is on address space, and what is reserved for the interpreter counts."""
    size = (10 if sandbox.SANITIZED else 100) << 20  # the sanitizers' own memory is in the same limit
    code = f'len(bytearray({size}))'
    assert program.exec_json(code, '--memory', '128M', expect='ok')['result']['json'] == size
    assert server.call(code, profile='quick', expect='ok')['result']['json'] == size


def test_payloads_share_their_code_in_huge_pages(server):
    code = ('import re\n'
            'text = open("/proc/self/smaps").read()\n'
            'found = re.findall(r"^[0-9a-f]+-[0-9a-f]+ (r-xp) .*?^AnonHugePages: +(\\d+) kB", text, re.M | re.S)\n'
            'sum(int(kb) for _, kb in found)')
    with open('/sys/kernel/mm/transparent_hugepage/enabled', encoding='ascii') as f:
        if '[never]' in f.read():
            pytest.skip('kernel cannot: no transparent huge pages')
    assert server.call(code, policy='open', expect='ok')['result']['json'] >= 2048
