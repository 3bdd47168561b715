import { unlessFailed, type Measurement } from './measurement.js';

export const LATENCY: readonly Measurement[] = [
  {
    rows: ['ping_p50', 'ping_p99'],
    async run({ scale, load }) {
      const { pings: count, enoughMs, jobTimeoutMs: timeoutMs } = scale;
      const result = await load({ kind: 'ping', connections: 1, count, enoughMs, timeoutMs });
      return unlessFailed(result, () => ({ ping_p50: result.p50Us, ping_p99: result.p99Us }), this.rows);
    },
  },
];
