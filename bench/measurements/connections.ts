import { cpuSecondsDuring } from '../process/cpu-time.js';
import { residentKb } from '../process/memory.js';
import { SYSTEMS, type RowName, type SystemName } from '../rows.js';
import { TUNNELS, unlessFailed, type Measurement } from './measurement.js';

/** For opening them all, on a busy machine too. */
const HOLD_TIMEOUT_MS = 60_000;

export const CONNECTIONS: readonly Measurement[] = [
  connect('conn_rate_1', 1),
  connect('conn_rate_32', 32, 'cpu_s_per_1000_conns'),
  firstByte(
    'ttfb_own',
    SYSTEMS.filter((name) => name !== 'fairlead-relayed'),
  ),
  firstByte('ttfb_relayed', ['fairlead-relayed']),
  {
    rows: ['mem_idle_tunnel_kb'],
    systems: ['relay-go-tls', ...TUNNELS],
    fresh: true,
    async run({ system, scale, load }) {
      const { idleTunnels: count } = scale;
      const beforeKb = await residentKb(system.pids('gateway'));
      let afterKb = beforeKb;
      const atPhase = async (): Promise<void> => void (afterKb = await residentKb(system.pids('gateway')));
      const result = await load(
        { kind: 'hold', connections: 8, count, settleMs: 2_000, timeoutMs: HOLD_TIMEOUT_MS },
        { atPhase },
      );
      return unlessFailed(result, () => ({ mem_idle_tunnel_kb: (afterKb - beforeKb) / count }), this.rows);
    },
  },
];

/** New connections, so many at the same time. */
function connect(row: RowName, connections: number, cpuRow?: RowName): Measurement {
  const rows = cpuRow === undefined ? [row] : [row, cpuRow];
  return {
    rows,
    async run({ system, scale, load }) {
      const count = connections === 1 ? scale.connections.one : scale.connections.many;
      const { enoughMs, jobTimeoutMs: timeoutMs } = scale;
      const { result, cpuSeconds } = await cpuSecondsDuring(system, () =>
        load({ kind: 'connect', connections, count, enoughMs, timeoutMs }),
      );
      const figures = () => ({
        [row]: result.count / result.seconds,
        ...(cpuRow === undefined || cpuSeconds === null ? {} : { [cpuRow]: cpuSeconds / (result.count / 1_000) }),
      });
      return unlessFailed(result, figures, rows);
    },
  };
}

/** From the first packet of a new connection to the first byte of the target's answer; the median. */
function firstByte(row: RowName, systems: readonly SystemName[]): Measurement {
  return {
    rows: [row],
    systems,
    async run({ scale, load }) {
      const { enoughMs, jobTimeoutMs: timeoutMs } = scale;
      const count = scale.connections.one;
      const result = await load({ kind: 'first-byte', connections: 1, count, enoughMs, timeoutMs });
      return unlessFailed(result, () => ({ [row]: result.p50Us / 1_000 }), [row]);
    },
  };
}
