import { CLUSTERS, USERS, clusterAt, userAt } from './records.js';

const DAY_MS = 86_400_000;

/** What docs/audit.md asks, as the API is asked it. */
export interface Question {
  readonly what: string;
  /** Path and query; another one each time. */
  readonly path: (size: number) => string;
}

const any = (count: number): number => Math.floor(Math.random() * count);
const ago = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();
const entries = (filter: Readonly<Record<string, string>>): string =>
  `/v1/audit/entries?${new URLSearchParams({ ...filter, limit: '50' }).toString()}`;

export const QUESTIONS: readonly Question[] = [
  { what: 'what did this person do, in 7 days', path: () => entries({ user: userAt(any(USERS)), from: ago(7) }) },
  {
    what: 'who exec’ed into a cluster, in 7 days',
    path: () => entries({ kind: 'exec', cluster: clusterAt(any(CLUSTERS)), from: ago(7) }),
  },
  { what: 'who was turned away, in 24 hours', path: () => entries({ decision: 'refused', from: ago(1) }) },
  { what: 'who let whom in, in 30 days', path: () => entries({ type: 'grant.created', from: ago(30) }) },
  {
    what: 'what did this person delete in a namespace',
    path: () => entries({ user: userAt(any(USERS)), verb: 'delete', namespace: `team-${any(40)}` }),
  },
  { what: 'what is missing', path: () => entries({ entry: 'gap' }) },
  { what: 'where do these words stand', path: () => entries({ text: `object-${any(1_000)} secrets` }) },
  { what: 'one entry', path: (size) => `/v1/audit/entries/${1 + any(size)}` },
  { what: 'a page of an export', path: (size) => `/v1/audit/feed?after=${any(size)}&limit=200` },
];
