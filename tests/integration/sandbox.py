"""The program under test: one-shot `exec` and an MCP client on stdio. Every receipt that passes through here is validated."""
import json
import os
import pathlib
import queue
import subprocess
import threading
import time

import jsonschema

import watch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get('SNIPARA_BIN', 'snipara-sandbox')
SCALE = float(os.environ.get('SNIPARA_TIME_SCALE', '1'))
# Root of the host, that is: the root of a user namespace (unshare -r) is on the rung of the user who made it (doc/HOSTS.md).
IS_ROOT = os.geteuid() == 0 and os.environ.get('SNIPARA_EXPECT_RUNG', 'T0') == 'T0'
SANITIZED = bool(os.environ.get('SNIPARA_SANITIZED'))
STATUSES = ('ok', 'error', 'rejected', 'timeout', 'out_of_memory', 'crashed', 'cancelled', 'refused')
EXIT = {'ok': 0, 'rejected': 3, 'refused': 4, 'timeout': 124, 'out_of_memory': 137, 'cancelled': 137, 'crashed': 139}

with open(ROOT / 'doc' / 'receipt.schema.json', encoding='utf-8') as text:
    SCHEMA = json.load(text)
VALIDATOR = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)


def validate(receipt):
    """Against doc/receipt.schema.json, and the few rules that a schema cannot say."""
    problems = [f'{"/".join(map(str, e.absolute_path))}: {e.message[:300]}' for e in VALIDATOR.iter_errors(receipt)]
    assert not problems, problems
    assert receipt['status'] in STATUSES
    assert receipt['started_at'] <= receipt['finished_at']
    if receipt['status'] == 'refused':
        assert not receipt['stdout'], 'something ran although the call was refused'
    reasons = {row['layer'] for row in receipt['backend']['missing'] if row['reason']}
    if receipt['session']['call'] > 0:  # a number is there, or the receipt says why it is not
        for metric, reason in (('cpu_user_ms', 'metrics.cpu'), ('memory_peak_bytes', 'metrics.memory_peak_bytes'),
                               ('pids_peak', 'metrics.pids_peak')):
            assert receipt['metrics'][metric] is not None or reason in reasons, (metric, reasons)
    assert not set(receipt['backend']['layers']) & {row['layer'] for row in receipt['backend']['missing']}
    return receipt


def program_environment(home, extra=None):
    """A closed environment: nothing of the caller's but what names the tree under test and the sanitizers' options."""
    kept = ('SNIPARA_SANDBOX_PYHOST', 'SNIPARA_SANDBOX_POLICY_DIR', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS')
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env.update(PATH='/usr/local/bin:/usr/bin:/bin', LANG='C.UTF-8', HOME=str(home), TMPDIR=str(home / 'tmp'))
    for name in ('CONFIG', 'STATE', 'CACHE', 'RUNTIME'):
        env[f'XDG_{name}_{"DIR" if name == "RUNTIME" else "HOME"}'] = str(home / name.lower())
    env.update(extra or {})
    return env


class Program:
    """Runs the command line program with a home directory of its own."""

    def __init__(self, home):
        self.home = home
        for name in ('tmp', 'config', 'state', 'cache', 'runtime', 'work'):
            (home / name).mkdir(mode=0o700)

    def start(self, *arguments, env=None, **options):
        options.setdefault('stdin', subprocess.DEVNULL)
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], env=program_environment(self.home, env), cwd=self.home / 'work',
                                   stdout=options.pop('stdout', subprocess.PIPE), stderr=options.pop('stderr', subprocess.PIPE),
                                   start_new_session=True, **options)
        watch.POPEN.add(process.pid)
        return process

    def run(self, *arguments, stdin=None, env=None, timeout=60):
        """(exit code, stdout, stderr) as bytes."""
        process = self.start(*arguments, env=env, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
        try:
            out, err = process.communicate(stdin, timeout=timeout * SCALE)
        except subprocess.TimeoutExpired:
            watch.kill(watch.descendants(process.pid) | {process.pid})
            process.communicate()
            raise
        return process.returncode, out, err

    def exec_json(self, code, *arguments, expect=None, env=None, timeout=60):
        """The receipt of `exec --json`; the code goes in by stdin. Its exit code must be the one that the status stands for."""
        data = code if isinstance(code, bytes) else code.encode('utf-8')
        exit_code, out, err = self.run('exec', '--json', *arguments, '-', stdin=data, env=env, timeout=timeout)
        try:
            receipt = validate(json.loads(out))
        except ValueError:
            raise AssertionError(f'not one JSON document: exit {exit_code}, {out[:500]!r}, {err[:500]!r}') from None
        error = receipt.get('error') or {}
        if receipt['status'] == 'error':
            code_of_error = error.get('exit_code')
            assert exit_code == (1 if code_of_error is None else code_of_error & 0xff), receipt
        else:
            assert exit_code == EXIT[receipt['status']], receipt
        if expect:
            assert receipt['status'] == expect, receipt
        return receipt

    def serve(self, **options):
        return Server(self, **options)


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(f'{error.get("code")}: {error.get("message")}')
        self.code, self.message = error.get('code'), error.get('message', '')


class Server:
    """`snipara-sandbox mcp-serve` and a client of it. Requests may overlap: start() returns an id, wait(id) its answer."""
    live = set()

    def __init__(self, program, env=None, handshake=True, arguments=()):
        self.process = program.start('mcp-serve', *arguments, env=env, stdin=subprocess.PIPE, stderr=open(program.home / 'server.err', 'ab'))
        self.pid, self.next_id, self.lock = self.process.pid, 1, threading.Lock()
        self.errors = program.home / 'server.err'
        self.answers, self.arrived, self.notifications, self.strays = {}, threading.Condition(), queue.Queue(), []
        self.eof = False
        self.reading = threading.Event()
        self.reading.set()
        Server.live.add(self)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if handshake:
            self.hello = self.request('initialize', {'protocolVersion': '2025-06-18', 'capabilities': {},
                                                     'clientInfo': {'name': 'tests', 'version': '1'}}, timeout=30)
            self.notify('notifications/initialized')

    def _read(self):
        while True:
            self.reading.wait()
            line = self.process.stdout.readline()
            with self.arrived:
                if not line:
                    self.eof = True
                    self.arrived.notify_all()
                    return
                try:
                    message = json.loads(line.decode('utf-8'))
                    assert message['jsonrpc'] == '2.0'
                except (ValueError, KeyError, TypeError, AssertionError):
                    self.strays.append(line[:500])  # stdout carries the protocol only
                    continue
                if 'method' in message:
                    self.notifications.put((time.monotonic(), message))
                elif message.get('id') is None:
                    self.answers.setdefault(None, []).append(message)
                else:
                    self.answers[message['id']] = message
                self.arrived.notify_all()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps({'jsonrpc': '2.0', **message}).encode('ascii') + b'\n')

    def notify(self, method, params=None):
        self.send({'method': method, **({'params': params} if params else {})})

    def start(self, method, params=None):
        with self.lock:
            number, self.next_id = self.next_id, self.next_id + 1
        self.send({'id': number, 'method': method, **({'params': params} if params is not None else {})})
        return number

    def wait(self, number, timeout=30):
        with self.arrived:
            self.arrived.wait_for(lambda: number in self.answers or self.eof, timeout * SCALE)
            if number not in self.answers:
                raise TimeoutError(f'no answer to {number} ({"end of file" if self.eof else "in time"}); server said: '
                                   + self.errors.read_text(errors='replace')[-2000:])
            message = self.answers.pop(number)
        if number is None:
            return message
        if 'error' in message:
            raise RpcError(message['error'])
        return message['result']

    def request(self, method, params=None, timeout=30):
        return self.wait(self.start(method, params), timeout)

    def start_call(self, code, session=None, progress=None, **arguments):
        if session is not None:
            arguments['session_id'] = session
        params = {'name': 'execute_python', 'arguments': {'code': code, **arguments}}
        if progress is not None:
            params['_meta'] = {'progressToken': progress}
        return self.start('tools/call', params)

    def wait_receipt(self, number, timeout=60):
        result = self.wait(number, timeout)
        text = '\n'.join(block['text'] for block in result['content'] if block['type'] == 'text')
        receipt = result.get('structuredContent')
        assert receipt is not None, f'no receipt: {text[:1000]}'
        validate(receipt)
        assert bool(result.get('isError')) == (receipt['status'] != 'ok'), receipt
        if receipt['status'] != 'ok':
            assert text, 'the text of a failure stands by itself'
        receipt['text'] = text
        return receipt

    def call(self, code, session=None, expect=None, within=60, **arguments):
        """The validated receipt of execute_python, with the text block as member `text`."""
        receipt = self.wait_receipt(self.start_call(code, session, **arguments), within)
        if expect:
            assert receipt['status'] == expect, receipt
        return receipt

    def value(self, code, session=None, **arguments):
        """The repr of the value of code that must end well, or None."""
        receipt = self.call(code, session, expect='ok', **arguments)
        return (receipt.get('result') or {}).get('repr')

    def tool(self, name, arguments, timeout=30):
        return self.request('tools/call', {'name': name, 'arguments': arguments}, timeout)

    def refused(self, arguments, name='execute_python', timeout=30):
        """Text of the tool error or the protocol error that `arguments` must earn; nothing may have run."""
        try:
            result = self.tool(name, arguments, timeout)
        except RpcError as e:
            assert e.code == -32602, e
            return e.message
        assert result.get('isError'), result
        receipt = result.get('structuredContent')
        assert not receipt or receipt['status'] in ('rejected', 'refused', 'error'), receipt
        return '\n'.join(block['text'] for block in result['content'])

    def alive(self):
        assert self.request('ping') == {}

    def close(self, timeout=5):
        """End of input; the exit code. stdout must have held nothing but protocol messages."""
        Server.live.discard(self)
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.reading.set()
        try:
            code = self.process.wait(timeout * SCALE)
        except subprocess.TimeoutExpired:
            watch.kill({self.pid})
            self.process.wait()
            raise
        self.reader.join(5)
        self.process.stdout.close()
        assert not self.strays, self.strays
        return code

    def abandon(self):
        """For servers that a test killed by other means: only close our ends."""
        Server.live.discard(self)
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except (BrokenPipeError, OSError):
                pass
