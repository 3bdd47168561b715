import { randomBytes, randomUUID } from 'node:crypto';
import { DEFAULT_TENANT, type AuditRecord, type AuditedPassage } from '@fairlead/contracts';

/** As a company has them: some do much, most of it is read, and little is refused. */
export const USERS = 500;
export const CLUSTERS = 50;
const NAMESPACES = 40;
const REFUSED = 0.01;
const EXEC = 0.005;
/** Records tell of the month before: questions are narrowed by time. */
const SPAN_MS = 30 * 86_400_000;

const VERBS = ['get', 'list', 'watch', 'get', 'list', 'get', 'patch', 'create', 'update', 'delete'] as const;
const RESOURCES = ['pods', 'configmaps', 'deployments', 'secrets', 'services', 'nodes', 'events', 'jobs'] as const;
const METHODS: Readonly<Record<string, string>> = { patch: 'PATCH', create: 'POST', update: 'PUT', delete: 'DELETE' };

/** Few are asked for often: the square of what is even. */
const skewed = (count: number): number => Math.floor(Math.random() ** 2 * count);
const oneOf = <T>(choices: readonly T[]): T => choices[Math.floor(Math.random() * choices.length)] as T;
const CLUSTER_IDS = Array.from({ length: CLUSTERS }, () => randomUUID());
const TOKEN_IDS = Array.from({ length: USERS }, () => randomUUID());
const GRANT_IDS = Array.from({ length: USERS }, () => randomUUID());

export const userAt = (index: number): string => `corp:user-${index}`;
export const clusterAt = (index: number): string => `cluster-${index}`;

/** The nth of so many. */
export function recordOf(nth: number, of: number): AuditRecord {
  const isExec = Math.random() < EXEC;
  const isRefused = Math.random() < REFUSED;
  const verb = isExec ? 'create' : oneOf(VERBS);
  const [user, cluster] = [skewed(USERS), skewed(CLUSTERS)];
  const resource: AuditedPassage['resource'] = {
    verb,
    apiGroup: '',
    resource: isExec ? 'pods' : oneOf(RESOURCES),
    subresource: isExec ? 'exec' : '',
    namespace: `team-${skewed(NAMESPACES)}`,
    name: verb === 'list' || verb === 'watch' ? '' : `object-${Math.floor(Math.random() * 1_000)}`,
  };
  return {
    phase: 'outcome',
    id: randomUUID(),
    at: new Date(Date.now() - SPAN_MS * (1 - nth / of)).toISOString(),
    tenantId: DEFAULT_TENANT,
    ingress: 'gateway-b',
    session: '',
    requestUri: '',
    userAgent: 'kubectl/v1.34.4 (linux/amd64) kubernetes/c2a4d3e',
    door: 'kube-api',
    kind: isExec ? 'exec' : verb === 'watch' ? 'watch' : 'request',
    address: `10.0.${user % 250}.${cluster}`,
    traceId: randomBytes(16).toString('hex'),
    owner: 'gateway-a',
    clusterId: CLUSTER_IDS[cluster] ?? null,
    cluster: clusterAt(cluster),
    identity: {
      kind: 'user',
      groups: [],
      groupsCut: false,
      session: '',
      name: userAt(user),
      proof: { kind: 'token', id: TOKEN_IDS[user] ?? '', of: 'login' },
    },
    as: '',
    asGroups: [],
    asGroupsCut: false,
    grantIds: [GRANT_IDS[user] ?? ''],
    grantIdsCut: false,
    method: METHODS[verb] ?? 'GET',
    resource,
    url: null,
    target: '',
    stream: isExec
      ? {
          protocol: 'websocket',
          container: 'app',
          command: ['sh', '-c', 'ls'],
          commandCut: false,
          stdin: true,
          tty: true,
        }
      : null,
    decision: isRefused ? 'refused' : 'allowed',
    status: isRefused ? 403 : 200,
    cause: isRefused ? 'FORBIDDEN' : 'COMPLETE',
    bytesUp: 0,
    bytesDown: 1_000 + skewed(100_000),
    durationMs: skewed(200),
  };
}
