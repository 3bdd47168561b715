import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { TestbedError } from '../errors.js';
import { carry, type Place, type Said, type Wish } from './bridge.js';

/** A network with nothing in it but a loopback interface of its own, and the ports that are carried in or out (Linux). */
export interface NetworkNamespace extends AsyncDisposable {
  /** What stands before a command that is to run inside; the process that is started becomes that command. */
  readonly enter: readonly string[];
  /** Of a process that is in it as long as it is there. */
  readonly pid: string;
  /** Whoever dials 127.0.0.1:`port` inside reaches what listens there outside. Rejects when the port is taken inside. */
  carryIn(port: number): Promise<void>;
  /** Whoever dials 127.0.0.1:`port` outside reaches what listens there inside. Rejects when the port is taken outside. */
  carryOut(port: number): Promise<void>;
}

export interface NetworkNamespaceOptions {
  /** True: what is mounted inside is seen inside alone, and is gone with the namespace. Default false. */
  readonly ownMounts?: boolean;
}

const PACKAGES = { unshare: 'util-linux', nsenter: 'util-linux', ip: 'iproute2' } as const;
const ANSWER_MS = 30_000;

/**
 * Makes a network namespace, as root or as a user who may make namespaces of users. A child process holds it and carries the
 * ports; it ends when this process does, and the namespace goes with the last process in it. Dispose of it when what was
 * started in it is gone. Throws TestbedError naming what is missing.
 */
export async function startNetworkNamespace(options: NetworkNamespaceOptions = {}): Promise<NetworkNamespace> {
  await requirePrograms();
  const spaces = ['--net', ...(options.ownMounts === true ? ['--mount'] : [])];
  const running = new AsyncDisposableStack();
  const inside = running.use(await startInside(spaces));
  const asUser = isRoot() ? [] : ['--user', '--preserve-credentials'];
  return {
    enter: ['nsenter', ...asUser, ...spaces, '--target', inside.pid, '--'],
    pid: inside.pid,
    async carryIn(port) {
      const socket = { path: join(inside.sockets, `in-${port}`) };
      running.use(await carry(socket, loopback(port)));
      await inside.carry(loopback(port), socket);
    },
    async carryOut(port) {
      const socket = { path: join(inside.sockets, `out-${port}`) };
      await inside.carry(socket, loopback(port));
      running.use(await carry(loopback(port), socket));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const loopback = (port: number): Place => ({ host: '127.0.0.1', port });
const isRoot = (): boolean => process.getuid?.() === 0;

async function requirePrograms(): Promise<void> {
  for (const [program, of] of Object.entries(PACKAGES)) {
    await promisify(execFile)(program, ['-V']).catch((cause: unknown) => {
      throw new TestbedError(`a network namespace needs Linux and ${program} (the Debian package ${of})`, { cause });
    });
  }
}

/** The process that holds the namespace. */
interface Inside extends AsyncDisposable {
  readonly pid: string;
  /** A folder for Unix sockets. */
  readonly sockets: string;
  /** As `carry` of the bridge, from there. */
  carry(from: Place, to: Place): Promise<void>;
}

async function startInside(spaces: readonly string[]): Promise<Inside> {
  const bridge = join(import.meta.dirname, `bridge${extname(import.meta.filename)}`);
  const asUser = isRoot() ? [] : ['--user', '--map-root-user'];
  const script = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh', process.execPath, bridge];
  const child = spawn('unshare', [...asUser, ...spaces, '--', ...script], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // A terminal's Ctrl-C must not take the network away from those who are asked to end in order.
    detached: true,
  });
  const hear = listenTo(child);
  const { sockets } = await hear((said) => ('sockets' in said ? said : undefined)).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  let wishes = 0;
  return {
    pid: String(child.pid),
    sockets,
    async carry(from, to) {
      const id = ++wishes;
      const answered = hear((said) => ('id' in said && said.id === id ? said : undefined));
      child.send({ id, from, to } satisfies Wish);
      const { failed } = await answered;
      if (failed !== undefined) throw new TestbedError(`no bridge out of a network namespace: ${failed}`);
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

type Hear = <T>(wanted: (said: Said) => T | undefined) => Promise<T>;

/** Waits for the next thing it says that is wanted; fails with its last words when it ends, and when it takes too long. */
function listenTo(child: ChildProcess): Hear {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-2_000)));
  return async (wanted) => {
    const options = { signal: AbortSignal.timeout(ANSWER_MS), close: ['close'] };
    for await (const [said] of on(child, 'message', options) as AsyncIterable<[Said]>) {
      const found = wanted(said);
      if (found !== undefined) return found;
    }
    throw new TestbedError(`no network namespace can be had here: ${words.trim() || 'its process ended'}`);
  };
}
