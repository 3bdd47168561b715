import { FairleadError, messageOf } from '@fairlead/errors';
import type { z } from 'zod';
import type { Io } from '../io.js';
import {
  BootstrapTokenList,
  CertificateList,
  Cluster,
  ClusterAccess,
  EnrolmentRequestList,
  ShownPolicy,
  Whoami,
} from '../session/answers.js';
import { allPages } from '../session/all-pages.js';
import type { ApiClient } from '../session/api-client.js';
import { logInAgain } from '../session/log-in-again.js';
import type { Login } from '../session/login-store.js';
import { clusterPath } from '../session/paths.js';
import { VERSION } from '../version.js';
import { failed, found, warned, type Finding, type KnownFacts } from './finding.js';
import { judgeCredentials } from './judge-credentials.js';
import { judgeFacts } from './judge-facts.js';
import { judgeLinks } from './judge-links.js';

/**
 * Looks at everything between this command and a cluster's API server, as far as the control plane knows, and then
 * asks through each door. Stops where the next look would need what is missing. Changes nothing.
 */
export async function* examine(io: Io, api: ApiClient, login: Login, name: string): AsyncGenerator<Finding> {
  const { server } = login;
  const who = await attempt(() => api.ask(Whoami, '/v1/whoami'));
  yield 'error' in who ? fromError('api', server, who.error) : found('api', server, `it answers ${who.value.user}`);
  if ('error' in who) {
    yield* doorsUnknown(name, who.error);
    return;
  }
  const shown = await attempt(() => api.ask(Cluster, clusterPath(name)));
  if ('error' in shown) {
    yield fromError('cluster', name, shown.error);
    yield* doorsUnknown(name, shown.error);
    return;
  }
  const cluster = shown.value;
  yield found('cluster', name, `registered ${cluster.createdAt}`);
  const { facts, unknown } = await gather(io, api, cluster);
  yield* unknown;
  yield* judgeCredentials(facts);
  yield* judgeLinks(facts);
  yield* judgeFacts(facts);
  if (!facts.access) return;
  // Loaded only here: see `connect`.
  const { probeDoor } = await import('./probe-door.js');
  const { doors, certificateAuthority } = facts.access;
  if (doors.length === 0) yield warned('door', name, 'the API names no door', 'set FAIRLEAD_DOORS for the API');
  const { proxy } = io.config;
  const target = { token: login.token, certificateAuthority, proxy, logInAgain: logInAgain(login) };
  const probes = doors.map((door) => probeDoor(cluster, door, target, () => performance.now()));
  for (const probe of probes) yield await probe;
}

/** Where the API is away, what one wants to know most cannot be looked at from here, and may well go on. */
function doorsUnknown(name: string, error: unknown): Finding[] {
  if (!(error instanceof FairleadError && error.kind.retryable)) return [];
  const kubectl = `with a kubeconfig of ${name}: kubectl get --raw /version`;
  return [warned('door', name, 'not asked, as only the API tells which there are; doors go on without it', kubectl)];
}

async function gather(
  io: Io,
  api: ApiClient,
  cluster: Cluster,
): Promise<{ facts: KnownFacts; unknown: readonly Finding[] }> {
  const unknown: Finding[] = [];
  const path = clusterPath(cluster.name);
  const tried = async <T>(where: string, work: () => Promise<T>): Promise<T | null> => {
    const answer = await attempt(work);
    if ('value' in answer) return answer.value;
    unknown.push(fromError('api', where, answer.error));
    return null;
  };
  const ask = <Schema extends z.ZodType>(schema: Schema, where: string): Promise<z.output<Schema> | null> =>
    tried(where, () => api.ask(schema, where));
  const ofTokens = `${path}/bootstrap-tokens`;
  const ofWaiting = '/v1/enrolment-requests?state=pending';
  const [tokens, certificates, waiting, policy, access] = await Promise.all([
    tried(ofTokens, () => allPages(api, BootstrapTokenList, ofTokens, (page) => page.tokens)),
    ask(CertificateList, `${path}/certificates`),
    tried(ofWaiting, () => allPages(api, EnrolmentRequestList, ofWaiting, (page) => page.requests)),
    ask(ShownPolicy, `${path}/approval-policy`),
    ask(ClusterAccess, `${path}/access`),
  ]);
  const facts: KnownFacts = {
    cluster,
    tokens,
    certificates: certificates?.certificates ?? null,
    waiting,
    policy: policy?.effective ?? null,
    access,
    ownVersion: VERSION,
    nowMs: io.now().getTime(),
  };
  return { facts, unknown };
}

async function attempt<T>(work: () => Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** A failure to ask, with the next step that it carries. */
export function fromError(check: string, subject: string, error: unknown): Finding {
  const next = error instanceof FairleadError ? error.details?.['next'] : undefined;
  return failed(check, subject, messageOf(error), typeof next === 'string' ? next : 'try again');
}
