import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kubectl } from '../components/kubectl.js';
import { TestbedError } from '../errors.js';
import type { NetworkNamespace } from '../network/network-namespace.js';
import { policyRules } from './network-policies.js';
import type { KubectlPod, NamespaceObject, Policy } from './network-policy-objects.js';

const LOOK_MS = 500;
const CAUGHT_UP_MS = 60_000;
const SET_UP = `iptables -w 5 -N NETPOL; for chain in FORWARD INPUT; do iptables -w 5 -I $chain -j NETPOL; done`;

/** Until it is disposed of. */
export interface PolicyEnforcer extends AsyncDisposable {
  /** Resolves when what is in the cluster now is enforced. Rejects with what went wrong since. */
  caughtUp(): Promise<void>;
}

/**
 * Enforces the NetworkPolicies of a real cluster's node, which has no network plugin that does: it looks twice a second, so a pod's first half
 * second is open. `policyRules` says what it knows of policies.
 */
export async function enforcePolicies(network: NetworkNamespace, kubectl: Kubectl): Promise<PolicyEnforcer> {
  await runInside(network, ['sh', '-c', SET_UP], '');
  const stop = new AbortController();
  let chains: ReadonlySet<string> = new Set();
  let last = '';
  const seen = new EventEmitter();
  let failure: unknown;
  const look = async (): Promise<void> => {
    const { code, stdout, stderr } = await kubectl(['get', 'namespaces,pods,networkpolicies', '-A', '-o', 'json']);
    if (code !== 0) throw new TestbedError(`policies cannot be read: ${stderr}`);
    const { items } = JSON.parse(stdout.toString()) as { items: (KubectlPod | NamespaceObject | Policy)[] };
    const rules = policyRules(
      {
        namespaces: items.filter((item) => item.kind === 'Namespace'),
        pods: items.filter((item) => item.kind === 'Pod'),
        policies: items.filter((item) => item.kind === 'NetworkPolicy'),
      },
      chains,
    );
    if (rules.text !== last) await runInside(network, ['iptables-restore', '--noflush', '-w', '5'], rules.text);
    ({ text: last, chains } = rules);
  };
  const looking = (async () => {
    while (!stop.signal.aborted) {
      await look().catch((error: unknown) => (failure = error));
      seen.emit('look');
      await sleep(LOOK_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  return {
    async caughtUp() {
      // The look that is under way may have begun before.
      for (const _ of [1, 2]) await once(seen, 'look', { signal: AbortSignal.timeout(CAUGHT_UP_MS) });
      if (failure !== undefined) throw failure;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await looking;
    },
  };
}

async function runInside(network: NetworkNamespace, command: readonly string[], input: string): Promise<void> {
  const [nsenter = '', ...where] = network.enter;
  const child = spawn(nsenter, [...where, ...command], { stdio: ['pipe', 'ignore', 'pipe'], timeout: 20_000 });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += String(chunk)));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new TestbedError(`${command[0]} in the node's network ended with ${code}: ${said}`);
}
