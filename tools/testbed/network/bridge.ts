/**
 * Bridges between two networks: what is dialled in one is carried, over a Unix socket, to a port in the other. Unix sockets that
 * have a path know no network. This file is also the program that does so inside a namespace, until the process that started it
 * is gone; Node runs it from source too, so it imports nothing of ours.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Place = { readonly path: string } | { readonly host: string; readonly port: number };

/** What the program is asked. */
export interface Wish {
  readonly id: number;
  readonly from: Place;
  readonly to: Place;
}

/** What it says: first in which folder the Unix sockets are to be, then an answer to each wish. */
export type Said = { readonly sockets: string } | { readonly id: number; readonly failed?: string };

/** Listens at `from`, and carries each connection to `to`; closes it at once when nobody is there. Rejects if it cannot listen. */
export async function carry(from: Place, to: Place): Promise<AsyncDisposable> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ ...to, allowHalfOpen: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.once('close', () => open.delete(one));
      // There is nobody to tell but the other side, which sees its connection end.
      one.on('error', () => other.destroy());
      one.pipe(other);
    }
  });
  server.listen(from);
  await once(server, 'listening');
  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

function serveParent(): void {
  const sockets = mkdtempSync(join(tmpdir(), 'fairlead-net-'));
  const say = (said: Said): void => void process.send?.(said);
  process.on('message', ({ id, from, to }: Wish) => {
    carry(from, to).then(
      () => say({ id }),
      (error: unknown) => say({ id, failed: String(error) }),
    );
  });
  process.once('disconnect', () => {
    rmSync(sockets, { recursive: true, force: true });
    process.exit();
  });
  say({ sockets });
}

if (import.meta.main) serveParent();
