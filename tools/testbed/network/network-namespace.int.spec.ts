import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readlink, symlink } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { firstLine, runSource } from '../fixtures/run-source.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { launch } from '../process/launch.js';
import { freePort } from '../process/ports.js';
import { startNetworkNamespace } from './network-namespace.js';

/** Sends a megabyte, ends, and says how much came back until the other side ended, or why nothing did: whichever is first. */
const DIAL = `
const socket = require('node:net').connect({ port: process.argv[1], host: '127.0.0.1', allowHalfOpen: true });
let bytes = 0;
socket.on('data', (chunk) => (bytes += chunk.length)).end(Buffer.alloc(1_000_000));
const over = (say) => socket.on('end', () => say(bytes)).on('error', ({ code }) => say(code));
new Promise(over).then((said) => console.log(said));`;
/** Sends back what comes, to its end. */
const ECHO = `
const echo = (socket) => socket.pipe(socket);
require('node:net').createServer({ allowHalfOpen: true }, echo).listen(process.argv[1], '127.0.0.1');`;

const servers: Server[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const server of servers.splice(0)) server.close();
});

/** A port of this machine where what comes is sent back. */
async function echoOutside(): Promise<number> {
  const port = await freePort();
  const server = createServer({ allowHalfOpen: true }, (socket: Socket) => socket.pipe(socket));
  servers.push(server);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return port;
}

async function run(enter: readonly string[], ...command: string[]): Promise<string> {
  const [path, ...args] = [...enter, ...command] as [string, ...string[]];
  return (await promisify(execFile)(path, args, { timeout: 60_000 })).stdout.trim();
}

const dial = (enter: readonly string[], port: number): Promise<string> =>
  run(enter, process.execPath, '-e', DIAL, `${port}`);

const namespaceOf = (pid: number | 'self'): Promise<string> => readlink(`/proc/${pid}/ns/net`);

/** The processes in it. */
async function membersOf(namespace: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  // Those that end meanwhile, and those of others, are not in it.
  const isMember = (pid: string) =>
    namespaceOf(Number(pid)).then(
      (found) => found === namespace,
      () => false,
    );
  const found = await Promise.all(pids.map(async (pid) => ((await isMember(pid)) ? [pid] : [])));
  return found.flat();
}

describe.runIf(process.platform === 'linux')('a network namespace', () => {
  it('has nothing but a loopback interface of its own', async () => {
    await using network = await startNetworkNamespace();
    const links = JSON.parse(await run(network.enter, 'ip', '-json', 'address')) as Record<string, unknown>[];
    expect(links).toMatchObject([{ ifname: 'lo', flags: expect.arrayContaining(['UP']) }]);
    expect(await run(network.enter, 'ip', 'route')).toBe('');
    const port = await echoOutside();
    expect(await dial([], port)).toBe('1000000');
    expect(await dial(network.enter, port)).toBe('ECONNREFUSED');
  });

  it('has those ports of this machine that are carried in', async () => {
    await using network = await startNetworkNamespace();
    const [port, other] = [await echoOutside(), await echoOutside()];
    await network.carryIn(port);
    expect([await dial(network.enter, port), await dial(network.enter, other)]).toEqual(['1000000', 'ECONNREFUSED']);
    await expect(network.carryIn(port)).rejects.toThrow('EADDRINUSE');
  });

  it('lends its own ports to this machine, where they are carried out', async () => {
    await using dir = await temporaryDirectory();
    await using network = await startNetworkNamespace();
    const port = await freePort();
    const echo = await launch({
      name: 'echo',
      enter: network.enter,
      path: process.execPath,
      args: ['-e', ECHO, `${port}`],
      logPath: join(dir.path, 'echo.log'),
      cwd: dir.path,
      stopSignal: 'SIGTERM',
    });
    await vi.waitFor(async () => expect(await dial(network.enter, port)).toBe('1000000'), { timeout: 60_000 });
    expect(await dial([], port)).toBe('ECONNREFUSED');
    await network.carryOut(port);
    expect(await dial([], port)).toBe('1000000');
    process.kill(echo.pid, 'SIGTERM');
    await echo.exited;
    // The bridge stands, and leads nowhere.
    expect(await dial([], port)).toMatch(/^(?:0|ECONNRESET|EPIPE)$/u);
    const taken = await echoOutside();
    await expect(network.carryOut(taken)).rejects.toThrow('EADDRINUSE');
  });

  it('is gone when it is disposed of, with its bridges', async () => {
    const network = await startNetworkNamespace();
    const namespace = await run(network.enter, 'readlink', '/proc/self/ns/net');
    expect(await membersOf(namespace)).toHaveLength(1);
    const port = await freePort();
    await network.carryOut(port);
    await network[Symbol.asyncDispose]();
    expect(await membersOf(namespace)).toEqual([]);
    expect(await dial([], port)).toBe('ECONNREFUSED');
  });

  it('goes with the process that made it, and with what that started there', async () => {
    await using dir = await temporaryDirectory();
    const parent = runSource('fixtures/hold-namespace.ts', [dir.path]);
    const pid = Number(await firstLine(parent));
    const ours = await namespaceOf('self');
    const namespace = await vi.waitFor(
      async () => {
        const found = await namespaceOf(pid);
        expect(found).not.toBe(ours);
        return found;
      },
      { timeout: 30_000 },
    );
    expect((await membersOf(namespace)).length).toBe(2);
    parent.kill('SIGKILL');
    await vi.waitFor(async () => expect(await membersOf(namespace)).toEqual([]), { timeout: 30_000 });
  });

  it('says which program is missing, and of which package it is', async () => {
    await using dir = await temporaryDirectory();
    const found = (program: string): Promise<string> => run([], 'which', program);
    await symlink(await found('unshare'), join(dir.path, 'unshare'));
    await symlink(await found('nsenter'), join(dir.path, 'nsenter'));
    vi.stubEnv('PATH', dir.path);
    const missing = 'a network namespace needs Linux and ip (the Debian package iproute2)';
    await expect(startNetworkNamespace()).rejects.toThrow(missing);
  });
});
