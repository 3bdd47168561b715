import type { RowName } from '../rows.js';
import { API_DOOR } from './api-door.js';
import { AUDIT } from './audit.js';
import { CONNECTIONS } from './connections.js';
import { DISTANCE } from './distance.js';
import { EXACTNESS } from './exactness.js';
import { IDLE_AGENTS } from './idle-agents.js';
import { LATENCY } from './latency.js';
import type { Measurement } from './measurement.js';
import { RECOVERY } from './recovery.js';
import { THROUGHPUT } from './throughput.js';

/** Everything that can be measured, in the order in which it is. */
export const MEASUREMENTS: readonly Measurement[] = [
  ...THROUGHPUT,
  ...LATENCY,
  ...CONNECTIONS,
  ...EXACTNESS,
  ...DISTANCE,
  ...RECOVERY,
  IDLE_AGENTS,
  ...API_DOOR,
  ...AUDIT,
];

/** What has to be run for these rows. */
export function measurementsFor(wanted: readonly RowName[]): Measurement[] {
  return MEASUREMENTS.filter(({ rows }) => rows.some((row) => wanted.includes(row)));
}
