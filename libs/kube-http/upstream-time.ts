import { headerValues, type RawHeaders } from './request-headers.js';

/** In an answer out of a tunnel: how long the agent waited for the kube-apiserver, in milliseconds. Of one hop: `fromServer` drops it. */
const UPSTREAM_MS = 'Fairlead-Upstream-Ms';

/** A day: nothing that has an answer takes so long. */
const MAX_MS = 86_400_000;

/** The header by which an agent tells it. */
export function tellUpstreamMs(ms: number): string[] {
  return [UPSTREAM_MS, ms.toFixed(3)];
}

/** What the agent told; undefined for one that does not, or for anything but one sensible number. */
export function upstreamMs(raw: RawHeaders): number | undefined {
  const [value, another] = headerValues(raw, UPSTREAM_MS.toLowerCase());
  if (value === undefined || another !== undefined || !/^\d{1,9}(\.\d{1,3})?$/.test(value)) return undefined;
  const ms = Number(value);
  return ms <= MAX_MS ? ms : undefined;
}
