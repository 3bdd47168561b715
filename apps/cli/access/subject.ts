import { Option, type Command } from 'commander';
import { usage } from '../failure.js';

/** Whom a grant is for. */
export interface Subject {
  readonly kind: 'user' | 'group' | 'workload' | 'token' | 'client';
  readonly name: string;
}

export type SubjectOptions = { readonly [Kind in Subject['kind']]?: string };

const KINDS = ['user', 'group', 'workload', 'token', 'client'] as const;
const HOW = 'say whom: --user corp:alice, --group corp:developers, --workload NAME, --token NAME, or --client NAME';

/** `--user`, `--group`, `--workload`, `--token` and `--client`, of which one is given. */
export function addSubjectOptions(command: Command): Command {
  const texts: Record<Subject['kind'], string> = {
    user: 'a person, as "fairlead whoami" shows them',
    group: 'the people of a group of an issuer',
    workload: 'a program that an issuer vouches for',
    token: 'an API token, by its name: fairlead api-token list',
    client: 'a client of the CONNECT door: fairlead client list',
  };
  for (const kind of KINDS) {
    const others = KINDS.filter((other) => other !== kind);
    command.addOption(new Option(`--${kind} <name>`, texts[kind]).conflicts([...others]));
  }
  return command;
}

/** The one that is given, if any. */
export function subjectIn(options: SubjectOptions): Subject | undefined {
  const kind = KINDS.find((each) => options[each] !== undefined);
  return kind && { kind, name: options[kind] ?? '' };
}

/** The same, which has to be there. */
export function subjectOf(options: SubjectOptions): Subject {
  const subject = subjectIn(options);
  if (!subject) throw usage('it is not said whom the grant is for', HOW);
  return subject;
}

/** Somebody as they are called in clusters: `corp:alice`, `token:deployer`, `workload:ci:main`; and `client:prometheus`. Undefined for `me`. */
export function subjectNamed(user: string): Subject | undefined {
  if (user === 'me') return undefined;
  const [, kind, name] = /^(token|workload|client):(.+)$/s.exec(user) ?? [];
  return name === undefined ? { kind: 'user', name: user } : { kind: kind as 'token' | 'workload' | 'client', name };
}

/** `user corp:alice`. */
export function subjectText({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind} ${name}`;
}
