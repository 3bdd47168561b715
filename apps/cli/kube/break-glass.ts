import { failure } from '../failure.js';
import { Whoami, type ClusterAccess } from '../session/answers.js';
import type { ApiClient } from '../session/api-client.js';
import { Credential } from '../session/credential-answer.js';
import type { Login } from '../session/login-store.js';
import { clusterPath } from '../session/paths.js';
import { clusterEntries, contextEntries, type Kubeconfig } from './kubeconfig.js';

export interface BreakGlassOptions {
  readonly accesses: readonly ClusterAccess[];
  /** The administrator's. */
  readonly login: Login;
  /** How long the statements open connections. */
  readonly seconds: number;
  readonly door?: string | undefined;
  readonly byName?: boolean | undefined;
}

/** Holds a secret. */
export interface BreakGlass {
  readonly kubeconfig: Kubeconfig;
  /** The first end of a statement in it: with the CA it may be earlier than was asked for. */
  readonly openUntil: string;
}

/**
 * A kubeconfig that needs neither this command nor the API: it has the administrator's token in it, and beside it a statement for each cluster, signed now. FORBIDDEN for
 * any other login: a door that hears of no change lets in nobody else.
 */
export async function breakGlass(api: ApiClient, options: BreakGlassOptions): Promise<BreakGlass> {
  const { accesses, login, seconds, door, byName } = options;
  await refuseOthers(api);
  const users: { name: string; user: { token: string } }[] = [];
  const ends: string[] = [];
  for (const { cluster } of accesses) {
    const asked = { method: 'POST', body: { seconds } } as const;
    const { statement, openUntil } = await api.ask(Credential, `${clusterPath(cluster.name)}/credential`, asked);
    users.push({ name: userOf(cluster), user: { token: `${login.token}~${statement}` } });
    ends.push(openUntil);
  }
  const [only, ...others] = accesses;
  const current = only && others.length === 0 ? { 'current-context': only.cluster.name } : {};
  const kubeconfig: Kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: accesses.flatMap((access) => clusterEntries(access, byName ?? false)),
    users,
    contexts: accesses.flatMap((access) => contextEntries(access, door, userOf(access.cluster))),
    ...current,
  };
  return { kubeconfig, openUntil: ends.sort()[0] ?? '' };
}

/** What stands above it in its file. */
export function warningOf({ openUntil }: Pick<BreakGlass, 'openUntil'>): string {
  return [
    "Break glass: the administrator's token of Fairlead, and statements that agents take until",
    `${openUntil}. Whoever has this file is the administrator. Each use is told as administrator.used.`,
  ]
    .map((line) => `# ${line}\n`)
    .join('');
}

async function refuseOthers(api: ApiClient): Promise<void> {
  const { user, kind } = await api.ask(Whoami, '/v1/whoami');
  if (kind === 'administrator') return;
  throw failure(
    'FORBIDDEN',
    `--break-glass is for the administrator's token, and you are ${user}`,
    'log in with that token first: fairlead login --token-file FILE',
  );
}

const userOf = ({ name }: ClusterAccess['cluster']): string => `break-glass@${name}`;
