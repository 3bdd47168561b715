import { systemClock } from '@fairlead/clock';
import type { LoadResult } from '../load/load-generator.js';
import { BenchError } from '../process/bench-error.js';
import { threadSeconds } from '../process/cpu-time.js';
import type { RowName } from '../rows.js';
import { SMALL_GET } from '../systems/api-objects.js';
import { AUDIT_OBJECT } from '../systems/audit.js';
import type { AuditProbe, DownstreamCpu, System } from '../systems/system.js';
import { unlessFailed, type Bench, type Measurement } from './measurement.js';

const CLIENTS = 16;
const READ = { kind: 'api-get', path: SMALL_GET } as const;
const WRITE = { kind: 'api-patch', path: AUDIT_OBJECT } as const;
const SYSTEMS = ['audit-off', 'audit-best-effort', 'audit-required'] as const;
const AUDITED = ['audit-best-effort', 'audit-required'] as const;
const MICROSECONDS = 1_000_000;
/** Without a load, to know what all that stands behind a gateway does anyway. */
const IDLE_MS = 3_000;
const HANDED_ON_MS = 2_000;
const POLL_MS = 200;
const DRAINED_WITHIN_MS = 120_000;

/** What an audit costs: gateways without one, and with one of each kind, asked by turns of a third of a second. */
export const AUDIT: readonly Measurement[] = [
  waiting(READ, 'audit_read_p50', 'audit_read_p99'),
  waiting(WRITE, 'audit_write_p50', 'audit_write_p99'),
  cpuOf(READ, 'audit_cpu_read'),
  cpuOf(WRITE, 'audit_cpu_write'),
  syncsOf(1, 'audit_syncs_1'),
  syncsOf(16, 'audit_syncs_16'),
  syncsOf(64, 'audit_syncs_64'),
  {
    rows: ['audit_service_cpu', 'audit_postgres_cpu', 'audit_nats_cpu'],
    systems: AUDITED,
    async run(bench) {
      const { result, records, cpu } = await downstreamDuring(bench, () => ask(bench, WRITE, CLIENTS));
      const each = (seconds: number): number => (seconds * MICROSECONDS) / records;
      const figures = () => ({
        audit_service_cpu: each(cpu.service),
        audit_postgres_cpu: each(cpu.postgres),
        audit_nats_cpu: each(cpu.nats),
      });
      return unlessFailed(result, figures, this.rows);
    },
  },
];

type Asked = typeof READ | typeof WRITE;

function ask({ scale, load }: Bench, what: Asked, connections: number): Promise<LoadResult> {
  const { audit, enoughMs, jobTimeoutMs: timeoutMs } = scale;
  return load({ ...what, connections, count: audit.requests, enoughMs, timeoutMs });
}

/** In slices, by turns with the other systems. */
function askInTurns({ scale, load, turn }: Bench, what: Asked, connections: number): Promise<LoadResult> {
  const { requests: count, ...slices } = scale.audit;
  return load(
    { ...what, connections, count, ...slices, timeoutMs: scale.jobTimeoutMs * SYSTEMS.length },
    { atPhase: turn },
  );
}

/** One client that asks one thing after the other. */
function waiting(what: Asked, p50: RowName, p99: RowName): Measurement {
  return {
    rows: [p50, p99],
    systems: SYSTEMS,
    abreast: true,
    async run(bench) {
      const result = await askInTurns(bench, what, 1);
      return unlessFailed(result, () => ({ [p50]: result.p50Us, [p99]: result.p99Us }), this.rows);
    },
  };
}

/** Of the gateway alone, for each request of sixteen clients, until what it put on record is handed on, and without what it does anyway. */
function cpuOf(what: Asked, row: RowName): Measurement {
  return {
    rows: [row],
    systems: SYSTEMS,
    abreast: true,
    async run(bench) {
      const { system, signal } = bench;
      const [pid = Number.NaN] = system.pids('gateway');
      const cpu = async (): Promise<number> => (await threadSeconds(pid)) ?? Number.NaN;
      const probe = probeOf(system);
      const idle = await grownMeanwhile(cpu, () => systemClock.sleep(IDLE_MS, signal));
      const answeredBefore = await probe.requests();
      const busy = await grownMeanwhile(cpu, async () => {
        const asked = await askInTurns(bench, what, CLIENTS);
        // All as long, whether or not there is something to hand on.
        await systemClock.sleep(HANDED_ON_MS, signal);
        return asked;
      });
      const own = busy.grown - (idle.grown * busy.seconds) / idle.seconds;
      const each = own / ((await probe.requests()) - answeredBefore);
      return unlessFailed(busy.result, () => ({ [row]: each * MICROSECONDS }), this.rows);
    },
  };
}

interface Grown<T> {
  readonly result: T;
  readonly grown: number;
  readonly seconds: number;
}

async function grownMeanwhile<T>(read: () => Promise<number>, run: () => Promise<T>): Promise<Grown<T>> {
  const [before, beganMs] = [await read(), systemClock.monotonicMs()];
  const result = await run();
  const seconds = (systemClock.monotonicMs() - beganMs) / 1_000;
  return { result, grown: (await read()) - before, seconds };
}

/** Group syncs for each write. */
function syncsOf(writers: number, row: RowName): Measurement {
  return {
    rows: [row],
    systems: AUDITED,
    async run(bench) {
      const { result, each } = await perRequest(
        bench,
        () => probeOf(bench.system).syncs(),
        () => ask(bench, WRITE, writers),
      );
      return unlessFailed(result, () => ({ [row]: each }), this.rows);
    },
  };
}

/** What something grew by meanwhile, for each request that the gateway answered. */
async function perRequest(
  { system }: Bench,
  count: () => Promise<number>,
  load: () => Promise<LoadResult>,
): Promise<{ readonly result: LoadResult; readonly each: number }> {
  const probe = probeOf(system);
  const [before, answeredBefore] = [await count(), await probe.requests()];
  const result = await load();
  const [after, answered] = [await count(), await probe.requests()];
  return { result, each: (after - before) / (answered - answeredBefore) };
}

interface Downstream {
  readonly result: LoadResult;
  readonly records: number;
  readonly cpu: DownstreamCpu;
}

/** What it takes until everything that a load left in spools is in the log, without what goes on anyway. */
async function downstreamDuring({ system, signal }: Bench, load: () => Promise<LoadResult>): Promise<Downstream> {
  const probe = probeOf(system);
  await drained(probe, 0, signal);
  const idle = await cpuMeanwhile(probe, () => systemClock.sleep(IDLE_MS, signal));
  const before = await probe.records();
  const entriesBefore = await probe.entries();
  const busy = await cpuMeanwhile(probe, async () => {
    const result = await load();
    const { forwarded, waiting: left } = await probe.records();
    await drained(probe, entriesBefore + forwarded + left - before.forwarded - before.waiting, signal);
    return result;
  });
  const records = (await probe.records()).forwarded - before.forwarded;
  const own = (part: keyof DownstreamCpu): number =>
    Math.max(0, busy.cpu[part] - (idle.cpu[part] * busy.seconds) / idle.seconds);
  return {
    result: busy.result,
    records,
    cpu: { service: own('service'), postgres: own('postgres'), nats: own('nats') },
  };
}

async function cpuMeanwhile<T>(
  probe: AuditProbe,
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number; readonly cpu: DownstreamCpu }> {
  const [before, beganMs] = [await probe.cpu(), systemClock.monotonicMs()];
  const result = await run();
  const [after, seconds] = [await probe.cpu(), (systemClock.monotonicMs() - beganMs) / 1_000];
  const grown = (part: keyof DownstreamCpu): number => after[part] - before[part];
  return { result, seconds, cpu: { service: grown('service'), postgres: grown('postgres'), nats: grown('nats') } };
}

/** Until spools are empty and the log has so many entries. */
async function drained(probe: AuditProbe, entries: number, signal: AbortSignal): Promise<void> {
  const until = systemClock.monotonicMs() + DRAINED_WITHIN_MS;
  while ((await probe.records()).waiting > 0 || (await probe.entries()) < entries) {
    if (systemClock.monotonicMs() > until)
      throw new BenchError('what gateways handed on did not come to be in the log');
    await systemClock.sleep(POLL_MS, signal);
  }
}

function probeOf({ name, audit }: System): AuditProbe {
  if (audit) return audit;
  throw new BenchError(`${name} tells nothing of its audit`);
}
