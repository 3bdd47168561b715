import type { Stack } from '@fairlead/stack';
import { fairlead } from '../support/fairlead.js';

/** As `fairlead audit search -o json` prints it. */
export interface Entry {
  readonly number: number;
  readonly user: string;
  readonly action: string;
  readonly decision: string;
  readonly source: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function entriesFound(stack: Stack, ...filter: string[]): Promise<Entry[]> {
  const answer = await fairlead(stack, 'audit', 'search', ...filter, '-o', 'json');
  return (JSON.parse(answer) as { entries: Entry[] }).entries;
}

/** As `fairlead audit verify -o json` prints it. */
export interface Verified {
  readonly origin: string;
  readonly size: number;
  readonly verified: number;
}

/** With `--export`. */
export interface Exported {
  readonly key: string;
  readonly keyFrom: string;
  readonly exported: Readonly<Record<string, unknown>>;
}

export async function verifiedLog(stack: Stack): Promise<Verified> {
  return JSON.parse(await fairlead(stack, 'audit', 'verify', '-o', 'json')) as Verified;
}
