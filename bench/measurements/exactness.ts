import type { Job } from '../load/load-generator.js';
import type { RowName } from '../rows.js';
import type { Scale } from '../scale.js';
import { TUNNELS, type Measurement } from './measurement.js';

/** What must never go wrong: how often it did not. */
export const EXACTNESS: readonly Measurement[] = [
  exact('write_then_close', ({ tries }) => ({
    kind: 'write-then-close',
    connections: 16,
    bytes: 5_000_000,
    count: tries,
    tryMs: 10_000,
  })),
  exact('half_close', ({ tries }) => ({
    kind: 'half-close',
    connections: 8,
    bytes: 1_000_000,
    count: tries,
    tryMs: 3_000,
  })),
  // A banner that is lost is found out only by waiting for it.
  exact('server_first_banner', ({ tries }) => ({ kind: 'banner', connections: 16, count: tries, tryMs: 5_000 })),
  exact('abort_16', ({ aborts }) => ({ kind: 'abort-while-busy', connections: 1, count: aborts, tryMs: 4_000 })),
];

const TIMEOUT_MS = 150_000;

function exact(row: RowName, job: (scale: Scale) => Omit<Job, 'timeoutMs'>): Measurement {
  return {
    rows: [row],
    systems: TUNNELS,
    async run({ scale, load }) {
      const { count, failed, of, reason } = await load({ ...job(scale), timeoutMs: TIMEOUT_MS });
      return { [row]: { value: count, ...(failed > 0 ? { failed: { count: failed, of, reason } } : {}) } };
    },
  };
}
