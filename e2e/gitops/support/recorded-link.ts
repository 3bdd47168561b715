import { readFile } from 'node:fs/promises';
import type { Stack } from '@fairlead/stack';
import {
  decryptConnection,
  eventually,
  readKeyLog,
  scratchDir,
  startRecordingRelay,
  type RecordedConnection,
} from '@fairlead/testing';
import { readSaid, type SaidOnLink } from './said-on-link.js';
import type { WorldOptions } from './world.js';

/** Everything that went between an agent and its gateway. */
export interface LinkRecord extends SaidOnLink {
  /** What is not HTTP/2: handshakes of TLS, and the bytes as they went over the wire. */
  readonly beside: readonly Buffer[];
  /** Those on which something was said. */
  readonly connections: number;
  /** Of TCP, both ways. */
  readonly wireBytes: number;
}

/** A relay in the place of the gateway, and the agent's own log of what its TLS connections encrypt with. */
export interface RecordedLink extends AsyncDisposable {
  /** Options for the world whose link it is. There is one gateway, and no other way to it: import manifests name the relay. */
  readonly options: Pick<WorldOptions, 'agentEnv' | 'stack'>;
  /** To be called before the agent is there. */
  leadTo(stack: Stack): void;
  /** All of it up to now, decrypted. Rejects if a byte cannot be. */
  read(): Promise<LinkRecord>;
}

export async function startRecordedLink(): Promise<RecordedLink> {
  await using parts = new AsyncDisposableStack();
  const scratch = parts.use(await scratchDir());
  const relay = parts.use(await startRecordingRelay());
  const keyLogFile = scratch.file('tls-keys.log');
  const endpoints = { FAIRLEAD_LINK_ENDPOINTS: relay.address };
  const all = parts.move();
  return {
    options: {
      agentEnv: { NODE_OPTIONS: `--tls-keylog=${keyLogFile}` },
      stack: { gateways: ['gateway-a'], env: { registration: endpoints, gateway: endpoints } },
    },
    leadTo({ gateways }) {
      relay.leadTo(gateways[0]?.linkAddress ?? '');
    },
    // Just now a record may be on its way, and the log of a connection's keys: then the next look sees them.
    read: () =>
      eventually(async () => recordOf(relay.recorded(), await readFile(keyLogFile, 'utf8')), { intervalMs: 500 }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function recordOf(recorded: readonly RecordedConnection[], keyLogText: string): LinkRecord {
  const keyLog = readKeyLog(keyLogText);
  const decrypted = recorded.map((connection) => decryptConnection(connection, keyLog));
  const restBytes = sum(decrypted.map((each) => each.restBytes));
  if (restBytes > 0) throw new Error(`${restBytes} bytes are of records that have not come to their end`);
  // One that ended before anything was said has no HTTP/2 in it.
  const spoken = decrypted.filter(({ up }) => up.length > 0);
  const wire = recorded.flatMap(({ up, down }) => [up, down]);
  return {
    ...readSaid(spoken),
    beside: [...wire, ...decrypted.map(({ handshake }) => handshake)],
    connections: spoken.length,
    wireBytes: sum(wire.map(({ length }) => length)),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
