import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as netConnect, type AddressInfo, type Socket } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { scratchDir, testAuthority, type TestAuthority } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { noticeVanished, rememberPlainSockets } from './vanished-clients.js';

const run = promisify(execFile);
const main = fileURLToPath(new URL('../../dist/testing/vanishing-clients-main.js', import.meta.url));
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const BYTES = 8 * 1024 * 1024;

let authority: TestAuthority;
beforeAll(async () => {
  authority = await testAuthority();
});

describe('noticeVanished', () => {
  // Only a network of its own can lose a client without a word.
  it.runIf(isRoot)(
    'ends connections that nobody reads from when TCP keepalive has given their clients up',
    async () => {
      await using scratch = await scratchDir();
      const [key, cert] = [scratch.file('key.pem'), scratch.file('cert.pem')];
      const { privateKeyPem, chainPem } = await authority.gateway('gateway-a');
      writeFileSync(key, privateKeyPem, { mode: 0o600 });
      writeFileSync(cert, chainPem);
      const { stdout } = await run('unshare', ['--net', '--', process.execPath, main, key, cert], { timeout: 60_000 });
      // The first probe after a second, and ten unanswered ones: the kernel's own limits are minutes and never.
      expect(Number(stdout)).toBeLessThan(25);
    },
  );

  it('changes nothing for a client that is there: one that ended its direction, and one that has to wait', async () => {
    const { privateKeyPem: key, chainPem: cert } = await authority.gateway('gateway-a');
    const server = createServer({ key, cert, allowHalfOpen: true } as Parameters<typeof createServer>[0]);
    let plain: Socket | undefined;
    server.on('connection', (socket: Socket) => (plain = socket));
    server.on('secureConnection', (socket: TLSSocket) => {
      noticeVanished(socket, plain as Socket, 1);
      let taken = 0;
      socket.on('data', (chunk: Buffer) => {
        taken += chunk.length;
        socket.pause();
        setTimeout(() => socket.resume(), 2);
      });
      socket.once('end', () => setTimeout(() => socket.end(Buffer.alloc(BYTES, String(taken === BYTES))), 50));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    client.end(Buffer.alloc(BYTES));
    const answer = Buffer.concat((await client.toArray()) as Buffer[]);
    expect(answer.equals(Buffer.alloc(BYTES, 'true'))).toBe(true);
    server.close();
  });
});

it('tells connections from one port of a client to two addresses of ours apart', async () => {
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1', '127.0.0.2']);
  const server = createServer({ key: privateKeyPem, cert: chainPem });
  const plainOf = rememberPlainSockets(server);
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dial = async (host: string, localPort?: number): Promise<{ client: Socket; accepted: TLSSocket }> => {
    const from = localPort === undefined ? {} : { localPort };
    const client = netConnect({ host, port, localAddress: '127.0.0.1', ...from });
    await once(client, 'connect');
    const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    const socket = connect({ socket: client, host, ca: [...authority.roots] });
    await once(socket, 'secureConnect');
    return { client, accepted: (await accepted)[0] };
  };

  const first = await dial('127.0.0.1');
  const second = await dial('127.0.0.2', first.client.localPort);

  expect(first.client.localPort).toBe(second.client.localPort);
  expect([first, second].map(({ accepted }) => plainOf(accepted)?.localAddress)).toEqual(['127.0.0.1', '127.0.0.2']);
  for (const { client } of [first, second]) client.destroy();
  server.close();
});
