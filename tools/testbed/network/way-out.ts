import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TestbedError } from '../errors.js';
import type { NetworkNamespace } from './network-namespace.js';

/** Addresses of its ends; the range is the one that RFC 2544 keeps for tests, above what nodes have of it. */
export const WAY_OUT = {
  /** By which who is in `from` reaches whatever listens in `to` on all addresses. */
  to: '198.19.0.1',
  /** Of `from` as `to` sees it, which gets nowhere by it. */
  from: '198.19.0.2',
} as const;
const TIMEOUT_MS = 30_000;

/**
 * Joins two networks as a firewall does that lets one side out: whoever is in `from` may dial into `to`, and nobody there may dial back. It is gone with either of them. Needs
 * root; throws TestbedError. A network has one way out, and takes one.
 */
export async function openWayOut({ from, to }: Readonly<Record<'from' | 'to', NetworkNamespace>>): Promise<void> {
  await inside(
    to,
    `ip link add way-in type veth peer name way-out netns ${from.pid}
     ip addr add ${WAY_OUT.to}/30 dev way-in
     ip link set way-in up`,
  );
  await inside(
    from,
    `ip addr add ${WAY_OUT.from}/30 dev way-out
     ip link set way-out up
     # Before anything that a node or its policies might let pass.
     iptables -w 5 -t mangle -I PREROUTING -i way-out -m conntrack ! --ctstate ESTABLISHED,RELATED -j DROP`,
  );
}

async function inside({ enter: [nsenter = '', ...where] }: NetworkNamespace, script: string): Promise<void> {
  const args = [...where, 'sh', '-c', `set -e\n${script}`];
  await promisify(execFile)(nsenter, args, { timeout: TIMEOUT_MS }).catch((cause: unknown) => {
    throw new TestbedError(`there is no way between two networks: ${String(cause)}`, { cause });
  });
}
