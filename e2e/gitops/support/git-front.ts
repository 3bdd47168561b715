import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { endsAtOnce, eventually } from '@fairlead/testing';

/** What stands before a Git host's SSH servers, as a load balancer does: who comes while they are replaced waits for it. */
export interface GitFront extends AsyncDisposable {
  readonly port: number;
  /** How many had to wait so far. */
  readonly kept: number;
  /** Does this while nobody is served. Rejects if those who are do not leave within half a minute: a fetch is over long before. */
  whileNobodyIsServed(work: () => Promise<void>): Promise<void>;
}

/** On 127.0.0.1, before that port of it. */
export async function startGitFront(upstreamPort: number): Promise<GitFront> {
  let served = 0;
  let kept = 0;
  let shut: Promise<void> | null = null;

  const serve = async (client: Socket): Promise<void> => {
    if (shut) {
      kept += 1;
      await shut;
    }
    served += 1;
    const upstream = connect(upstreamPort, '127.0.0.1');
    // How one of them ends is the business of both ends: they see it.
    await Promise.allSettled([pipeline(client, upstream), pipeline(upstream, client)]);
    served -= 1;
  };

  const server = createServer({ pauseOnConnect: true }, (client) => {
    void serve(client);
  });
  const end = endsAtOnce(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get kept() {
      return kept;
    },
    async whileNobodyIsServed(work) {
      const opened = Promise.withResolvers<void>();
      shut = opened.promise;
      try {
        await eventually(
          () => {
            if (served > 0) throw new Error(`${served} are served`);
          },
          { timeoutMs: 30_000 },
        );
        await work();
      } finally {
        shut = null;
        opened.resolve();
      }
    },
    [Symbol.asyncDispose]: end,
  };
}
