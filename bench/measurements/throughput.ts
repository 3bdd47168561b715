import { cpuSecondsDuring } from '../process/cpu-time.js';
import type { RowName } from '../rows.js';
import { unlessFailed, type Measurement } from './measurement.js';

const MB = 1_000_000;
const GB = 1_000_000_000;

export const THROUGHPUT: readonly Measurement[] = [
  {
    rows: ['download_1', 'cpu_s_per_gb'],
    async run({ system, scale, load }) {
      const job = {
        kind: 'download',
        connections: 1,
        bytes: scale.downloadBytes,
        timeoutMs: scale.jobTimeoutMs,
      } as const;
      const { result, cpuSeconds } = await cpuSecondsDuring(system, () => load(job));
      const { bytes, seconds } = result;
      const figures = () => ({
        download_1: bytes / MB / seconds,
        ...(cpuSeconds === null ? {} : { cpu_s_per_gb: cpuSeconds / (bytes / GB) }),
      });
      return unlessFailed(result, figures, this.rows);
    },
  },
  transfer('download_16', 'download', 16),
  transfer('upload_1', 'upload', 1),
];

function transfer(row: RowName, kind: 'download' | 'upload', connections: number): Measurement {
  return {
    rows: [row],
    async run({ scale, load }) {
      const bytes = kind === 'download' ? scale.downloadBytes : scale.uploadBytes;
      const result = await load({ kind, connections, bytes, timeoutMs: scale.jobTimeoutMs });
      return unlessFailed(result, () => ({ [row]: result.bytes / MB / result.seconds }), [row]);
    },
  };
}
