import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { shownHost, type NeededHost } from './needed-hosts.js';

/** What a dial found: a code of libs/installer/README.md and a sentence, without a word of the other side's. */
export interface Seen {
  readonly code: string;
  readonly message: string;
}

export interface DialOptions {
  /** For all of it: name, connection, TLS, first answer. */
  readonly deadlineMs: number;
  /** Authorities that count in place of the system's. */
  readonly caPem?: string | undefined;
}

/** Of what is read of an answer; the rest is not taken. */
const MAX_ANSWER_BYTES = 4_096;
/** Before the next address of a name is tried. */
const NEXT_ADDRESS_MS = 1_000;
const HTTP_STATUS = /^HTTP\/\d\.\d \d{3}/;
/** A server may send lines before it: https://www.rfc-editor.org/rfc/rfc4253#section-4.2 */
const SSH_VERSION = /^SSH-/m;

/** How far a dial came. */
interface Progress {
  stage: 'name' | 'route' | 'tls' | 'answer';
  distrust: string;
}

/** Is it there, and is it what is looked for? Sends no credentials, and follows nothing. Never rejects. */
export async function dialHost(target: NeededHost, options: DialOptions, signal: AbortSignal): Promise<Seen> {
  const deadline = AbortSignal.timeout(options.deadlineMs);
  const until = AbortSignal.any([signal, deadline]);
  const progress: Progress = { stage: isIP(target.host) === 0 ? 'name' : 'route', distrust: '' };
  try {
    const isIt = await (target.kind === 'registry' ? asksRegistry : hearsSsh)(target, options, progress, until);
    const what = target.kind === 'registry' ? 'a registry' : 'an SSH server';
    return isIt
      ? { code: 'REACHABLE', message: '' }
      : { code: 'WRONG_ANSWER', message: `it connects, and what answers is not ${what}` };
  } catch (error) {
    const why = until.aborted ? `nothing within ${options.deadlineMs / 1_000} s` : codeOf(error);
    return meaningOf(progress, why);
  }
}

/** Any answer in HTTP will do: registries that want credentials say 401. https://github.com/opencontainers/distribution-spec */
async function asksRegistry(
  target: NeededHost,
  { caPem }: DialOptions,
  progress: Progress,
  until: AbortSignal,
): Promise<boolean> {
  const { host } = target;
  using tcp = closing(await connected(target, progress, until));
  progress.stage = 'tls';
  const socket = connectTls({
    socket: tcp.socket,
    host,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(caPem === undefined ? {} : { ca: caPem }),
  });
  using tls = closing(socket);
  addAbortSignal(until, socket);
  try {
    await once(socket, 'secureConnect');
  } catch (error) {
    progress.distrust = distrustOf(socket);
    throw error;
  }
  progress.stage = 'answer';
  tls.socket.write(
    `GET /v2/ HTTP/1.1\r\nHost: ${shownHost(target)}\r\nUser-Agent: fairlead-installer\r\nConnection: close\r\n\r\n`,
  );
  return await answers(tls.socket, HTTP_STATUS);
}

async function hearsSsh(
  target: NeededHost,
  _options: DialOptions,
  progress: Progress,
  until: AbortSignal,
): Promise<boolean> {
  using tcp = closing(await connected(target, progress, until));
  progress.stage = 'answer';
  return await answers(tcp.socket, SSH_VERSION);
}

async function connected({ host, port }: NeededHost, progress: Progress, until: AbortSignal): Promise<Socket> {
  const socket = connect({ host, port, autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS });
  addAbortSignal(until, socket);
  socket.on('lookup', (error: Error | null) => {
    if (!error) progress.stage = 'route';
  });
  await once(socket, 'connect');
  return socket;
}

/** Do its first bytes match? */
async function answers(from: Readable, pattern: RegExp): Promise<boolean> {
  let text = '';
  for await (const chunk of from as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1', 0, MAX_ANSWER_BYTES - text.length);
    if (pattern.test(text)) return true;
    if (text.length >= MAX_ANSWER_BYTES) return false;
  }
  return false;
}

function meaningOf({ stage, distrust }: Progress, why: string): Seen {
  if (stage === 'name') return { code: 'NAME_UNKNOWN', message: `its name cannot be resolved (${why})` };
  if (stage === 'route') return { code: 'UNREACHABLE', message: `no connection (${why})` };
  if (distrust !== '') {
    const message = `its certificate is not trusted (${distrust}): something may open TLS on the way, or it has an authority that only nodes know`;
    return { code: 'CERTIFICATE_UNTRUSTED', message };
  }
  if (why === 'EPROTO' || why.startsWith('ERR_SSL_')) {
    return { code: 'WRONG_ANSWER', message: `it connects, and does not speak TLS (${why})` };
  }
  return { code: 'UNREACHABLE', message: `it connects, and breaks off before it answers (${why})` };
}

/** Node sets it, as a text, before it ends the connection for it: https://nodejs.org/api/tls.html#tlssocketauthorizationerror */
function distrustOf({ authorizationError }: TLSSocket): string {
  const said: unknown = authorizationError;
  return said === null || said === undefined ? '' : plain(said instanceof Error ? codeOf(said) : said);
}

function codeOf(error: unknown): string {
  return plain(error instanceof Error && 'code' in error ? error.code : '');
}

/** A code of the runtime's, and nothing that somebody else wrote. */
function plain(code: unknown): string {
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'no reason given';
}

/** Ends with the scope, however it went; what it says afterwards is of no use. */
function closing<S extends Socket>(socket: S): { readonly socket: S } & Disposable {
  socket.on('error', () => undefined);
  return { socket, [Symbol.dispose]: () => void socket.destroy() };
}
