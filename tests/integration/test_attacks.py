"""Faults that a review by attack found, each as the attack that showed it: what it did must not work any more."""
import os
import signal
import time

import pytest
import watch

# A frame on the interpreter's channel with the nonce of the running call, as base/wire.h and jail/protocol.h define it: guest code
# owns its process and can find it.
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
def answer(*fields):
    body = b''.join(fields)
    os.write(3, struct.pack('<HHI', 0x4e53, 35, len(body)) + nonce() + body)
'''


def test_a_filter_of_the_guests_own_does_not_hide_denials(program):
    code = ('import ctypes, socket\nlibc = ctypes.CDLL(None)\nresult = libc.prctl(22, 2, 0)\n'
            'try: socket.socket()\nexcept OSError: pass')
    receipt = program.exec_json(code, '--policy', 'open', expect='ok')
    assert receipt['result']['repr'] == '-1'
    assert {row['what'] for row in receipt['denied']} >= {'prctl(0x16)', 'socket(AF_INET)'}


def test_claims_do_not_push_kernel_denials_out(program):
    code = ('import os\nfor n in range(70):\n  try: __import__(f"ctypes.m{n}")\n  except ImportError: pass\n'
            'try: os.chroot("/")\nexcept OSError: pass')
    denied = program.exec_json(code, expect='ok')['denied']
    assert {'layer': 'seccomp', 'what': 'chroot', 'count': 1} in denied
    assert sum(row['layer'] == 'import' for row in denied) == 32


@pytest.mark.parametrize('command', ['1026, 0x80000003', '1024, 0', '1031, 1 << 20'], ids=['F_NOTIFY', 'F_SETLEASE', 'F_SETPIPE_SZ'])
def test_commands_that_reach_beyond_the_jail_are_denied(program, command):
    receipt = program.exec_json(f'import fcntl, os\nfcntl.fcntl(os.open("/usr/bin", os.O_RDONLY), {command})', expect='error')
    assert receipt['error']['type'] == 'PermissionError'


def test_no_child_for_the_zygote(program):
    receipt = program.exec_json('import ctypes, os\nctypes.CDLL(None).syscall(56, 0x8011, 0, 0, 0, 0)', '--policy', 'open', expect='ok')
    assert receipt['result']['repr'] == '-1'
    assert receipt['denied'][0]['what'].startswith('clone')


@pytest.mark.parametrize('number, limit', [(11, 256), (12, 0), (4, 0)], ids=['SIGPENDING', 'MSGQUEUE', 'CORE'])
def test_what_counts_per_user_is_bounded(program, number, limit):
    receipt = program.exec_json(f'import resource\nresource.getrlimit({number})', expect='ok')
    assert receipt['result']['json'] == [limit, limit]


def test_descriptors_in_flight_do_not_block_new_sessions(program):
    server = program.serve()
    code = ('import array, os, socket\nheld, fd = [], os.open("/dev/null", 0)\ntry:\n  while len(held) < 50:\n'
            '    held.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))\n'
            '    held[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd] * 200))])\n'
            'except OSError: pass\nlen(held)')
    assert int(server.value(code, 'hoarder')) > 1
    assert server.value('1 + 1', 'other') == '2'
    assert server.close() == 0


def test_a_forged_answer_that_is_malformed_leaves_no_claim(program):
    forged = (FORGE + 'answer(field(69, b"\'forged\'"), field(70, b"str"), field(71, b"1"), field(78, struct.pack("<q", 0)), '
              'field(75, b"Traceback: forged"), field(68, struct.pack("<Q", 99)))\nwhile True: pass')
    receipt = program.exec_json(forged, expect='crashed')
    assert 'result' not in receipt
    assert receipt['error']['traceback'] is None and receipt['error']['exit_code'] is None


def test_a_second_answer_ends_the_session(program):
    server = program.serve()
    server.call('kept = 1', 'forger')
    first = server.call(FORGE + 'answer(field(68, struct.pack("<Q", 0)), field(69, b"42"))\nimport time; time.sleep(0.3)', 'forger')
    assert first['status'] == 'ok'
    time.sleep(0.6)  # the honest answer comes now, and nobody waits for it
    after = server.call('1', 'forger')['session']
    assert after['created'] and after['session_lost']
    assert server.close() == 0


def test_a_channel_that_is_half_shut_costs_the_server_nothing(program):
    server = program.serve()
    server.call('import os, socket, time, threading\nsocket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_RD)', 'half')
    before = watch.cpu(server.pid)
    receipt = server.call('1', 'half', timeout=5)
    assert receipt['session']['created'] or receipt['status'] == 'crashed', receipt
    assert watch.cpu(server.pid) - before < 1
    assert server.value('1', 'half') == '1'
    assert server.close() == 0


def test_sigkill_is_reported_as_such(program):
    receipt = program.exec_json('import os\nos.kill(os.getpid(), 9)', expect='crashed')
    assert receipt['error']['signal'] == 9


@pytest.mark.root
def test_a_childs_oom_kill_does_not_dress_up_an_exit(program):
    code = ('import os\npid = os.fork()\nif pid == 0:\n  hoard = []\n  while True: hoard.append(bytearray(1 << 22))\n'
            'status = os.waitpid(pid, 0)[1]\nprint("child ended by", status, flush=True)\nos._exit(5)')
    receipt = program.exec_json(code, '--memory', '64M', expect='crashed')
    assert receipt['error']['exit_code'] == 5


def helpers_of(server, argument):
    """Children of the server with that argument. init is one as well: a clone of the maker, so it comes later."""
    table = watch.parents()
    return sorted(pid for pid in watch.descendants(server.pid)
                  if table.get(pid, (0,))[0] == server.pid and argument in watch.describe(pid))


@pytest.mark.parametrize('argument', ['--jail-maker', '--zygote'])
def test_a_helper_that_dies_is_started_again(program, argument):
    server = program.serve()
    server.call('kept = 41', 'before')
    helpers = helpers_of(server, argument)
    assert helpers
    os.kill(helpers[0], signal.SIGKILL)
    time.sleep(0.2)
    assert server.value('kept + 1', 'before') == '42'
    assert server.value('6 * 7', 'after') == '42'
    assert server.close() == 0
