"""CVE-2026-30892 (crun): `-u 1` with something behind the digit was read as uid 0. Here every parser of a number gets odd ones: option,
policy field, argument of a tool, id of a message. The answer is a clear error or exactly the number that was written, never another.
What is right is said by rules of their own below, not by the program's parsers."""
import decimal
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

import sandbox
import watch

UNITS = {'': 0, 'b': 0, 'k': 10, 'kb': 10, 'kib': 10, 'm': 20, 'mb': 20, 'mib': 20, 'g': 30, 'gb': 30, 'gib': 30}
# With a number that would be right put in: what stands around or instead of it must not be overlooked.
ODD = ['{} ', ' {}', '+{}', '-{}', '0x{}', '{}e3', '{}E0', '{}x', '{}_000', '1_{}', '{},0', '{}.', '{}..0', '.{}', '{}.0.0', '{}\t', '\t{}', '{}\n', '{}\x0b',
       '{};', '{}-', '--{}', '{}%', '0{}', '000000000000000000000000{}', '{}000000000000000000000', '{}/1', '{} 0', '\u0661', '\uff11{}', '{}\u00a0', '\u2212{}',
       '-0', '0', '', ' ', '.', '-', '+', '1e400', 'nan', 'inf', '-inf', 'Infinity', 'None', 'true', '99999999999999999999', '18446744073709551616',
       '18446744073709551646', '9223372036854775808', '4294967326', '4294967297', '340282366920938463463374607431768211486', '0b11', '0o17', '{}K', '{}KK', '{}M', '{}MM', '{}MiBx',
       '{} MiB', '{}Mi', '17592186044448M', '68719476768MiB', '17179869185G']


def odd(number):
    return sorted({text.replace('{}', number) for text in ODD})


def seconds_of(text):
    return float(text) if re.fullmatch(r'(?=.*[0-9])[0-9]*\.?[0-9]*', text, re.ASCII) and 0.05 <= float(text) <= 300 else None


def bytes_of(text):
    found = re.fullmatch(r'([0-9]+)([A-Za-z]*)', text, re.ASCII)
    if not found or found[2].lower() not in UNITS:
        return None
    value = int(found[1]) << UNITS[found[2].lower()]
    return value if 16 << 20 <= value < 1 << 64 else None


def run_with(program, option, text):
    """The receipt, or None for a clear error: one line that names the option, and nothing ran."""
    code, out, err = program.run('exec', '--json', f'{option}={text}', '-c', 'print("ran")')
    if code != 2:
        return sandbox.validate(json.loads(out))
    assert not out and err.count(b'\n') == 1 + text.count('\n') and option[2:].encode() in err, (text, out, err)
    return None


def test_cve_2026_30892_timeout_option(program):
    accepted = 0
    for text in odd('30') + ['30', '0.05', '300', '299.999', '30.5']:
        receipt, wanted = run_with(program, '--timeout', text), seconds_of(text)
        if len(text) > 15:  # more digits than a double has: an error is right, too
            continue
        assert (receipt is None) == (wanted is None), text
        if receipt:
            assert receipt['limits']['timeout_seconds'] == pytest.approx(wanted, abs=1e-9), text
            accepted += 1
    assert accepted >= 7


def test_cve_2026_30892_memory_option(program):
    accepted = 0
    for text in odd('256') + ['268435456', '256M', '256m', '256MiB', '1G', '262144k']:
        receipt, wanted = run_with(program, '--memory', text), bytes_of(text)
        if wanted is None:
            assert receipt is None, text
        elif receipt is None or receipt['status'] == 'refused':
            assert not 32 << 20 <= wanted <= 4 << 30, f'{text} is right and within the policy'
        else:
            assert receipt['limits']['memory_bytes'] == wanted, text
            accepted += 1
    assert accepted >= 6


def test_cve_2026_30892_spares_option(program):
    for text in odd('3') + ['64', '65', '003']:
        code, out, err = program.run('mcp-serve', f'--spares={text}')
        right = re.fullmatch('[0-9]+', text, re.ASCII) and int(text) <= 64
        assert code == (0 if right else 2) and not out, (text, code, err)
        assert right or b'--spares' in err, (text, err)
    for text, count in (('0', 0), ('003', 3)):
        process = program.start('mcp-serve', '--spares', text, stdin=subprocess.PIPE)
        assert watch.wait_until(lambda: len(watch.jailed(process.pid)) == count, 10 * sandbox.SCALE), text
        time.sleep(0.5)
        assert len(watch.jailed(process.pid)) == count, text
        process.communicate(timeout=10 * sandbox.SCALE)
        assert process.returncode == 0


# --- policies ---

SCHEMA = json.loads((sandbox.ROOT / 'policies' / 'policy.schema.json').read_text(encoding='utf-8'))
JSON_NUMBER = re.compile(r'-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?', re.ASCII)
NUMBERS = ['{}', '{}.0', '{}e0', '{}e-1', '{}E2', '-{}', '+{}', '0{}', '0x{}', '{}_0', '{}.', '.{}', '{}.5', '- {}', '-0', '-0.0', '0', '1e400', '-1e400', '1e-400', 'NaN', 'Infinity',
           '99999999999999999999', '18446744073709551616', '9007199254740993', '4294967296{}', '\u0661', '\uff11', '{}n', '{}L', '[{}]', '{{}}', 'true', 'null']
STRINGS = ['{}', '{} ', ' {}', '+{}', '-{}', '0x{}', '{}e3', '{}_000', '{}.0', '', ' ', '0', '-0', '\u0661', '{}\\u0000', '{}\\u0000MiB', '{} MiB', '{}MiB', '{}  MiB', '{}mib', '{}M', '{}KiB\\n',
           '99999999999999999999', '18446744073709551616', '18014398509481988KiB', '17592186044420MiB', '16777220TiB', '9007199254740992', '{}KiBKiB', 'KiB']


def definition(schema):
    while '$ref' in schema:
        schema = SCHEMA['$defs'][schema['$ref'].rsplit('/', 1)[1]]
    return schema


def number_fields(schema, path=()):
    """(path, minimum, maximum, whole, size?) of every number of a policy; mounts stand in a list of their own."""
    for key, member in definition(schema).get('properties', {}).items():
        member = definition(member)
        forms = member.get('anyOf', [member])
        if forms[0].get('type') in ('integer', 'number'):
            yield (*path, key), forms[0]['minimum'], forms[0]['maximum'], forms[0]['type'] == 'integer', len(forms) > 1
        elif member.get('type') == 'object':
            yield from number_fields(member, (*path, key))


FIELDS = list(number_fields(SCHEMA))


def exact(token, field):
    """The number that a JSON token stands for in a field, or None where only an error is right."""
    _, low, high, whole, size = field
    if token.startswith('"'):
        found = re.fullmatch(r'"([0-9]+) ?(B|KiB|MiB|GiB|TiB)?"', token, re.ASCII) if size else None
        if not found or (' ' in token and not found[2]):
            return None
        value = decimal.Decimal(int(found[1]) << {None: 0, 'B': 0, 'KiB': 10, 'MiB': 20, 'GiB': 30, 'TiB': 40}[found[2]])
    else:
        value = decimal.Decimal(token) if JSON_NUMBER.fullmatch(token) else None
    if value is None or not decimal.Decimal(str(low)) <= value <= decimal.Decimal(str(high)) or (whole and value != value.to_integral_value()):
        return None
    return value


def show(program, token, path):
    """The number that the program made of it, or the line of its error."""
    text = token
    for key in reversed(path):
        text = f'{{"{key}": {text}}}'
    members = '"name": "odd", "extends": "default", "widen": true, "widen_reason": "r", ' + text[1:]
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    (directory / 'odd.json').write_text('{' + members)
    code, out, err = program.run('policy', 'show', 'odd', '--json')
    if code:
        return json.loads(out)['error']['message']
    document = json.loads(out)
    for key in path:
        document = document[key]
    return document


def test_cve_2026_30892_the_schema_has_these_fields():
    assert len(FIELDS) == 21, FIELDS


@pytest.mark.parametrize('field', FIELDS, ids=lambda field: '.'.join(field[0]))
def test_cve_2026_30892_policy_fields(program, field):
    (program.home / 'config' / 'snipara-sandbox' / 'policies').mkdir(parents=True)
    path, low, high, whole, size = field
    right = int(min(max(low, 64), high)) if path[-1] not in ('timeout_max_seconds', 'memory_max_bytes') else int(high)
    right = {'memory_bytes': 64 << 20, 'value_bytes': 4096}.get(path[-1], right)
    assert show(program, str(right), path) == right
    if size:
        assert show(program, f'"{right >> 10}KiB"', path) == (right >> 10) << 10
    texts = [t.replace('{}', str(right)) for t in NUMBERS] + ['"' + t.replace('{}', str(right)) + '"' for t in STRINGS]
    for token in texts:
        got, wanted = show(program, token, path), exact(token, field)
        if isinstance(got, str):
            assert path[-1] in got or 'JSON' in got or 'odd.json' in got, (token, got)
            assert '\n' not in got, (token, got)
        else:
            assert wanted is not None, f'{token!r} was taken as {got}'
            assert decimal.Decimal(repr(got)) == wanted or float(wanted) == got, f'{token!r} was taken as {got}'


@pytest.mark.parametrize('member, low, high', [('value', 0, (1 << 53) - 1), ('valueTwo', 0, (1 << 53) - 1), ('index', 0, 5), ('errnoRet', 0, 4095)])
def test_cve_2026_30892_seccomp_numbers(program, member, low, high):
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    for token in [t.replace('{}', '5') for t in NUMBERS] + ['"' + t.replace('{}', '5') + '"' for t in STRINGS]:
        argument = {'index': '0', 'value': '-1' if member == 'value' else '4294967295', 'valueTwo': '0'}
        entry = '"action": "SCMP_ACT_ERRNO"'
        if member == 'errnoRet':
            entry += f', "errnoRet": {token}'
        else:
            argument[member] = token
            entry += ', "args": [{' + ', '.join(f'"{k}": {v}' for k, v in argument.items()) + ', "op": "SCMP_CMP_MASKED_EQ"}]'
        (directory / 'odd.json').write_text('{"name": "odd", "extends": "default", "seccomp": {"add": [{"names": ["sync"], ' + entry + '}]}}')
        code, out, err = program.run('policy', 'show', 'odd', '--json')
        wanted = exact(token, ((member,), low, high, True, False))
        if code == 0:
            added = json.loads(out)['seccomp']['syscalls'][-1]
            got = added['errnoRet'] if member == 'errnoRet' else added['args'][0][member]
            assert wanted is not None and got == wanted, f'{token!r} was taken as {got}'
        else:
            message = json.loads(out)['error']['message']
            assert 'seccomp' in message or 'JSON' in message or 'odd.json' in message, (token, message)
            # a value whose mask cannot match is an error of its own
            assert wanted is None or (member in ('value', 'valueTwo')), (token, message)


# --- what an MCP client sends ---

def test_cve_2026_30892_mcp_timeout(program):
    server = program.serve()
    field = (('timeout',), 0.05, 300, False, False)
    texts = [t.replace('{}', '20') for t in NUMBERS] + ['"' + t.replace('{}', '20') + '"' for t in STRINGS] + ['0.05', '300', '2e2', '300.0000001', '301']
    accepted = 0
    for number, token in enumerate(texts, 10000):
        server.write(b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "execute_python", "arguments": {"code": "1", "timeout": %s}}}\n'
                     % (number, token.encode()))
        with server.arrived:
            assert server.arrived.wait_for(lambda: number in server.answers or server.answers.get(None), 30 * sandbox.SCALE), token
            message = server.answers.pop(number, None) or server.answers.pop(None)[0]
        receipt = message.get('result', {}).get('structuredContent')
        wanted = exact(token, field)
        if receipt and receipt['status'] == 'ok':
            if token == 'null':  # as if it were absent
                continue
            assert wanted is not None and receipt['limits']['timeout_seconds'] == float(wanted), f'{token!r} was taken as {receipt["limits"]}'
            accepted += 1
        else:
            assert wanted is None, (token, message)
            assert 'error' in message or 'timeout' in json.dumps(message), (token, message)
    assert accepted >= 6
    assert server.value('6 * 7') == '42'
    assert server.close() == 0


@pytest.mark.parametrize('token', ['0', '-1', '1.5', '9007199254740993', '-9007199254740993', '18446744073709551617', '1e3', '-0', '0.1', '99999999999999999999999',
                                   '"1"', '"1 "', '"+1"', '"\\u0661"', '"0x1"', '""', '01', '+1', '0x1', '1_0', '1.', '.5', 'NaN', '1e999', 'true', '[1]', '{"a":1}'])
def test_cve_2026_30892_message_ids(program, token):
    """An answer must carry the id that was sent: a client with another call under the number that came back would take it for its own."""
    server = program.serve(handshake=False)
    server.reading.clear()
    server.write(b'{"jsonrpc": "2.0", "id": %s, "method": "ping"}\n' % token.encode())
    server.process.stdin.close()
    server.reading.set()
    server.reader.join(20 * sandbox.SCALE)
    messages = [*server.answers.values()]
    messages = [m for each in messages for m in (each if isinstance(each, list) else [each])]
    assert len(messages) == 1 and not server.strays, (messages, server.strays)
    if 'result' in messages[0]:
        sent = json.loads(token)
        assert messages[0]['id'] == sent and isinstance(messages[0]['id'], str) == isinstance(sent, str), (token, messages[0])
    else:
        assert messages[0]['error']['code'] in (-32600, -32602, -32700) and messages[0]['error']['message'], messages[0]
    assert server.process.wait(10) == 0
    server.abandon()


def test_cve_2026_30892_session_names(server):
    """Names that look like numbers are names: "1", "01" and "1.0" are three sessions."""
    accepted = []
    for name in ('1', '01', '1.0', '1e0', '0x1', '+1', '-0', '0', '1 ', ' 1', '\u0661', '1\0', '1\n', ''):
        try:
            result = server.tool('execute_python', {'code': f'mine = {name!r}', 'session_id': name})
        except sandbox.RpcError as e:
            assert e.code == -32602 and e.message
            continue
        if not result.get('isError'):
            accepted.append(name)
        else:
            assert 'session_id' in result['content'][0]['text'], (name, result)
    assert {'1', '01', '1.0', '0'} <= set(accepted) and not {'', '1\0', '1\n'} & set(accepted)
    for name in accepted:
        assert server.value('mine', name) == repr(name)


# --- names of cgroups ---

@pytest.mark.root
def test_cve_2026_30892_swept_cgroups(program):
    """Cgroups of dead supervisors are removed by the pid in their name. Only names that are written exactly so."""
    base = next((pathlib.Path(row['point'] + path) for row in watch.mounts('self') for controller, path in watch.cgroup_paths('self').items()
                 if row['type'] == 'cgroup' and controller == 'pids' and 'pids' in row['super']), None)
    if base is None:
        base = next((pathlib.Path(row['point'] + watch.cgroup_paths('self')['']) for row in watch.mounts('self') if row['type'] == 'cgroup2'), None)
    if base is None or not os.access(base, os.W_OK):
        pytest.skip('kernel cannot: no cgroup can be made here')
    base = base / f'faults-{os.getpid()}'  # where no other supervisor sweeps
    base.mkdir()
    dead = next(pid for pid in range(3999999, 1000, -1) if not os.path.exists(f'/proc/{pid}'))
    kept = [f'snipara-{dead}x-1', f'snipara-{dead}-1x', f'snipara-0{dead}-1', f'snipara-+{dead}-1', f'snipara- {dead}-1', f'snipara-{dead}-1-2',
            f'snipara-{dead + (1 << 32)}-1', f'snipara-{dead}-{1 + (1 << 32)}', f'snipara--{dead}-1', f'snipara-{dead}-', 'snipara-99999999999999999999-1']
    swept = f'snipara-{dead}-1'
    made = [base / name for name in [*kept, swept]]
    try:
        for path in made:
            path.mkdir()
        process = program.start('exec', '-c', '1', preexec_fn=lambda: (base / 'cgroup.procs').write_text('0'))
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, b'1\n'), err
        assert not (base / swept).exists(), 'the twin: a true one is removed'
        assert [name for name in kept if (base / name).exists()] == kept
    finally:
        watch.remove_cgroups([path for path in made if path.exists()])
        assert watch.wait_until(lambda: watch.remove_cgroups([base]) or not base.exists(), 5), os.listdir(base)
