import type { ClusterGitOps } from '../session/gitops-answers.js';
import type { Cell } from './print.js';

/** Why it may work all the same. */
const OTHER_WAY = 'nodes may have another way to it, such as a mirror or a proxy';

/** The hosts that its installer looked at, and what keeps it from them; none before it looked. */
export function preflightRows({ report }: ClusterGitOps): Cell[][] {
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
