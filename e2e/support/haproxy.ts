import { join } from 'node:path';
import { REPOSITORY, type PortPlan } from '@fairlead/stack';
import { startListening } from './listening.js';

/** A load balancer with the configuration that the documentation gives, before a stack of two gateways. */
export interface OnePort extends AsyncDisposable {
  readonly port: number;
}

export interface OnePortOptions {
  readonly port: number;
  /** From which it dials gateways and admin API. */
  readonly address: string;
  readonly apiName: string;
  readonly connectName: string;
  readonly ports: PortPlan;
}

const CONFIGURATION = join(REPOSITORY, 'docs', 'one-port', 'haproxy.cfg');

/** Debian's `haproxy`. Resolves when it listens; the servers behind it may come later. */
export async function startOnePort(options: OnePortOptions): Promise<OnePort> {
  const { port } = options;
  const watch = await startListening({
    program: 'haproxy',
    args: ['-db', '-f', CONFIGURATION],
    port,
    debianPackage: 'haproxy',
    env: { PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin`, ...environmentOf(options) },
  });
  return { port, [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose]() };
}

function environmentOf({ port, address, apiName, connectName, ports }: OnePortOptions): Record<string, string> {
  const gateways = ports.gateways.flatMap(({ door, link, connect: connectPort, relay, health }, index) => {
    const name = `GATEWAY_${'AB'[index]}`;
    return [
      [`${name}_DOOR`, `127.0.0.1:${door}`],
      [`${name}_LINK`, `127.0.0.1:${link}`],
      [`${name}_CONNECT`, `127.0.0.1:${connectPort}`],
      [`${name}_RELAY`, `127.0.0.1:${relay}`],
      [`${name}_HEALTH_PORT`, String(health)],
    ];
  });
  return {
    ONE_PORT: `127.0.0.1:${port}`,
    BALANCER_ADDRESS: address,
    API_NAME: apiName,
    CONNECT_NAME: connectName,
    API: `127.0.0.1:${ports.api}`,
    ...(Object.fromEntries(gateways) as Record<string, string>),
  };
}
