import { cpuSecondsDuring } from '../process/cpu-time.js';
import type { RowName } from '../rows.js';
import { unlessFailed, type Measurement } from './measurement.js';

export const CONNECTIONS: readonly Measurement[] = [
  connect('conn_rate_1', 1),
  connect('conn_rate_32', 32, 'cpu_s_per_1000_conns'),
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
