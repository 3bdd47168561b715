import { FairleadError } from '@fairlead/errors';
import { readConnectTarget } from '@fairlead/targets';

/** A port where the agent listens, and what is asked of a gateway for each connection to it. */
export interface EgressPort {
  /** 0 takes any. */
  readonly port: number;
  readonly upstream: { readonly host: string; readonly port: number };
}

/** Reads `<port>=<host>:<port>`, such as `2222=git.example.com:22`. INVALID_ARGUMENT that names it. */
export function parseEgressPort(text: string): EgressPort {
  const [, portText = '', target = ''] = /^([1-9]\d{0,4})=(.+)$/.exec(text) ?? [];
  const upstream = readConnectTarget(target);
  const port = Number(portText);
  if (!upstream || port < 1 || port > 65_535) {
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `${JSON.stringify(text.slice(0, 300))} is no egress port: write <port>=<host>:<port>, such as 2222=git.example.com:22`,
    );
  }
  return { port, upstream };
}
