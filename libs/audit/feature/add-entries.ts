import type { EntityManager } from 'typeorm';
import type { NewEntry } from '../domain/entry.js';
import { appendEntries, type Numbered } from '../store/entries.js';
import type { Runtime } from './runtime.js';

/** In the caller's transaction; see `appendEntries`. */
export async function addEntries(
  runtime: Runtime,
  manager: EntityManager,
  entries: readonly NewEntry[],
): Promise<Numbered[]> {
  const numbered = await appendEntries(manager, entries, runtime.now(), runtime.appendToLog);
  for (const { kind } of entries) runtime.counts.entries(kind, 1);
  return numbered;
}
