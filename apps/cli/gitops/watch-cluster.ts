import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine, type FairleadError } from '@fairlead/errors';
import { failure, isPassing } from '../failure.js';
import type { Io } from '../io.js';
import { clusterProblemText } from '../output/gitops-view.js';
import { printJson, printLines } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import { ClusterGitOps } from '../session/gitops-answers.js';
import { clusterPath } from '../session/paths.js';
import { clusterAdvice } from './advice.js';

const PAUSE_MS = 2_000;
/** For one answer: what is left, but no less than it takes. */
const [MIN_ASK_MS, MAX_ASK_MS] = [2_000, 20_000];

export interface Watching {
  readonly until: 'healthy' | 'deadline';
  readonly timeoutMs: number;
  readonly json: boolean;
}

/**
 * Prints each change of a cluster, one a line. Until it is healthy: then DEADLINE_EXCEEDED if it is not in time, and CONFLICT as soon as
 * its installer gave up, both with what to do. While the server is away it goes on, and says so once; whatever else fails ends it.
 */
export async function watchCluster(io: Io, api: ApiClient, name: string, watching: Watching): Promise<void> {
  const deadline = Date.now() + watching.timeoutMs;
  const leftMs = (): number => deadline - Date.now();
  let shown = '';
  let away: FairleadError | undefined;
  for (;;) {
    try {
      const seen = await look(api, name, leftMs(), shown);
      away = undefined;
      if (seen.line !== shown) print(io, seen, watching.json);
      shown = seen.line;
      if (watching.until === 'healthy' && isSettled(name, seen)) return;
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (!away) io.stderr.write(`${oneLine(error.message)}; waiting for it to come back\n`);
      away = error;
    }
    if (leftMs() <= 0) break;
    await sleep(Math.min(PAUSE_MS * (0.75 + Math.random() / 2), leftMs()));
  }
  if (watching.until === 'deadline') return;
  const last = [shown, away?.message].filter(Boolean).join('; ');
  throw failure(
    'DEADLINE_EXCEEDED',
    `${name} is not healthy: ${last}`,
    `fairlead gitops events ${name}, or wait longer`,
  );
}

interface Seen {
  readonly status: ClusterGitOps;
  readonly line: string;
  /** Of a line that was not shown yet. */
  readonly advice: readonly string[];
}

async function look(api: ApiClient, name: string, leftMs: number, shown: string): Promise<Seen> {
  const deadlineMs = Math.max(MIN_ASK_MS, Math.min(MAX_ASK_MS, leftMs));
  const status = await api.ask(ClusterGitOps, `${clusterPath(name)}/gitops`, { deadlineMs });
  const line = lineOf(status);
  return { status, line, advice: line === shown ? [] : await clusterAdvice(api, status) };
}

function print(io: Io, { status, line, advice }: Seen, json: boolean): void {
  if (json) printJson(io, status);
  else printLines(io, `${io.now().toISOString()} ${line}`, ...advice);
}

/** CONFLICT if nobody will make it healthy. */
function isSettled(name: string, { status, line }: Seen): boolean {
  if (gaveUp(status)) throw failure('CONFLICT', `${name}: ${line}`, `fairlead gitops events ${name}`);
  return status.health === 'healthy';
}

function lineOf(status: ClusterGitOps): string {
  const { health, report, revision } = status;
  const phase = report === null ? 'no report yet' : report.phase;
  const applied = `revision ${report?.appliedRevision ?? 0} of ${revision}`;
  const follows = report?.sync?.revision ?? report?.source?.revision ?? '';
  return [health, phase, applied, follows, clusterProblemText(status)].filter(Boolean).join(', ');
}

/** Of this very revision: what it said of an older one may be over. */
function gaveUp({ health, report, revision }: ClusterGitOps): boolean {
  return health === 'failed' && report !== null && report.observedRevision >= revision;
}
