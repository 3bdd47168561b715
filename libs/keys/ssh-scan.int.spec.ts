import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { startRealGitea, type GiteaUnderTest } from '@fairlead/git-hosts/testing';
import { FairleadError } from '@fairlead/errors';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scanSshHost } from './feature/git/ssh-scan.js';

let gitea: GiteaUnderTest;

beforeAll(async () => {
  gitea = await startRealGitea();
});
afterAll(async () => {
  await gitea?.[Symbol.asyncDispose]();
});

const scan = (sshPort: number, timeoutMs = 5_000): Promise<unknown> =>
  scanSshHost({ sshHost: '127.0.0.1', sshPort }, new AbortController().signal, timeoutMs).catch(
    (error: unknown) => error,
  );

/** A server that treats each connection so. */
async function listening(onSocket: (socket: Socket) => void): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, server };
}

it('sees the keys that ssh-keyscan sees', async () => {
  const where = ['-p', `${gitea.info.sshPort}`, '127.0.0.1'];
  const { stdout } = await promisify(execFile)('ssh-keyscan', ['-T', '30', ...where], { timeout: 60_000 });
  const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const keys = lines.map((line) => line.slice(line.indexOf(' ') + 1));
  expect(await scan(gitea.info.sshPort, 20_000)).toEqual(keys);
});

it('outlives whatever a server says', async () => {
  const greetings: (string | Buffer)[] = [
    '',
    'HTTP/1.1 400 Bad Request\r\n\r\n'.repeat(20_000),
    'SSH-1.5-old\r\n',
    'SSH-2.0-\r\n',
    ...Array.from({ length: 30 }, () => Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), randomBytes(4_096)])),
  ];
  for (const greeting of greetings) {
    const { port, server } = await listening((socket) => {
      socket.end(greeting);
    });
    expect(await scan(port)).toBeInstanceOf(FairleadError);
    server.close();
  }
});

it('believes no key of a handshake that was changed on the way', async () => {
  const believed: unknown[] = [];
  for (let at = 40; at < 2_000; at += 60) {
    const { port, server } = await listening((socket) => {
      const behind = connect(gitea.info.sshPort, '127.0.0.1');
      let passed = 0;
      behind.on('error', () => socket.destroy());
      behind.on('close', () => socket.destroy());
      behind.on('data', (data: Buffer) => {
        const index = at - passed;
        if (index >= 0 && index < data.length) data[index]! ^= 0x55;
        passed += data.length;
        socket.write(data);
      });
      socket.on('data', (data: Buffer) => behind.write(data));
      socket.on('close', () => behind.destroy());
    });
    const outcome = await scan(port, 3_000);
    if (!(outcome instanceof FairleadError)) believed.push(outcome);
    server.close();
  }
  // What was changed after the key was proved changes nothing of it.
  for (const outcome of believed) expect(outcome).toEqual([gitea.info.sshHostKey]);
});

it('ends in time with a server that says nothing, drips, or is not there', async () => {
  const silent = await listening(() => undefined);
  expect(await scan(silent.port, 300)).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  silent.server.close();
  const dripping = await listening((socket) => {
    const drip = setInterval(() => socket.write('x'), 20);
    socket.on('close', () => clearInterval(drip));
  });
  expect(await scan(dripping.port, 500)).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  dripping.server.close();
  expect(await scan(1)).toMatchObject({ code: 'UNAVAILABLE' });
});
