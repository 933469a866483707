"""The C client: built when no binary is given, driven by lines (bench.h)."""
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CODE, EXPECT = 'print(1)', '1'


class BenchError(Exception):
    """Something could not be measured; the text says what and why."""


def build(directory):
    """Compile the client into `directory`."""
    path = pathlib.Path(directory, 'client')
    done = subprocess.run(['cc', '-std=c17', '-O2', '-D_GNU_SOURCE', '-o', path, *sorted(HERE.glob('client*.c'))],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f'the client cannot be built: {done.stderr.strip()}')
    return path


class Client:
    """One client process, with one server below it or none."""

    def __init__(self, binary, environment, preexec=None):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
                                        preexec_fn=preexec)
        self.calls, self.cpu_us = 0, 0  # what calls of a server cost this client
        self.server = 0                 # pid of the server

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def ask(self, *fields, may_fail=False):
        self.process.stdin.write('\t'.join(map(str, fields)) + '\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise BenchError(f'{fields[0]}: the client ended')
        answer = json.loads(line)
        self.server = answer['server']
        if 'problem' in answer and not may_fail:
            raise BenchError(f'{fields[0]}: {answer["problem"]}')
        if fields[0] in ('fresh', 'call', 'open'):
            self.calls += len(answer['ns'])
            self.cpu_us += answer['client_cpu_us']
        answer['us'] = [ns / 1000 for ns in answer.pop('ns')]
        return answer

    def start(self, *arguments):
        return self.ask('server', *arguments)

    def fresh(self, count, policy='default', skip=0, pause_ms=0, clients=1):
        return self.ask('fresh', policy, count, skip, pause_ms, clients, CODE, EXPECT)

    def call(self, count, session, policy='default'):
        return self.ask('call', policy, count, session, CODE, EXPECT)

    def open(self, count, policy='default', may_fail=False):
        return self.ask('open', policy, count, CODE, EXPECT, may_fail=may_fail)

    def shut(self):
        return self.ask('shut')

    def spawn(self, arguments, count=1, expect=EXPECT, may_fail=False):
        return self.ask('spawn', count, expect, *arguments, may_fail=may_fail)

    def quit(self):
        return self.ask('quit')
