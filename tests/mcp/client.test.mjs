// The official TypeScript SDK as a client of `snipara-sandbox mcp-serve` (SNIPARA_BIN names the program). Node 18 or newer.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

const PROGRAM = process.env.SNIPARA_BIN ?? 'snipara-sandbox';
const KEPT = ['HOME', 'PATH', 'TMPDIR', 'SNIPARA_SANDBOX_PYHOST', 'SNIPARA_SANDBOX_POLICY_DIR', 'ASAN_OPTIONS', 'UBSAN_OPTIONS'];

let client;
let transport;

async function connect() {
  const env = Object.fromEntries(KEPT.filter((name) => process.env[name] !== undefined).map((name) => [name, process.env[name]]));
  const wire = new StdioClientTransport({ command: PROGRAM, args: ['mcp-serve'], env, stderr: 'inherit' });
  const made = new Client({ name: 'tests', version: '1.0.0' }, { capabilities: {} });
  made.onerror = (error) => assert.fail(`the SDK met something that is not the protocol: ${error}`);
  await made.connect(wire);
  await made.listTools(); // the SDK validates structuredContent against the output schemas that it has seen
  return [made, wire];
}

function execute(code, more = {}, options = {}) {
  return client.callTool({ name: 'execute_python', arguments: { code, ...more } }, undefined, options);
}

// Processes below `root`, by parent, from /proc.
function descendants(root) {
  const children = new Map();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    } catch {
      // ended meanwhile
    }
  }
  const found = [];
  for (const border = [root]; border.length > 0;) {
    const next = children.get(border.pop()) ?? [];
    found.push(...next);
    border.push(...next);
  }
  return found;
}

function isThere(pid) {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return false;
  }
}

before(async () => {
  [client, transport] = await connect();
});

after(async () => {
  await client.close();
});

test('initialize', () => {
  assert.equal(client.getServerVersion().name, 'snipara-sandbox');
  assert.ok(client.getServerCapabilities().tools);
});

test('listTools: every tool has both schemas, and execute_python wants code', async () => {
  const { tools } = await client.listTools();
  for (const tool of tools) {
    assert.equal(tool.inputSchema.type, 'object', tool.name);
    assert.equal(tool.outputSchema.type, 'object', tool.name);
    assert.ok(tool.description.length > 20, tool.name);
  }
  const execution = tools.find((tool) => tool.name === 'execute_python');
  assert.deepEqual(execution.inputSchema.required, ['code']);
});

test('ping', async () => {
  assert.deepEqual(await client.ping(), {});
});

test('callTool: the receipt is structured content that the SDK has validated, and the text is whole by itself', async () => {
  const answer = await execute('print("hello")\n6 * 7');
  assert.ok(!answer.isError);
  assert.equal(answer.structuredContent.status, 'ok');
  assert.equal(answer.structuredContent.stdout, 'hello\n');
  assert.equal(answer.structuredContent.result.json, 42);
  assert.equal(answer.structuredContent.backend.name, 'native');
  assert.ok(answer.structuredContent.backend.layers.includes('seccomp'));
  const text = answer.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');
  assert.match(text, /hello/);
  assert.match(text, /42/);
});

test('an exception is a tool result with isError, not a protocol error', async () => {
  const answer = await execute('1/0');
  assert.equal(answer.isError, true);
  assert.match(answer.content[0].text, /ZeroDivisionError/);
});

test('bad arguments are a tool error that names the argument', async () => {
  const answer = await client.callTool({ name: 'execute_python', arguments: { code: 5 } });
  assert.equal(answer.isError, true);
  assert.match(answer.content[0].text, /code/);
});

test('an unknown tool is a protocol error that names it', async () => {
  await assert.rejects(client.callTool({ name: 'execute_ruby', arguments: {} }), (error) => {
    assert.ok(error instanceof McpError);
    assert.equal(error.code, ErrorCode.InvalidParams);
    assert.match(error.message, /execute_ruby/);
    return true;
  });
});

test('variables are kept per session', async () => {
  await execute('x = 41', { session_id: 'kept' });
  assert.equal((await execute('x + 1', { session_id: 'kept' })).structuredContent.result.repr, '42');
  assert.equal((await execute('x', { session_id: 'other' })).structuredContent.error.type, 'NameError');
});

test('progress carries the output as it comes and keeps a request alive', async () => {
  const seen = [];
  const answer = await execute('import time\nfor n in range(5):\n    print("step", n, flush=True)\n    time.sleep(0.6)', { session_id: 'progress' }, {
    onprogress: (note) => seen.push(note),
    timeout: 2000,
    resetTimeoutOnProgress: true,
  });
  assert.equal(answer.structuredContent.status, 'ok');
  assert.ok(seen.length > 0);
  assert.ok(seen.some((note) => /step/.test(note.message ?? '')), JSON.stringify(seen));
  for (let n = 1; n < seen.length; n++) assert.ok(seen[n].progress > seen[n - 1].progress);
});

test('AbortSignal cancels the call, and the session is served on', async () => {
  await execute('1', { session_id: 'cancel' });
  const abort = new AbortController();
  const call = execute('while True: pass', { session_id: 'cancel', timeout: 60 }, { signal: abort.signal });
  setTimeout(() => abort.abort('enough'), 500);
  await assert.rejects(call);
  const started = Date.now();
  assert.equal((await execute('2 + 2', { session_id: 'cancel' })).structuredContent.result.json, 4);
  assert.ok(Date.now() - started < 5000);
});

test('a timeout of the code is a result, not a timeout of the request', async () => {
  const answer = await execute('while True: pass', { session_id: 'loop', timeout: 1 });
  assert.equal(answer.isError, true);
  assert.equal(answer.structuredContent.status, 'timeout');
});

test('sessions run side by side', async () => {
  await Promise.all(['a', 'b'].map((name) => execute('1', { session_id: `side-${name}` })));
  const started = Date.now();
  const answers = await Promise.all(['a', 'b'].map((name) => execute('import time; time.sleep(1.5); 1', { session_id: `side-${name}` })));
  assert.ok(answers.every((answer) => answer.structuredContent.status === 'ok'));
  assert.ok(Date.now() - started < 2800, `${Date.now() - started} ms`);
});

test('one session answers in order', async () => {
  const order = [];
  await Promise.all([...Array(6).keys()].map((n) =>
    execute(`import time; time.sleep(${n % 2 ? 0 : 0.1}); ${n}`, { session_id: 'order' }).then((answer) => order.push(answer.structuredContent.result.json))));
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5]);
});

test('every tool with an output schema answers what it promises', async () => {
  const listed = await client.callTool({ name: 'list_sessions', arguments: {} });
  assert.ok(listed.structuredContent.sessions.some((row) => row.id === 'kept'));
  const ended = await client.callTool({ name: 'destroy_session', arguments: { session_id: 'kept' } });
  assert.ok(!ended.isError);
  const again = await client.callTool({ name: 'destroy_session', arguments: { session_id: 'kept' } });
  assert.equal(again.isError, true);
  assert.match(again.content[0].text, /kept/);
});

test('close leaves no process', async () => {
  const [other, wire] = await connect();
  await other.callTool({ name: 'execute_python', arguments: { code: 'import subprocess; subprocess.Popen(["sleep", "100"], start_new_session=True); 1' } });
  const below = [wire.pid, ...descendants(wire.pid)];
  assert.ok(below.length >= 3, `the jail is not below the server: ${below}`);
  await other.close();
  for (let n = 0; n < 40 && below.some(isThere); n++) await sleep(50);
  assert.deepEqual(below.filter(isThere), []);
  assert.ok(isThere(transport.pid), 'the other server is untouched');
});
