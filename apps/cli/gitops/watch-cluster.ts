import { setTimeout as sleep } from 'node:timers/promises';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { troubleText } from '../output/gitops-view.js';
import { printJson, printLines } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import { ClusterGitOps } from '../session/gitops-answers.js';
import { clusterPath } from '../session/paths.js';
import { clusterAdvice } from './advice.js';

const PAUSE_MS = 2_000;

export interface Watching {
  readonly until: 'healthy' | 'deadline';
  readonly timeoutMs: number;
  readonly json: boolean;
}

/**
 * Prints each change of a cluster, one a line. Until it is healthy: then DEADLINE_EXCEEDED if it is not in time, and CONFLICT as soon as
 * its installer gave up, both with what to do.
 */
export async function watchCluster(io: Io, api: ApiClient, name: string, watching: Watching): Promise<void> {
  const deadline = Date.now() + watching.timeoutMs;
  let before = '';
  for (;;) {
    const status = await api.ask(ClusterGitOps, `${clusterPath(name)}/gitops`);
    const line = lineOf(status);
    if (line !== before) {
      before = line;
      if (watching.json) printJson(io, status);
      else printLines(io, `${io.now().toISOString()} ${line}`, ...(await clusterAdvice(api, status)));
    }
    if (watching.until === 'healthy') {
      if (status.health === 'healthy') return;
      if (gaveUp(status)) throw failure('CONFLICT', `${name}: ${line}`, `fairlead gitops events ${name}`);
    }
    const leftMs = deadline - Date.now();
    if (leftMs <= 0) {
      if (watching.until === 'deadline') return;
      throw failure(
        'DEADLINE_EXCEEDED',
        `${name} is not healthy: ${line}`,
        `fairlead gitops events ${name}, or wait longer`,
      );
    }
    await sleep(Math.min(PAUSE_MS, leftMs));
  }
}

function lineOf(status: ClusterGitOps): string {
  const { health, report, revision } = status;
  const phase = report === null ? 'no report yet' : report.phase;
  const applied = `revision ${report?.appliedRevision ?? 0} of ${revision}`;
  const follows = report?.sync?.revision ?? report?.source?.revision ?? '';
  return [health, phase, applied, follows, troubleText(status)].filter(Boolean).join(', ');
}

/** Of this very revision: what it said of an older one may be over. */
function gaveUp({ health, report, revision }: ClusterGitOps): boolean {
  return health === 'failed' && report !== null && report.observedRevision >= revision;
}
