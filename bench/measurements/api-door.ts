import { systemClock } from '@fairlead/clock';
import { cpuSeconds } from '../process/cpu-time.js';
import { residentKb } from '../process/memory.js';
import type { RowName } from '../rows.js';
import { BIG_LIST, EXEC_PATH, IDLE_WATCH, SMALL_GET } from '../systems/api-objects.js';
import { PARTS, type System } from '../systems/system.js';
import { unlessFailed, type Measurement } from './measurement.js';

const CLIENTS = 16;
const FAIRLEAD = ['fairlead', 'fairlead-relayed'] as const;
const WATCH_TIMEOUT_MS = 60_000;
const WATCH_CLIENTS = 8;

/** The Kubernetes API door and its peers, asked as client-go asks. */
export const API_DOOR: readonly Measurement[] = [
  {
    rows: ['api_get_p50', 'api_get_p99'],
    async run({ scale, load }) {
      const { enoughMs, jobTimeoutMs: timeoutMs, api } = scale;
      const job = { kind: 'api-get', path: SMALL_GET, connections: 1, count: api.requests } as const;
      const result = await load({ ...job, enoughMs, timeoutMs });
      return unlessFailed(result, () => ({ api_get_p50: result.p50Us, api_get_p99: result.p99Us }), this.rows);
    },
  },
  {
    rows: ['api_rate_16', 'api_cpu_door', 'api_cpu_relay', 'api_cpu_agent'],
    async run({ system, scale, load }) {
      const { enoughMs, jobTimeoutMs: timeoutMs, api } = scale;
      const before = await cpuOfEach(system);
      const job = { kind: 'api-get', path: SMALL_GET, connections: CLIENTS, count: api.requests } as const;
      const result = await load({ ...job, enoughMs, timeoutMs });
      const after = await cpuOfEach(system);
      const each = (part: keyof CpuOfEach, row: RowName): Partial<Record<RowName, number>> => {
        const [one, other] = [before[part], after[part]];
        return one === undefined || other === undefined ? {} : { [row]: ((other - one) * 1_000) / result.count };
      };
      const figures = (): Partial<Record<RowName, number>> => ({
        api_rate_16: result.count / result.seconds,
        ...each('door', 'api_cpu_door'),
        ...each('relay', 'api_cpu_relay'),
        ...each('agent', 'api_cpu_agent'),
      });
      return unlessFailed(result, figures, ['api_rate_16']);
    },
  },
  {
    rows: ['api_connect_p50'],
    async run({ scale, load }) {
      const { enoughMs, jobTimeoutMs: timeoutMs, connections } = scale;
      const job = { kind: 'api-first', path: SMALL_GET, connections: 1, count: connections.one } as const;
      const result = await load({ ...job, enoughMs, timeoutMs });
      return unlessFailed(result, () => ({ api_connect_p50: result.p50Us }), this.rows);
    },
  },
  {
    rows: ['api_list_5mb'],
    async run({ scale, load }) {
      const { jobTimeoutMs: timeoutMs, api } = scale;
      const result = await load({ kind: 'api-get', path: BIG_LIST, connections: 1, count: api.lists, timeoutMs });
      return unlessFailed(result, () => ({ api_list_5mb: result.p50Us / 1_000 }), this.rows);
    },
  },
  {
    rows: ['api_exec_p50'],
    // kubectl proxy refuses exec unless told otherwise.
    systems: ['direct', 'reverse-proxy-go', ...FAIRLEAD],
    async run({ scale, load }) {
      const { pings: count, enoughMs, jobTimeoutMs: timeoutMs } = scale;
      const result = await load({ kind: 'api-exec', path: EXEC_PATH, connections: 1, count, enoughMs, timeoutMs });
      return unlessFailed(result, () => ({ api_exec_p50: result.p50Us }), this.rows);
    },
  },
  {
    rows: ['api_watch_gateway_kb', 'api_watch_agent_kb'],
    systems: ['reverse-proxy-go', ...FAIRLEAD],
    fresh: true,
    async run({ system, scale, load }) {
      const { watches: count } = scale.api;
      const memory = (): Promise<number[]> => Promise.all(PARTS.map((part) => residentKb(system.pids(part))));
      const before = await memory();
      let after = before;
      const atPhase = async (): Promise<void> => void (after = await memory());
      const job = { kind: 'api-watch', path: IDLE_WATCH, connections: WATCH_CLIENTS, count, settleMs: 2_000 } as const;
      const result = await load({ ...job, timeoutMs: WATCH_TIMEOUT_MS }, { atPhase });
      const grown = (at: number): number => ((after[at] ?? 0) - (before[at] ?? 0)) / count;
      const figures = (): Partial<Record<RowName, number>> => ({
        api_watch_gateway_kb: grown(0),
        api_watch_agent_kb: grown(1),
      });
      return unlessFailed(result, figures, this.rows);
    },
  },
  {
    rows: ['api_idle_agent_mb'],
    systems: ['reverse-proxy-go', 'fairlead'],
    // It has worked before: it is warmed up as for the other rows.
    fresh: true,
    async run({ system, scale, signal }) {
      await systemClock.sleep(scale.api.idleMs, signal);
      return { api_idle_agent_mb: { value: (await residentKb(system.pids('agent'))) / 1_024 } };
    },
  },
];

/** CPU seconds so far of each process on the way; undefined where there is no such process, or no /proc. */
interface CpuOfEach {
  readonly door: number | undefined;
  readonly relay: number | undefined;
  readonly agent: number | undefined;
}

async function cpuOfEach(system: System): Promise<CpuOfEach> {
  const of = async (pid: number | undefined): Promise<number | undefined> =>
    pid === undefined ? undefined : ((await cpuSeconds([pid])) ?? undefined);
  const [door, relay] = system.pids('gateway');
  const [agent] = system.pids('agent');
  return { door: await of(door), relay: await of(relay), agent: await of(agent) };
}
