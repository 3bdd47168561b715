import type { Beside } from '../load/load-generator.js';
import { residentKb } from '../process/memory.js';
import type { RowName } from '../rows.js';
import { PARTS, type System } from '../systems/system.js';
import { TUNNELS, unlessFailed, type Bench, type Findings, type Measurement } from './measurement.js';

const MANY = 20;
const NEW_CONNECTIONS = 20;

export const LATENCY: readonly Measurement[] = [
  {
    rows: ['ping_p50', 'ping_p99'],
    async run({ scale, load }) {
      const { pings: count, enoughMs, jobTimeoutMs: timeoutMs } = scale;
      const result = await load({ kind: 'ping', connections: 1, count, enoughMs, timeoutMs });
      return unlessFailed(result, () => ({ ping_p50: result.p50Us, ping_p99: result.p99Us }), this.rows);
    },
  },
  {
    rows: ['ping_p99_bulk4'],
    systems: ['direct', 'relay-go', 'relay-go-tls', 'konnectivity', 'fairlead', 'fairlead-relayed'],
    async run({ scale, load }) {
      const { pings: count, enoughMs, jobTimeoutMs: timeoutMs } = scale;
      const beside = { downloads: 4 };
      const result = await load({ kind: 'ping', connections: 1, count, enoughMs, timeoutMs, beside });
      return unlessFailed(result, () => ({ ping_p99_bulk4: result.p99Us }), this.rows);
    },
  },
  stall(['ping_p99_before_stall1', 'ping_p99_stall1', 'new_beside_stall1'], { stalledReaders: 1 }),
  {
    rows: ['ping_p99_before_stall20', 'ping_p99_stall20', 'new_beside_stall20', 'mem_stall20_mb'],
    systems: TUNNELS,
    fresh: true,
    async run(bench) {
      const idle = await idlePings(bench, 'ping_p99_before_stall20');
      const beforeKb = await memoryOf(bench.system);
      let afterKb = beforeKb;
      const measured = async (): Promise<void> => void (afterKb = await memoryOf(bench.system));
      const names = ['ping_p99_stall20', 'new_beside_stall20'] as const;
      const found = await besideStall(bench, names, { stalledReaders: MANY }, bench.scale.stallMs, measured);
      return { ...idle, ...found, mem_stall20_mb: { value: (afterKb - beforeKb) / 1_024 } };
    },
  },
  stall(['ping_p99_before_stall_up1', 'ping_p99_stall_up1', 'new_beside_stall_up1'], { stalledUploads: 1 }),
];

function stall([idleRow, pingRow, newRow]: readonly [RowName, RowName, RowName], beside: Beside): Measurement {
  return {
    rows: [idleRow, pingRow, newRow],
    systems: TUNNELS,
    run: async (bench) => ({
      ...(await idlePings(bench, idleRow)),
      ...(await besideStall(bench, [pingRow, newRow], beside, 0)),
    }),
  };
}

/**
 * What the pings beside a stall are compared with: of the same processes, just before. The first pings of a process have
 * twice the p99 of later ones, and some rows begin with processes that are new.
 */
async function idlePings({ scale, load }: Bench, row: RowName): Promise<Findings> {
  const { pings: count, enoughMs, jobTimeoutMs: timeoutMs } = scale;
  const result = await load({ kind: 'ping', connections: 1, count, enoughMs, timeoutMs });
  return unlessFailed(result, () => ({ [row]: result.p99Us }), [row]);
}

/** Pings on a connection that was there before, then new connections. A system that freezes answers none of them in time. */
async function besideStall(
  { scale, load }: Bench,
  [pingRow, newRow]: readonly [RowName, RowName],
  beside: Beside,
  holdMs: number,
  atPhase: () => Promise<void> = () => Promise.resolve(),
): Promise<Findings> {
  const { pings: count, enoughMs, jobTimeoutMs } = scale;
  const job = { kind: 'ping', connections: 1, count, enoughMs, timeoutMs: jobTimeoutMs + holdMs, holdMs } as const;
  const result = await load({ ...job, beside: { ...beside, newConnections: NEW_CONNECTIONS } }, { atPhase });
  if (result.failed === 0) return { [pingRow]: { value: result.p99Us }, [newRow]: { value: result.newOk } };
  const failed = { count: count - result.count, of: count, reason: result.reason };
  return { [pingRow]: { failed }, [newRow]: { value: result.newOk } };
}

function memoryOf(system: System): Promise<number> {
  return residentKb(PARTS.flatMap((part) => system.pids(part)));
}
