"""A client of `snipara-sandbox mcp-serve` that speaks raw MCP lines on stdio: many calls at a time, every answer with its time."""
import asyncio
import json
import os
import pathlib
import sys
import time

STAMP = str(pathlib.Path(__file__).resolve().parent / 'stamp.py')
LINE_MAX = 64 << 20  # longest answer: a receipt with all of its output and a value


class ServerEnded(Exception):
    """The server closed its standard output while somebody waited for an answer."""


class Receipt(dict):
    """With the line that it came in, so that keeping it costs no second writing."""
    line = b''


class Server:
    def __init__(self, process, stamper):
        self.process = process
        self.stamper = stamper
        self.pid = process.pid
        self.next_id = 1
        self.waiting = {}
        self.reader = None

    @classmethod
    async def start(cls, program, environment, directory, errors):
        lines, stdout = os.pipe()
        process = await asyncio.create_subprocess_exec(program, 'mcp-serve', stdin=asyncio.subprocess.PIPE, stdout=stdout,
                                                       stderr=errors, env=environment, cwd=directory)
        stamper = await asyncio.create_subprocess_exec(sys.executable, '-I', STAMP, stdin=lines, stdout=asyncio.subprocess.PIPE,
                                                       limit=LINE_MAX)
        os.close(lines)
        os.close(stdout)
        server = cls(process, stamper)
        server.reader = asyncio.ensure_future(server._read())
        answer, _ = await server.request('initialize', {'protocolVersion': '2025-06-18', 'capabilities': {},
                                                        'clientInfo': {'name': 'soak', 'version': '1'}})
        assert answer['protocolVersion'] == '2025-06-18', answer
        server._send({'method': 'notifications/initialized'})
        return server

    async def _read(self):
        while True:
            line = await self.stamper.stdout.readline()
            if not line:
                break
            stamp, _, line = line.partition(b' ')
            arrived = int(stamp) / 1e9
            message = json.loads(line)  # stdout carries protocol messages only: anything else ends the soak here
            future = self.waiting.pop(message['id'])
            if not future.done():
                future.set_result((message, arrived, line))
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(ServerEnded('the server ended'))

    def _send(self, message):
        self.process.stdin.write(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')

    async def request(self, method, params, within=60):
        """(result, milliseconds from the request's line to the answer's)."""
        result, ms, _ = await self._request(method, params, within)
        return result, ms

    async def _request(self, method, params, within=60):
        if self.reader is not None and self.reader.done():
            self.reader.result()
            raise ServerEnded('the server ended')
        number, self.next_id = self.next_id, self.next_id + 1
        future = self.waiting[number] = asyncio.get_running_loop().create_future()
        began = time.clock_gettime(time.CLOCK_MONOTONIC)
        self._send({'id': number, 'method': method, 'params': params})
        done, _ = await asyncio.wait({future, self.reader}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise TimeoutError(f'no answer to {method} within {within} s: {json.dumps(params)[:400]}')
        if not future.done():
            self.reader.result()  # what it died of, when it was not the end of the stream
        message, arrived, line = future.result()
        assert 'error' not in message, message
        return message['result'], (arrived - began) * 1000, line

    async def call(self, session, code, **arguments):
        """(receipt, milliseconds)."""
        result, ms, line = await self._request('tools/call', {'name': 'execute_python',
                                                              'arguments': {'session_id': session, 'code': code, **arguments}})
        receipt = result.get('structuredContent')
        assert receipt, result
        assert bool(result.get('isError')) == (receipt['status'] != 'ok'), receipt
        receipt = Receipt(receipt)
        receipt.line = line
        return receipt, ms

    async def destroy(self, session):
        result, ms = await self.request('tools/call', {'name': 'destroy_session', 'arguments': {'session_id': session}})
        assert result.get('structuredContent') == {'destroyed': True}, result
        return ms

    async def sessions(self):
        result, _ = await self.request('tools/call', {'name': 'list_sessions', 'arguments': {}})
        return result['structuredContent']['sessions']

    async def close(self):
        """End of input; the exit code."""
        self.process.stdin.close()
        code = await asyncio.wait_for(self.process.wait(), 15)
        await self.reader
        await self.stamper.wait()
        return code


def environment(home):
    """A closed one: nothing of the caller's but what names the tree under test."""
    kept = ('SNIPARA_SANDBOX_PYHOST', 'SNIPARA_SANDBOX_POLICY_DIR', 'ASAN_OPTIONS', 'UBSAN_OPTIONS')
    made = {name: os.environ[name] for name in kept if name in os.environ}
    made.update(PATH='/usr/local/bin:/usr/bin:/bin', LANG='C.UTF-8', HOME=str(home), TMPDIR=str(home))
    for name in ('CONFIG_HOME', 'STATE_HOME', 'CACHE_HOME', 'RUNTIME_DIR'):
        made['XDG_' + name] = str(home)
    return made
