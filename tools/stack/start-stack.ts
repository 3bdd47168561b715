import { administrator, type Administrator } from './access/administrator.js';
import { findKubectl, logInCliScript, runCli, runKubectl, writeCliScript } from './access/programs.js';
import { databaseAccessConfig, prepareDatabases } from './control-plane/databases.js';
import { prepareInfrastructureTls, trustOf } from './control-plane/infrastructure-tls.js';
import { natsUnit, postgresUnit } from './control-plane/infrastructure.js';
import { prepareNatsCredentials } from './control-plane/nats-credentials.js';
import { provisionNats } from './control-plane/nats-tasks.js';
import {
  AGENT_IMAGE,
  adminTokenFile,
  at,
  linkEndpoints,
  type ControlPlane,
} from './control-plane/service-environments.js';
import { startServices } from './control-plane/start-services.js';
import { Agents } from './demo/agents.js';
import { addDemoIssuer, startDemoIssuerProcess } from './demo-issuer/start-demo-issuer.js';
import { startDemoNode } from './demo/demo-node.js';
import { startDemoKubernetes, type DemoKubernetes } from './demo/kubernetes-unit.js';
import { StackError } from './errors.js';
import {
  demoKindOf,
  joinGitOpsDemo,
  startGitOpsParts,
  withGitHostPorts,
  type GitOpsParts,
  type JoinGitOpsOptions,
} from './gitops/start-gitops-demo.js';
import { ProcessGroup } from './process/process-group.js';
import { DEFAULT_GATEWAYS, type Demo, type GatewayAddresses, type Stack, type StackOptions } from './stack.js';
import { DEFAULT_BASE_PORT, planPorts, portUses, requireFree, type PortPlan } from './state/port-plan.js';
import { entryOf } from './state/repository.js';
import { secretOnce } from './state/secret-file.js';
import { openStateDir, type StateDir } from './state/state-dir.js';

/** What a killed run had started ends by itself within seconds. */
const PATIENCE_AFTER_KILL_MS = 10_000;

type Resolved = Required<Omit<StackOptions, 'signal'>>;

/**
 * Boots the control plane and the demo cluster as child processes. Throws StackError (PortInUseError for a taken port),
 * and leaves nothing running, if any part does not come up. What `options.signal` was aborted with is thrown as it is.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const resolved = withDefaults(options);
  const state = openStateDir(resolved.stateDir);
  const { log, restart: supervise } = resolved;
  const group = new ProcessGroup({ log, supervise, signal: options.signal });
  try {
    return await boot(resolved, state, group);
  } catch (error) {
    const reason: unknown = group.signal.aborted ? group.signal.reason : error;
    await group.stop();
    state[Symbol.dispose]();
    throw reason;
  }
}

function withDefaults(options: StackOptions): Resolved {
  return {
    stateDir: options.stateDir,
    basePort: options.basePort ?? DEFAULT_BASE_PORT,
    log: options.log ?? (() => undefined),
    demo: options.demo ?? true,
    gitops: options.gitops ?? false,
    demoNode: options.demoNode ?? false,
    demoIssuer: options.demoIssuer ?? false,
    links: options.links ?? 1,
    demoTargets: options.demoTargets ?? [],
    leaseSeconds: options.leaseSeconds ?? 15,
    certificateTtlSeconds: options.certificateTtlSeconds ?? 86_400,
    gateways: options.gateways ?? DEFAULT_GATEWAYS,
    env: options.env ?? {},
    gatewayEnv: options.gatewayEnv ?? {},
    restart: options.restart ?? true,
    logLevel: options.logLevel ?? 'info',
    agentMain: options.agentMain ?? entryOf('agent'),
    advertise: options.advertise ?? '127.0.0.1',
    agentImage: options.agentImage ?? AGENT_IMAGE,
    durable: options.durable ?? true,
  };
}

async function boot(options: Resolved, state: StateDir, group: ProcessGroup): Promise<Stack> {
  const { log, gateways } = options;
  const kind = demoKindOf(options, state);
  const plan = await planPorts(options.basePort, gateways.length, state.file('ports.json'));
  const ports = kind === 'gitops' ? withGitHostPorts(plan, state) : plan;
  await requireFree(portUses(ports, gateways, kind, options.demoIssuer), state.takenOver ? PATIENCE_AFTER_KILL_MS : 0);
  const kubectl = findKubectl(state, log, group.signal);
  const kubernetes: Promise<DemoKubernetes> =
    kind === 'plain'
      ? startDemoKubernetes(group, state, ports, log)
      : Promise.resolve({ unavailable: 'it was not asked for' });
  const { agentImage, agentMain } = options;
  const gitops =
    kind === 'gitops'
      ? startGitOpsParts({ group, state, ports, log, images: { agentImage, agentMain } })
      : Promise.resolve(undefined);
  const issuer = options.demoIssuer
    ? startDemoIssuerProcess({ group, state, port: ports.demoIssuer, log })
    : Promise.resolve(undefined);
  // All are awaited below, unless the boot fails before: then their errors are news of yesterday.
  void Promise.allSettled([kubectl, kubernetes, gitops, issuer]);
  const plane = await startInfrastructure(options, state, ports, group);
  const access = accessOf(state, ports);
  await startServices(plane, group, access.api.caFile, log);
  await access.admin.login();
  logInCliScript(state);
  const demoIssuer = await issuer;
  if (demoIssuer) await addDemoIssuer(access.admin, demoIssuer);
  const common = { state, group, admin: access.admin, kubectl: await kubectl, endpoints: linkEndpoints(plane), log };
  const agents = new Agents({ ...common, main: options.agentMain });
  const parts = await gitops;
  const demo = parts
    ? await startGitOpsDemo(parts, common, options, access)
    : await startDemo(await kubernetes, await kubectl, options, { ports, agents, access, state, group });
  group.settle();
  return stackOf({ state, group, plane, options, access, agents, demo, demoIssuer, kubectl: await kubectl });
}

async function startInfrastructure(
  options: Resolved,
  state: StateDir,
  ports: PortPlan,
  group: ProcessGroup,
): Promise<ControlPlane> {
  const { log, gateways, logLevel, leaseSeconds, certificateTtlSeconds, advertise, agentImage, env, gatewayEnv } =
    options;
  log({ kind: 'progress', text: 'starting Postgres and nats-server' });
  secretOnce(adminTokenFile(state));
  const tls = await prepareInfrastructureTls(state);
  const authorizationConfig = prepareNatsCredentials(state, gateways);
  const nats = natsUnit(state, { port: ports.nats, tls: tls.nats, authorizationConfig }, log);
  const accessConfig = databaseAccessConfig();
  const { durable } = options;
  const postgres = postgresUnit(state, { port: ports.postgres, tls: tls.postgres, accessConfig, durable }, log);
  await Promise.all([group.start(nats, 'infrastructure'), group.start(postgres, 'infrastructure')]);
  const natsUrl = nats.info.url;
  const databaseUrl = postgres.info.adminUrl;
  await Promise.all([provisionNats(state, natsUrl, group.signal), prepareDatabases(state, databaseUrl)]);
  const lives = { leaseSeconds, certificateTtlSeconds };
  return {
    state,
    ports,
    gateways,
    env,
    gatewayEnv,
    natsUrl,
    databaseUrl,
    logLevel,
    ...lives,
    advertise,
    agentImage,
  };
}

interface Access {
  readonly api: Stack['api'];
  readonly admin: Administrator;
  readonly kubeconfigPath: string;
  readonly cliPath: string;
}

function accessOf(state: StateDir, ports: PortPlan): Access {
  const api = {
    url: `https://${at(ports.api)}`,
    caFile: state.file('ca.pem'),
    adminTokenFile: adminTokenFile(state),
  };
  const admin = administrator((args, options) => runCli(state, args, options), api);
  return { api, admin, kubeconfigPath: state.file('kubeconfig'), cliPath: writeCliScript(state) };
}

async function startDemo(
  kubernetes: DemoKubernetes,
  kubectl: Stack['kubectlBinary'],
  options: Resolved,
  { ports, agents, access, state, group }: Pick<Parts, 'agents' | 'access' | 'state' | 'group'> & { ports: PortPlan },
): Promise<Stack['demo']> {
  if ('unavailable' in kubernetes) return kubernetes;
  if ('unavailable' in kubectl) return kubectl;
  options.log({ kind: 'progress', text: 'joining the demo cluster and starting its agent' });
  const kubeInfo = kubernetes.info;
  const { links, demoTargets: targets, log } = options;
  const node = { group, state, kube: kubeInfo, kubectlPath: kubectl.path, log };
  const [pod] = await Promise.all([
    options.demoNode ? startDemoNode(node) : undefined,
    agents.start({ clusterName: 'demo', links, targets, kube: kubeInfo }, ports.agentHealth),
  ]);
  const { adminKubeconfigPath } = kubeInfo;
  const demo: Demo = { clusterName: 'demo', kubeInfo, adminKubeconfigPath, ...(pod ? { pod } : {}) };
  await access.admin.writeKubeconfig(demo.clusterName, access.kubeconfigPath);
  return demo;
}

async function startGitOpsDemo(
  parts: GitOpsParts,
  common: Pick<JoinGitOpsOptions, 'state' | 'group' | 'admin' | 'kubectl' | 'endpoints' | 'log'>,
  { links, demoTargets: targets }: Resolved,
  { api, admin, kubeconfigPath }: Access,
): Promise<Demo> {
  const cli: Stack['cli'] = (args, options) => runCli(common.state, args, options);
  const demo = await joinGitOpsDemo(parts, { ...common, api, cli, links, targets });
  await admin.writeKubeconfig(demo.clusterName, kubeconfigPath);
  return demo;
}

interface Parts {
  readonly state: StateDir;
  readonly group: ProcessGroup;
  readonly plane: ControlPlane;
  readonly options: Resolved;
  readonly access: Access;
  readonly agents: Agents;
  readonly demo: Stack['demo'];
  readonly demoIssuer: Stack['demoIssuer'];
  readonly kubectl: Stack['kubectlBinary'];
}

function stackOf({ state, group, plane, options, access, agents, demo, demoIssuer, kubectl }: Parts): Stack {
  const stop = async (): Promise<void> => {
    agents[Symbol.dispose]();
    await group.stop();
    state[Symbol.dispose]();
  };
  return {
    stateDir: state.path,
    get processes() {
      return group.processes;
    },
    process(name) {
      const found = group.processes.find((process) => process.name === name);
      if (!found) throw new StackError(`there is no process ${name}`);
      return found;
    },
    api: access.api,
    nats: { url: plane.natsUrl, ...trustOf(state, plane.natsUrl) },
    gateways: plane.ports.gateways.map((each, index) => gatewayAddresses(options.gateways[index] ?? '', each)),
    healthUrl: (service) => `http://${at(plane.ports[`${service}Health`])}`,
    demo,
    demoIssuer,
    kubeconfigPath: access.kubeconfigPath,
    kubectlBinary: kubectl,
    cliPath: access.cliPath,
    cli: (args, cliOptions) => runCli(state, args, cliOptions),
    kubectl: (args, kubectlOptions) => runKubectl(kubectl, access.kubeconfigPath, args, kubectlOptions),
    async startAgent(wanted) {
      const kube =
        wanted.kube ?? ('kubeInfo' in demo && wanted.clusterName === demo.clusterName ? demo.kubeInfo : null);
      if (!kube) throw new StackError(`the agent of ${wanted.clusterName} needs a Kubernetes cluster of its own`);
      return agents.start({ ...wanted, kube });
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function gatewayAddresses(name: string, ports: PortPlan['gateways'][number]): GatewayAddresses {
  return {
    name,
    doorUrl: `https://${at(ports.door)}`,
    connectUrl: `https://${at(ports.connect)}`,
    linkAddress: at(ports.link),
    relayAddress: at(ports.relay),
    healthUrl: `http://${at(ports.health)}`,
  };
}
