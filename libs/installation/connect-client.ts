import { once } from 'node:events';
import { connect as netConnect, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { checkCsr, createCsr, generatePrivateKey, issueIdentity } from '@fairlead/pki';
import type { TestAuthority } from '@fairlead/testing';
import type { Replica } from './replicas.js';

export interface ClientCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A certificate of a client of the CONNECT door, with its key. */
export async function clientCertificate(
  authority: TestAuthority,
  clientId: string,
  notAfter: Date = new Date(Date.now() + 3_600_000),
): Promise<ClientCertificate> {
  const { trustDomain, issuing, root } = authority;
  const key = await generatePrivateKey();
  const { certificatePem } = await issueIdentity(issuing, {
    csr: await checkCsr(await createCsr(key)),
    id: { kind: 'client', trustDomain, name: clientId },
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter,
  });
  return { key, cert: [certificatePem, issuing.certificatePem, root.certificatePem].join('') };
}

export interface ConnectCall {
  readonly authority: TestAuthority;
  readonly certificate?: ClientCertificate | undefined;
  readonly target: string;
  readonly serverName?: string;
  /** User name of Proxy-Authorization. */
  readonly user?: string;
  readonly headers?: readonly string[];
  /** Bytes sent in one piece with the request head. */
  readonly early?: Buffer | string;
}

export interface ConnectAnswer {
  readonly status: number;
  readonly head: string;
  /** In its stream: everything after the head. */
  readonly socket: TLSSocket;
  /** The TCP connection below it. */
  readonly plain: Socket;
}

/** TLS to a replica's CONNECT door. Rejects if the door refuses the handshake. */
export async function dialConnectDoor(replica: Replica, call: Omit<ConnectCall, 'target'>): Promise<ConnectAnswer> {
  const plain = netConnect({ port: replica.gateway.connect?.port ?? 0, host: '127.0.0.1', allowHalfOpen: true });
  const socket = connect({
    socket: plain,
    host: '127.0.0.1',
    ca: [...call.authority.roots],
    ...call.certificate,
    ...(call.serverName ? { servername: call.serverName, checkServerIdentity: () => undefined } : {}),
  });
  socket.allowHalfOpen = true;
  await once(socket, 'secureConnect');
  return { status: 0, head: '', socket, plain };
}

/** One CONNECT. Resolves with the answer's head, whatever it says; rejects if the connection ends without one. */
export async function connectThrough(replica: Replica, call: ConnectCall): Promise<ConnectAnswer> {
  const { socket, plain } = await dialConnectDoor(replica, call);
  const authorization = call.user === undefined ? [] : [`Proxy-Authorization: Basic ${btoa(`${call.user}:ignored`)}`];
  const lines = [`CONNECT ${call.target} HTTP/1.1`, `Host: ${call.target}`, ...authorization, ...(call.headers ?? [])];
  socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(call.early ?? '')]));
  const head = await readHead(socket);
  socket.on('error', () => undefined);
  return { status: Number(head.split(' ')[1]), head, socket, plain };
}

/** Reads exactly the head, and leaves what follows in the stream. */
export function readHead(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    const settle = (finish: () => void): void => {
      socket.off('readable', onReadable);
      socket.off('end', onEnd);
      socket.off('close', onEnd);
      socket.off('error', reject);
      finish();
    };
    const onEnd = (): void => settle(() => reject(new Error(`no answer, but ${JSON.stringify(seen.toString())}`)));
    const onReadable = (): void => {
      for (let chunk: Buffer | null; (chunk = socket.read() as Buffer | null) !== null;) {
        seen = Buffer.concat([seen, chunk]);
        const end = seen.indexOf('\r\n\r\n');
        if (end === -1) continue;
        settle(() => {
          if (seen.length > end + 4) socket.unshift(seen.subarray(end + 4));
          resolve(seen.subarray(0, end).toString());
        });
        return;
      }
    };
    socket.on('readable', onReadable);
    socket.once('end', onEnd);
    socket.once('close', onEnd);
    socket.once('error', reject);
  });
}
