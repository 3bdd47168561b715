import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@fairlead/testbed';
import { z } from 'zod';
import { Program, prefixed, type Command } from '../process/program.js';
import type { Certificates } from './certificates.js';
import type { Leg } from './leg.js';
import { PLAIN, type Part, type System, type Way } from './system.js';
import type { Target } from './target.js';

type RelayName = 'relay-go' | 'relay-go-tls' | 'relay-node';

export interface RelayOptions {
  /** Path of bench/go/relay. */
  readonly program: string;
  readonly certificates: Certificates;
  readonly target: Target;
  readonly leg: Leg;
  /** For logs. */
  readonly dir: string;
}

const Announcement = z.object({ address: z.string() });

/** Compiled only: the benchmark runs from `dist`. */
const RELAY_NODE = fileURLToPath(new URL('relay-node.js', import.meta.url));

/** Two processes, one behind the other, as a gateway and an agent stand behind each other. */
export async function startRelays(
  name: RelayName,
  options: RelayOptions,
  owned: AsyncDisposableStack,
): Promise<System> {
  const { target, leg, dir } = options;
  const [outerAddress, innerAddress] = [`127.0.0.1:${await freePort()}`, `${leg.agentHost}:${await freePort()}`];
  const program = (part: Part, listen: string, next: string): Program => {
    const command = prefixed(part === 'agent' ? leg.prefix : [], commandOf(name, options, part, listen, next));
    return owned.use(new Program({ name: `${name} (${part})`, command, logPath: join(dir, `${name}-${part}.log`) }));
  };
  const parts = {
    gateway: program('gateway', outerAddress, innerAddress),
    agent: program('agent', innerAddress, target.address),
  };
  const start = async (part: Part): Promise<void> => void (await parts[part].announced(Announcement));
  await Promise.all([start('agent'), start('gateway')]);
  return {
    name,
    entrance: { way: wayTo(name, outerAddress, options.certificates), target: target.address, banner: target.banner },
    pids: (part) => [parts[part].pid],
    kill: (part) => parts[part].kill(),
    start,
  };
}

function commandOf(
  name: RelayName,
  { program, certificates: { folder } }: RelayOptions,
  part: Part,
  listen: string,
  next: string,
): Command {
  if (name === 'relay-node') return [process.execPath, RELAY_NODE, listen, next];
  if (name === 'relay-go') return [program, '-listen', listen, next];
  const secure = ['-accept-tls', folder, ...(part === 'gateway' ? ['-dial-tls', folder] : [])];
  return [program, '-listen', listen, ...secure, next];
}

function wayTo(name: RelayName, address: string, certificates: Certificates): Way {
  if (name !== 'relay-go-tls') return { ...PLAIN, address };
  const { caPem, clientCertPem: certPem, clientKeyPem: keyPem } = certificates;
  return { address, caPem, certPem, keyPem, connect: false };
}
