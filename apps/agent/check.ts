import { parseArgs } from 'node:util';
import { ClusterRoleName, groupOfRole } from '@fairlead/access-rules';
import { identityStore, withBundle } from '@fairlead/agent';
import {
  checkCredentials,
  checkEndpoint,
  checkKubernetes,
  heldPins,
  type Finding,
  rightsToNames,
  type Right,
} from '@fairlead/agent/preflight';
import { messageOf } from '@fairlead/errors';
import { silentLogger } from '@fairlead/observability';
import { parseToken } from '@fairlead/pki';
import { endpointsOf, proxyOf, readConfig, type AgentConfig } from './config.js';
import { findingLine } from './finding-line.js';
import { readServiceAccount } from './service-account.js';
import { readBundleFile, readToken, storeFor } from './stores.js';

const USAGE = `Usage: fairlead-agent check [-o table|json]

Looks at everything that an agent with this environment needs, step by step, and says what is wrong and what to do: names, route,
TLS, clock, root pins, token or identity, the API server and the agent's rights. It changes nothing and spends no token.
In a cluster: kubectl -n fairlead-system exec deploy/fairlead-agent -- node apps/agent/dist/bundle/main.js check
Exit status: 0 if all is well, 1 if something is not, 2 for a configuration or command line that cannot be read.
`;

/** Prints what it finds, as it finds it, and returns the exit status. */
export async function check(args: readonly string[]): Promise<number> {
  let config: AgentConfig;
  let json: boolean;
  try {
    const options = { output: { type: 'string', short: 'o', default: 'table' }, help: { type: 'boolean' } } as const;
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) {
      process.stdout.write(USAGE);
      return 0;
    }
    if (values.output !== 'table' && values.output !== 'json') throw new Error('-o takes table or json');
    json = values.output === 'json';
    config = readConfig(process.env);
  } catch (error) {
    process.stderr.write(`fairlead-agent check: ${messageOf(error)}\nnext: fairlead-agent check --help\n`);
    return 2;
  }
  const findings: Finding[] = [];
  for await (const finding of look(config)) {
    findings.push(finding);
    if (!json) process.stdout.write(findingLine(finding));
  }
  const failures = findings.filter(({ ok }) => !ok);
  if (json) process.stdout.write(`${JSON.stringify({ ok: failures.length === 0, findings }, null, 2)}\n`);
  else
    process.stdout.write(failures.length === 0 ? 'all is well\n' : `${failures.length} of ${findings.length} failed\n`);
  return failures.length === 0 ? 0 : 1;
}

async function* look(config: AgentConfig): AsyncGenerator<Finding> {
  const nowMs = Date.now();
  const token = await readToken(config.FAIRLEAD_BOOTSTRAP_TOKEN_FILE).catch(() => null);
  const server = { host: config.KUBERNETES_SERVICE_HOST, port: config.KUBERNETES_SERVICE_PORT };
  const store = withBundle(identityStore(storeFor(config, server)), {
    read: () => readBundleFile(config.FAIRLEAD_IDENTITY_BUNDLE_FILE),
    clusterId: config.FAIRLEAD_CLUSTER_ID,
    logger: silentLogger,
    readOnly: true,
  });
  const pins = [...config.FAIRLEAD_ROOT_PINS, ...pinOf(token), ...(await heldPins(store))];
  yield* await checkCredentials({
    store,
    clusterId: config.FAIRLEAD_CLUSTER_ID,
    token,
    adoption: config.FAIRLEAD_ADOPTION,
    pins: config.FAIRLEAD_ROOT_PINS,
    nowMs,
  });
  const proxy = proxyOf(config);
  for (const endpoint of endpointsOf(config)) {
    const signal = AbortSignal.timeout(60_000);
    const trustDomain = config.FAIRLEAD_TRUST_DOMAIN;
    yield* checkEndpoint({ endpoint, proxy, pins, trustDomain, nowMs, signal });
  }
  yield* checkApiServer(config, server);
}

async function* checkApiServer(
  config: AgentConfig,
  server: { readonly host: string; readonly port: number },
): AsyncGenerator<Finding> {
  try {
    const account = await readServiceAccount(config.FAIRLEAD_SERVICE_ACCOUNT_DIR, () => performance.now());
    const api = { ...server, ...account };
    yield* checkKubernetes(api, rightsOf(config), Date.now);
  } catch (error) {
    yield {
      check: 'kubernetes',
      subject: config.FAIRLEAD_SERVICE_ACCOUNT_DIR,
      ok: false,
      detail: messageOf(error),
      remedy: 'mount the service account: automountServiceAccountToken must be true for the agent’s pod',
    };
  }
}

/** What the import manifest gives the agent. */
function rightsOf({ FAIRLEAD_IDENTITY: identity, FAIRLEAD_USER_NAMES: userNames }: AgentConfig): Right[] {
  const rights: Right[] = [
    ...rightsToNames(userNames),
    { verb: 'impersonate', resource: 'groups', name: 'fairlead:admins' },
    { verb: 'impersonate', resource: 'groups', name: 'system:authenticated' },
    ...ClusterRoleName.options.map(rightToRole),
    { verb: 'list', resource: 'nodes', without: 'how many nodes there are, and whose, is not known' },
  ];
  const [, namespace, name] = /^secret:([^/]+)\/(.+)$/.exec(identity) ?? [];
  if (namespace === undefined || name === undefined) return rights;
  return [...rights, ...['get', 'patch'].map((verb) => ({ verb, resource: 'secrets', name, namespace }))];
}

function rightToRole(role: ClusterRoleName): Right {
  const without = `people with a grant of the role ${role} are refused`;
  return { verb: 'impersonate', resource: 'groups', name: groupOfRole(role), without };
}

function pinOf(token: string | null): string[] {
  try {
    return token === null ? [] : [parseToken(token).pin];
  } catch {
    return [];
  }
}
