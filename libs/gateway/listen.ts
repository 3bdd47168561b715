import type { AddressInfo, Server } from 'node:net';
import { FairleadError, messageOf } from '@fairlead/errors';

export interface Listening {
  /** `host:port` as bound. */
  readonly address: string;
  readonly port: number;
}

/** Binds a server to `host:port`. UNAVAILABLE, naming the address, if it cannot be had. */
export function listen(server: Server, hostPort: string): Promise<Listening> {
  const at = hostPort.lastIndexOf(':');
  const host = hostPort.slice(0, at).replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => {
      reject(new FairleadError('UNAVAILABLE', `cannot listen on ${hostPort}: ${messageOf(error)}`, { cause: error }));
    };
    server.once('error', onError);
    server.listen(Number(hostPort.slice(at + 1)), host, () => {
      server.off('error', onError);
      const { port } = server.address() as AddressInfo;
      resolve({ address: `${hostPort.slice(0, at)}:${port}`, port });
    });
  });
}
