import type { Io } from '../io.js';
import type { GitHost } from '../session/gitops-answers.js';
import { printLines, printTable, type Cell } from './print.js';

/** How many keys are trusted, and how many wait for somebody. */
export function trustText({ hostKeys }: GitHost): Cell {
  const count = (of: string): number => hostKeys.filter(({ state }) => state === of).length;
  const [approved, proposed] = [count('approved'), count('proposed')];
  if (approved === 0) return { text: proposed === 0 ? 'none' : `none approved, ${proposed} proposed`, colour: 'red' };
  return proposed === 0
    ? `${approved} approved`
    : { text: `${approved} approved, ${proposed} proposed`, colour: 'yellow' };
}

export function problemText({ problem }: GitHost): string {
  if (problem === null) return '';
  const { code, message, retryAt } = problem;
  return `${code}: ${message}${retryAt === null ? '' : ` (tried again ${retryAt})`}`;
}

/** Its keys, with the fingerprints that ssh-keygen shows. */
export function printHostKeys(io: Io, { hostKeys, name }: GitHost): void {
  if (hostKeys.length === 0) return printLines(io, `no key of ${name} is known: fairlead git-host scan ${name}`);
  printTable(
    io,
    ['STATE', 'TYPE', 'FINGERPRINT', 'LAST SEEN', 'DECIDED BY'],
    hostKeys.map(({ state, type, fingerprint, lastSeenAt, decidedBy }) => [
      state === 'approved' ? { text: state, colour: 'green' } : { text: state, colour: 'yellow' },
      type,
      fingerprint,
      lastSeenAt ?? 'never',
      decidedBy ?? '',
    ]),
  );
}

export function printGitHost(io: Io, host: GitHost): void {
  printTable(
    io,
    ['NAME', host.name],
    [
      ['kind', host.kind],
      ['url', host.url ?? ''],
      ['ssh', `${host.sshHost}:${host.sshPort}`],
      [
        'token',
        host.hasToken ? `sealed${host.tokenExpiresAt === null ? '' : `, until ${host.tokenExpiresAt}`}` : 'none',
      ],
      ['makes repositories', host.createRepositories ? 'yes' : 'no'],
      ['rights checked', host.checkedAt ?? ''],
      ['problem', { text: problemText(host), colour: 'red' }],
    ],
  );
  if (host.findings.length > 0) {
    printLines(io, '');
    printTable(
      io,
      ['RIGHT', 'VERDICT', 'WHY'],
      host.findings.map(({ right, verdict, why }) => [right, verdict, why]),
    );
  }
  printLines(io, '');
  printHostKeys(io, host);
}
