import type { SystemName } from '../rows.js';
import { failedIn, unlessFailed, type Measurement } from './measurement.js';

const SYSTEMS: readonly SystemName[] = ['direct', 'relay-go-tls', 'konnectivity', 'fairlead'];
const MB = 1_000_000;
/** Until windows have grown to the path. */
const SETTLE_MS = 2_000;

/** 50 ms between gateway and agent; the direct way crosses them between client and target. */
export const DISTANCE: readonly Measurement[] = [
  {
    rows: ['ping_p99_bulk4_wan', 'bulk4_wan'],
    systems: SYSTEMS,
    far: true,
    async run({ scale, load }) {
      const job = { kind: 'ping', connections: 1, count: scale.farPings, settleMs: SETTLE_MS } as const;
      const result = await load({ ...job, beside: { downloads: 4 }, timeoutMs: scale.jobTimeoutMs });
      const figures = () => ({ ping_p99_bulk4_wan: result.p99Us / 1_000, bulk4_wan: result.besideMBs });
      return unlessFailed(result, figures, this.rows);
    },
  },
  {
    rows: ['wan_50ms_first', 'wan_50ms_again'],
    systems: SYSTEMS,
    far: true,
    async run({ system, scale, load, answers }) {
      await system.kill('agent');
      await system.start('agent');
      await answers();
      const { farBytes: bytes, jobTimeoutMs: timeoutMs } = scale;
      const download = () => load({ kind: 'download', connections: 1, bytes, timeoutMs });
      const first = await download();
      if (first.failed > 0) return failedIn(this.rows, { count: first.failed, of: first.of, reason: first.reason });
      const again = await download();
      const speed = ({ seconds }: typeof first): number => bytes / MB / seconds;
      return unlessFailed(again, () => ({ wan_50ms_first: speed(first), wan_50ms_again: speed(again) }), this.rows);
    },
  },
];
