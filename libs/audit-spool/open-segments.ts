import { truncate } from 'node:fs/promises';
import type { Logger } from '@fairlead/observability';
import { endOf, listSegments, removeSegment, setAside, type Segment } from './segments.js';
import { readState } from './spool-state.js';

/** A segment whose end is known. */
export interface OpenedSegments {
  readonly epoch: string;
  /** From the oldest; none: the epoch begins. */
  readonly segments: Segment[];
  readonly lastSeq: number;
  readonly acknowledged: number;
}

/**
 * What a directory holds. A torn end, of what was being written when the process died, is cut. A new epoch begins where there is none, and where more was
 * acknowledged than there is: numbers would be given to two records.
 */
export async function openSegments(dir: string, makeEpoch: () => string, logger: Logger): Promise<OpenedSegments> {
  const [found, state] = [await listSegments(dir), await readState(dir)];
  const fresh = (): OpenedSegments => ({ epoch: makeEpoch(), segments: [], lastSeq: 0, acknowledged: 0 });
  const epoch = found.find((each) => each.epoch === state?.epoch)?.epoch ?? found.at(-1)?.epoch;
  if (epoch === undefined) return fresh();
  const segments = found.filter((each) => each.epoch === epoch);
  for (const stray of found.filter((each) => each.epoch !== epoch)) {
    logger.error('audit.spool.stray_segment', { segment: stray.path, epoch });
    await setAside(stray);
  }
  const lastSeq = await cutTornEnd(segments.at(-1)!, logger);
  // What stood before the first segment was acknowledged, whether or not the mark could be written.
  const givenUp = (segments[0]?.firstSeq ?? 1) - 1;
  const acknowledged = state?.epoch === epoch ? Math.max(state.acknowledged, givenUp) : givenUp;
  if (acknowledged <= lastSeq) return { epoch, segments, lastSeq, acknowledged };
  logger.error('audit.spool.behind', { dir, lastSeq, acknowledged });
  // All of them were acknowledged.
  for (const segment of segments) await removeSegment(segment);
  return fresh();
}

async function cutTornEnd(segment: Segment, logger: Logger): Promise<number> {
  const end = await endOf(segment);
  if (end.bytes < segment.bytes) {
    logger.warn('audit.spool.torn_end', { segment: segment.path, bytes: segment.bytes - end.bytes });
    await truncate(segment.path, end.bytes);
    segment.bytes = end.bytes;
  }
  return end.seq;
}
