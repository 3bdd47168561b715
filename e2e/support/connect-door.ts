import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { Stack } from '@fairlead/stack';
import { secretScan } from './secret-scan/index.js';

/** A client that `fairlead client create` made, as the command left it. */
export interface DoorClient extends AsyncDisposable {
  readonly name: string;
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
  /** What the command printed. */
  readonly printed: string;
}

export interface Connected {
  readonly status: number;
  /** `Fairlead-Reason`, if there is one. */
  readonly reason: string | undefined;
  /** From here on the target's, if the status is 200. */
  readonly socket: TLSSocket;
}

const DEADLINE_MS = 15_000;

/** Without clusters: it reaches what it is granted. */
export async function createDoorClient(stack: Stack, name: string, clusters: readonly string[]): Promise<DoorClient> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-client-'));
  const which = clusters.length > 0 ? clusters.flatMap((cluster) => ['--cluster', cluster]) : ['--granted'];
  const made = await stack.cli(['client', 'create', name, ...which, '--out', folder]);
  if (made.code !== 0) throw new Error(made.stderr);
  const [key, cert, ca] = await Promise.all(
    (['client.key', 'client.crt', 'ca.crt'] as const).map((file) => readFile(join(folder, file), 'utf8')),
  );
  secretScan.issued.addKey(`the key of the client ${name}`, key ?? '');
  return {
    name,
    key: key ?? '',
    cert: cert ?? '',
    ca: ca ?? '',
    printed: made.stdout,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** One CONNECT, as curl sends it. Rejects if the door ends the connection before it answers; with ETIMEDOUT if it does neither. */
export async function connectThrough(
  door: string,
  client: Pick<DoorClient, 'ca'> & Partial<DoorClient>,
  target: string,
  cluster?: string,
  how: Pick<ConnectionOptions, 'servername'> & { readonly localAddress?: string } = {},
): Promise<Connected> {
  const { hostname: host, port } = new URL(door);
  const { ca, key, cert } = client;
  const identity = key === undefined || cert === undefined ? {} : { key, cert };
  const options = { host, port: Number(port), ca, ...identity, allowHalfOpen: true, ...how };
  // As curl and Go's programs do: else what is sent in two pieces waits for the kernel, 40 ms.
  const socket = connect(options).setNoDelay(true);
  const deadline = setTimeout(() => socket.destroy(late()), DEADLINE_MS);
  try {
    await once(socket, 'secureConnect');
    const user = cluster === undefined ? '' : `Proxy-Authorization: Basic ${btoa(`${cluster}:`)}\r\n`;
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${user}\r\n`);
    const head = await readHead(socket);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    return { status, reason: /^fairlead-reason: *(\S+)/im.exec(head)?.[1], socket };
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(deadline);
  }
}

function late(): Error {
  return Object.assign(new Error('the door did not answer'), { code: 'ETIMEDOUT' });
}

/** Up to the empty line; what came after it stays in the socket. */
function readHead(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    let read = Buffer.alloc(0);
    const settle = (act: () => void): void => {
      socket.off('readable', onReadable).off('error', onError).off('end', onEnd);
      act();
    };
    const onError = (error: Error): void => settle(() => reject(error));
    const onEnd = (): void => settle(() => reject(new Error('the door ended the connection without an answer')));
    const onReadable = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        read = Buffer.concat([read, chunk]);
        const end = read.indexOf('\r\n\r\n');
        if (end === -1) continue;
        const [head, rest] = [read.subarray(0, end).toString('latin1'), read.subarray(end + 4)];
        settle(() => {
          if (rest.length > 0) socket.unshift(rest);
          resolve(head);
        });
        return;
      }
    };
    socket.on('readable', onReadable).on('error', onError).on('end', onEnd);
  });
}
