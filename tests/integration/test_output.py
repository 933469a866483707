"""Output: bounded, complete when small, by descriptor, and what cannot be text."""
import hashlib

import sandbox
import watch

FLOOD = 'chunk = "x" * 1000000\nfor _ in range(200): print(chunk)'


def test_flood_is_cut_and_memory_stays_flat(server):
    server.value('1', 'f')
    before = watch.rss(server.pid)
    receipt = server.call(FLOOD, 'f', expect='ok', timeout=100, within=110)
    assert receipt['output']['truncated'] is True and receipt['output']['stdout_bytes'] == 200 * 1000001
    assert len(receipt['stdout']) <= 2 * receipt['limits']['output_bytes'] + 1000
    expected = hashlib.sha256((b'x' * 1000000 + b'\n') * 200).hexdigest()
    assert receipt['digests']['stdout'] == f'sha256:{expected}', 'the digest is of all bytes, also of those that were cut'
    grown = watch.rss(server.pid) - before
    assert grown < 50 << 20 or sandbox.SANITIZED, f'the server grew by {grown >> 20} MB'
    assert len(receipt['text']) < 1 << 20
    assert server.value('1 + 1', 'f') == '2'


def test_flood_on_the_command_line_is_not_cut(program):
    """Live output is the user's: all of it arrives."""
    code, out, err = program.run('exec', '--timeout', '60', '-c', 'for _ in range(20): print("y" * 999999)', timeout=90)
    assert code == 0 and len(out) == 20 * 1000000, (len(out), err)


def test_moderate_output_is_whole(shared, session):
    receipt = shared.call('print("a" * 16000)', session, expect='ok')
    assert receipt['stdout'] == 'a' * 16000 + '\n' and not receipt['output']['truncated']
    assert 'a' * 16000 in receipt['text']


def test_large_stderr_does_not_block(shared, session):
    receipt = shared.call('import sys\nsys.stderr.write("e" * 3000000)\nprint("end")', session, expect='ok')
    assert receipt['stdout'] == 'end\n' and receipt['output']['stderr_bytes'] == 3000000


def test_descriptor_writes_keep_their_order(shared, session):
    code = 'import os\nprint("one", flush=True)\nos.write(1, b"two\\n")\nos.write(2, b"err\\n")\nprint("three")'
    receipt = shared.call(code, session, expect='ok')
    assert receipt['stdout'] == 'one\ntwo\nthree\n' and receipt['stderr'] == 'err\n'


def test_c_level_writes(shared, session):
    code = 'import ctypes\nlibc = ctypes.CDLL(None)\nlibc.puts(b"from C")\nlibc.fflush(None)\n"done"'
    receipt = shared.call(code, session, policy='open', expect='ok')
    assert receipt['stdout'] == 'from C\n'


def test_output_of_a_child(shared, session):
    receipt = shared.call('import subprocess\nsubprocess.run(["sh", "-c", "echo out; echo err >&2"])', session, expect='ok')
    assert receipt['stdout'] == 'out\n' and receipt['stderr'] == 'err\n'


def test_lone_surrogate(shared, session):
    receipt = shared.call('print("a\\udc80b")\n"c\\ud800d"', session, expect='ok')
    assert receipt['stdout'].startswith('a') and receipt['stdout'].endswith('b\n')
    assert receipt['result']['repr'] == r"'c\ud800d'" and 'json' not in {k for k, v in receipt['result'].items() if v is not None}


def test_bytes_that_are_no_text(shared, session):
    receipt = shared.call('import os\nos.write(1, b"\\xff\\x00\\xfe ok\\n")\n1', session, expect='ok')
    assert receipt['stdout'].endswith(' ok\n') and '\ufffd' in receipt['stdout'] and receipt['output']['stdout_bytes'] == 7
    assert receipt['digests']['stdout'] == 'sha256:' + hashlib.sha256(b'\xff\x00\xfe ok\n').hexdigest()


def test_late_output_is_not_in_the_next_call(shared, session):
    code = 'import time\nn = 0\nwhile True:\n    n += 1\n    print("old", n, flush=True)\n    time.sleep(0.005)'
    assert shared.call(code, session, timeout=1)['status'] == 'timeout'
    receipt = shared.call('print("new")', session, expect='ok')
    assert receipt['stdout'] == 'new\n'


def test_unflushed_output_of_a_timeout_is_kept(shared, session):
    receipt = shared.call('print("one")\nprint("two", end="")\nwhile True: pass', session, timeout=1)
    assert receipt['status'] == 'timeout' and receipt['stdout'] == 'one\ntwo'


def test_huge_value(shared, session):
    receipt = shared.call('"z" * 60_000_000', session, timeout=60)
    if receipt['status'] == 'ok':
        assert len(receipt['result']['repr']) < 4 << 20 and receipt['result']['truncated'] is True
    else:
        assert receipt['status'] == 'out_of_memory'
    assert shared.value('1 + 1', session) == '2'


def test_a_guest_cannot_write_the_protocol(shared, session):
    line = '{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{}}'
    receipt = shared.call(f'import os\nfor fd in range(64):\n  try: os.write(fd, b"\\n{line}\\n")\n  except OSError: pass\n1', session)
    assert receipt['status'] in ('ok', 'error', 'crashed')
    assert shared.value('2', 'after-' + session) == '2'
    assert not shared.strays
