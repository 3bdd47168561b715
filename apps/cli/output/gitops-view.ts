import type { Io } from '../io.js';
import type { Assignment, ClusterGitOps, Rollout } from '../session/gitops-answers.js';
import { labelsText } from './cluster-view.js';
import { printTable, type Cell, type Colour } from './print.js';

const COLOURS: Readonly<Record<string, Colour>> = {
  healthy: 'green',
  progressing: 'yellow',
  unknown: 'yellow',
  drifted: 'yellow',
  failed: 'red',
};

export function healthCell({ health }: ClusterGitOps): Cell {
  const colour = COLOURS[health];
  return colour === undefined ? health : { text: health, colour };
}

/** The problem that its installer tells, or what its tool says of its repository, or what it waits for. */
export function clusterProblemText({ report, waitsFor }: ClusterGitOps): string {
  if (waitsFor !== null) return `waits for: ${waitsFor}`;
  if (report?.problem) return `${report.problem.code}: ${report.problem.message}`;
  return [report?.source, report?.sync].find((each) => each?.ready === false)?.message ?? '';
}

export function selectorText({ selector }: Assignment): string {
  return selector.cluster ?? labelsText(selector.labels ?? {});
}

export function printStatus(io: Io, status: ClusterGitOps): void {
  const { wish, report } = status;
  printTable(
    io,
    ['NAME', status.name],
    [
      ['health', healthCell(status)],
      ['assignment', status.assignment ?? ''],
      ['wanted', wish === null ? '' : `${wish.tool} ${wish.bundle.version}${wish.suspend ? ', suspended' : ''}`],
      ['revision', `${report?.appliedRevision ?? 0} of ${status.revision} applied`],
      ['repository', wish?.source?.url ?? ''],
      ['follows', wish?.source ? `${wish.source.path} of ${wish.source.branch}` : ''],
      ['deploy key', keyText(status)],
      ['next rotation', rotationText(status)],
      ['fetched', report?.source?.revision ?? ''],
      ['applied', report?.sync?.revision ?? ''],
      ['installer', report?.phase ?? 'has not reported yet'],
      ['reported', status.reportedAt ?? ''],
      ...preflightRows(status),
      ['problem', { text: clusterProblemText({ ...status, waitsFor: null }), colour: 'red' }],
      ['waits for', { text: status.waitsFor ?? '', colour: 'yellow' }],
    ],
  );
}

function keyText({ deployKey }: ClusterGitOps): string {
  if (!deployKey) return '';
  const { number, since, withdrawing } = deployKey;
  const left = withdrawing.length === 0 ? '' : `; to be withdrawn: ${withdrawing.join(', ')}`;
  return `number ${number}, ${since === null ? 'not in use yet' : `since ${since}`}${left}`;
}

function rotationText({ deployKey }: ClusterGitOps): string {
  if (!deployKey) return '';
  if (deployKey.rotating !== null) return `under way, by ${deployKey.rotating}`;
  return deployKey.nextRotationAt ?? 'by no schedule';
}

export function printAssignment(io: Io, assignment: Assignment): void {
  const { rollout, verification } = assignment;
  printTable(
    io,
    ['NAME', assignment.name],
    [
      ['clusters', selectorText(assignment)],
      ['priority', String(assignment.priority)],
      ['tool', `${assignment.tool} ${assignment.bundleVersion}`],
      ['repository', assignment.repository ?? ''],
      ['branch', assignment.branch ?? 'the default'],
      ['path', assignment.path],
      ['interval', `${assignment.intervalSeconds}s`],
      ['prune', assignment.prune ? 'yes' : 'no'],
      [
        'verification',
        verification ? `${verification.type}: ${verification.keys.map(({ name }) => name).join(', ')}` : '',
      ],
      ['suspended', assignment.suspend ? { text: 'yes', colour: 'yellow' } : 'no'],
      ['self-heal', assignment.selfHeal],
      ['waves', `${rollout.waves.join(', ')}, the rest`],
      ['a wave is good', `after ${rollout.soakSeconds}s healthy; it failed after ${rollout.timeoutSeconds}s`],
      ['on failure', `${rollout.onFailure}, when more than ${rollout.maxFailed} failed`],
    ],
  );
}

/** `2 of 4`, and how its clusters are. */
export function waveTexts({ wave, waves }: Rollout): string[] {
  const sum = (of: 'clusters' | 'healthy' | 'failed' | 'waiting'): string =>
    String(waves.reduce((total, each) => total + each[of], 0));
  const now = Math.min(wave + 1, waves.length);
  return [`${now} of ${waves.length}`, `${sum('healthy')} of ${sum('clusters')}`, sum('failed'), sum('waiting')];
}

/** Why it may work all the same. */
const OTHER_WAY = 'nodes may have another way to it, such as a mirror or a proxy';

/** The hosts that its installer looked at, and what keeps it from them; none before it looked. */
function preflightRows({ report }: ClusterGitOps): Cell[][] {
  const hosts = report?.preflight?.hosts ?? [];
  const reached = hosts.filter(({ code }) => code === 'REACHABLE').map(({ host }) => host);
  const others = hosts.filter(({ code }) => code !== 'REACHABLE');
  return [
    ...(reached.length === 0 ? [] : [['reaches', reached.join(', ')]]),
    ...others.map(({ kind, host, code, message }): Cell[] => {
      const what = `${kind} ${host}`;
      if (code === 'NOT_TRIED') return [what, message];
      return [what, { text: `${code}: ${message}${kind === 'registry' ? `; ${OTHER_WAY}` : ''}`, colour: 'yellow' }];
    }),
  ];
}
