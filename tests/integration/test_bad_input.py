"""Bad input: each a clear error that names what is wrong, the server lives on, nothing leaks."""
import json
import os
import resource
import time

import pytest

import sandbox
import watch

MEGABYTE = 1 << 20


def exec_refused(program, *arguments, stdin=None, timeout=60):
    """Bytes of stderr of an exec that must fail before anything ran: one line."""
    code, out, err = program.run('exec', *arguments, stdin=stdin, timeout=timeout)
    assert code in (2, 3), (code, out, err)
    assert not out, out
    assert 0 < len(err) < 2000 and err.endswith(b'\n'), err
    return err.lower()


def test_exec_empty_code(program):
    assert b'empty' in exec_refused(program, '-c', '')


def test_exec_nul_in_code(program):
    assert b'nul' in exec_refused(program, '-', stdin=b'print(1)\n\0\nprint(2)')


def test_exec_invalid_utf8(program):
    assert b'utf-8' in exec_refused(program, '-', stdin=b'print("\xff\xfe")')


def test_exec_fifty_megabytes(program):
    assert b'long' in exec_refused(program, '-', stdin=b'v = 1\n' * (50 * MEGABYTE // 6), timeout=60)


def test_exec_unknown_policy_lists_the_known(program):
    err = exec_refused(program, '--policy', 'nonesuch', '-c', '1')
    assert b'nonesuch' in err and b'default' in err and b'strict' in err


@pytest.mark.parametrize('name', ['../default', '/etc/passwd', '', 'a/b', 'x' * 5000])
def test_exec_policy_names_are_not_paths(program, name):
    assert b'policy' in exec_refused(program, '--policy', name, '-c', '1')


@pytest.mark.parametrize('value', ['0', '-1', '301', '1e99', 'nan', 'inf', '-inf', 'abc', '', '1s', '0x10', '1,5'])
def test_exec_timeout_values(program, value):
    assert b'timeout' in exec_refused(program, f'--timeout={value}', '-c', 'print(1)')


@pytest.mark.parametrize('value', ['0', '-1', '1', '99999999999999999999', 'abc', '10X', '', '1e3', '-5M'])
def test_exec_memory_values(program, value):
    assert b'memory' in exec_refused(program, f'--memory={value}', '-c', 'print(1)')


MALFORMED = {
    'not-json': '{"name": "bad"',
    'array': '[]',
    'wrong-type': '{"name": "wrong-type", "extends": "default", "limits": {"pids": "many"}}',
    'unknown-key': '{"name": "unknown-key", "extends": "default", "colour": "blue"}',
    'unknown-base': '{"name": "unknown-base", "extends": "nonesuch"}',
    'itself': '{"name": "itself", "extends": "itself"}',
    'huge-limit': '{"name": "huge-limit", "extends": "default", "limits": {"memory_bytes": 1e300}}',
    'unknown-layer': '{"name": "unknown-layer", "extends": "default", "layers": {"required": ["moat"]}}',
    'other-name': '{"name": "default", "extends": "default"}',
    'widens': '{"name": "widens", "extends": "strict", "language": {"mode": "full"}}',
}


@pytest.mark.parametrize('name', MALFORMED)
def test_malformed_policy(program, name):
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    (directory / f'{name}.json').write_text(MALFORMED[name])
    err = exec_refused(program, '--policy', name, '-c', 'print(1)')
    assert name.encode() in err
    code, out, err = program.run('policy', 'check', directory / f'{name}.json')
    assert code != 0 and name.encode() in err + out


def test_project_policy_may_only_narrow(program):
    directory = program.home / 'work' / '.snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    (directory / 'greedy.json').write_text(json.dumps({'name': 'greedy', 'extends': 'default', 'filesystem': {
        'mounts': [{'kind': 'ro', 'source': '/root', 'target': '/root'}]}}))
    err = exec_refused(program, '--policy', 'greedy', '-c', 'print(1)')
    assert b'greedy' in err


@pytest.fixture(scope='module')
def bad(tmp_path_factory):
    """One server that all the bad input of this module goes to."""
    home = tmp_path_factory.mktemp('bad')
    server = sandbox.Program(home).serve()
    yield server
    below = watch.descendants(server.pid)
    assert server.close() == 0
    assert not watch.gone(below, 2 * sandbox.SCALE)


@pytest.mark.parametrize('arguments, word', [
    ({}, 'code'),
    ({'code': 5}, 'code'),
    ({'code': None}, 'code'),
    ({'code': ['1']}, 'code'),
    ({'code': ''}, 'code'),
    ({'code': '1\0 2'}, 'nul'),
    ({'code': '1', 'timeout': '5'}, 'timeout'),
    ({'code': '1', 'timeout': True}, 'timeout'),
    ({'code': '1', 'timeout': {'s': 1}}, 'timeout'),
    ({'code': '1', 'timeout': 0}, 'timeout'),
    ({'code': '1', 'timeout': -1}, 'timeout'),
    ({'code': '1', 'timeout': 301}, 'timeout'),
    ({'code': '1', 'timeout': 1e99}, 'timeout'),
    ({'code': '1', 'session_id': 12}, 'session_id'),
    ({'code': '1', 'session_id': ''}, 'session_id'),
    ({'code': '1', 'session_id': '..'}, 'session_id'),
    ({'code': '1', 'session_id': 'a/b'}, 'session_id'),
    ({'code': '1', 'session_id': 'a\nb'}, 'session_id'),
    ({'code': '1', 'session_id': 'x' * 20000}, 'session_id'),
    ({'code': '1', 'policy': 'nonesuch'}, 'nonesuch'),
    ({'code': '1', 'policy': 7}, 'policy'),
    ({'code': '1', 'environment': 'mars'}, 'environment'),
    ({'code': '1', 'surprise': True}, 'surprise'),
], ids=repr)
def test_wrong_arguments(bad, arguments, word):
    assert word in bad.refused(arguments).lower()
    bad.alive()


def test_arguments_that_are_no_object(bad):
    for arguments in ('code', 7, [1]):
        with pytest.raises(sandbox.RpcError):
            bad.tool('execute_python', arguments)
    bad.alive()


def test_unknown_tool_is_named(bad):
    with pytest.raises(sandbox.RpcError) as e:
        bad.tool('execute_ruby', {'code': '1'})
    assert e.value.code == -32602 and 'execute_ruby' in e.value.message


def test_unknown_method(bad):
    with pytest.raises(sandbox.RpcError) as e:
        bad.request('no/such/method')
    assert e.value.code == -32601


def test_code_with_an_escaped_lone_surrogate(bad):
    """\\ud800 is JSON but no text: it can neither be checked nor compiled as UTF-8."""
    bad.write(b'{"jsonrpc":"2.0","id":"sur","method":"tools/call","params":{"name":"execute_python","arguments":{"code":"\\"\\ud800\\""}}}\n')
    try:
        result = bad.wait('sur')
        assert result['isError']
    except sandbox.RpcError:
        pass
    bad.alive()


def test_fifty_megabytes_of_code(bad):
    before = watch.rss(bad.pid)
    assert 'code' in bad.refused({'code': 'v = 1\n' * (50 * MEGABYTE // 6)}, timeout=60).lower()
    bad.alive()
    assert watch.wait_until(lambda: watch.rss(bad.pid) - before < 200 * MEGABYTE, 5)


@pytest.mark.parametrize('line, codes', [
    (b'{', (-32700,)),
    (b'nonsense', (-32700,)),
    (b'{"jsonrpc":"2.0","id":', (-32700,)),
    (b'\xff\xfe\xfd', (-32700,)),
    (b'"text"', (-32600,)),
    (b'17', (-32600,)),
    (b'{"jsonrpc":"1.0","method":"ping"}', (-32600,)),
    (b'[' * 100000, (-32700, -32600)),
    (b'{"a":' * 5000 + b'1' + b'}' * 5000, (-32700, -32600)),
], ids=lambda v: repr(v)[:30])
def test_broken_lines(bad, line, codes):
    bad.write(line + b'\n')
    message = bad.wait(None)
    bad.answers.pop(None, None)
    assert message[0]['error']['code'] in codes, message
    bad.alive()


def test_empty_lines_are_not_answered(bad):
    bad.write(b'\n\r\n   \n')
    bad.alive()
    assert None not in bad.answers


def test_hundred_megabyte_line(bad):
    before = watch.rss(bad.pid)
    bad.write(b'{"jsonrpc":"2.0","id":77,"method":"ping","pad":"')
    for _ in range(100):
        bad.write(b'z' * MEGABYTE)
    bad.write(b'"}\n')
    with bad.arrived:
        assert bad.arrived.wait_for(lambda: None in bad.answers or 77 in bad.answers, 60 * sandbox.SCALE)
        bad.answers.pop(77, None)
        bad.answers.pop(None, None)
    bad.alive()
    assert watch.wait_until(lambda: watch.rss(bad.pid) - before < 200 * MEGABYTE, 5)


def test_server_works_after_all_of_this(bad):
    assert bad.value('6 * 7', 'after') == '42'


def test_client_that_stops_reading(program):
    """The pipe to a client that does not read fills up: the server must neither grow without bound nor lose its other duties."""
    server = program.serve()
    server.value('1')
    before = watch.rss(server.pid)
    server.reading.clear()
    for number in range(60):
        server.start_call(f'print("y" * 200000)\n{number}', 'flood')
    time.sleep(4)
    growth = watch.rss(server.pid) - before
    assert growth < 100 * MEGABYTE or sandbox.SANITIZED, f'grew by {growth >> 20} MB'
    server.reading.set()
    last = server.next_id - 1
    assert server.wait_receipt(last, 60)['result']['repr'] == '59'
    assert server.close() == 0


def test_client_that_goes_away(program):
    server = program.serve()
    server.value('1')
    below = watch.descendants(server.pid)
    server.start_call('import time\nfor n in range(100):\n    print("x" * 10000, flush=True)\n    time.sleep(0.05)', progress=1)
    server.reading.clear()
    os.close(os.dup(server.process.stdout.fileno()))
    server.process.stdin.close()
    server.reading.set()
    assert server.process.wait(10 * sandbox.SCALE) == 0
    server.abandon()
    assert not watch.gone(below, 2 * sandbox.SCALE)


def test_descriptors_do_not_leak(server):
    server.value('1', 'same')
    server.refused({'code': 5})
    before = watch.settled(lambda: watch.descriptors(server.pid))
    for number in range(20):
        server.refused({'code': '1', 'timeout': -number - 1})
        server.call('1/0', 'same', expect='error')
    after = watch.wait_until(lambda: watch.descriptors(server.pid) <= before + 4 and watch.descriptors(server.pid), 3)
    assert after, f'{before} descriptors before, {watch.descriptors(server.pid)} after'


def test_too_few_open_files_are_named(program):
    process = program.start('exec', '-c', '1', preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    out, err = process.communicate(timeout=30 * sandbox.SCALE)
    assert process.returncode == 4 and not out and b'only 64 open files' in err, (process.returncode, out, err)
