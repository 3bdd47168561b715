import type { Cluster } from '../session/answers.js';
import type { Cell } from './print.js';

/** What people ask first about a cluster: can it be reached? */
export function statusCell(cluster: Cluster): Cell {
  const { state } = cluster.presence;
  if (state === 'online') return { text: 'online', colour: 'green' };
  if (state === 'offline') return { text: 'offline', colour: 'red' };
  return { text: cluster.enrolledAt === null ? 'not imported' : state, colour: 'yellow' };
}

export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** The time that passed, in the largest unit that says something: 5s, 3m, 2h, 9d. */
export function ageText(since: string, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(since)) / 1_000));
  if (Number.isNaN(seconds)) return '-';
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
