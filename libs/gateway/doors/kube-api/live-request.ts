import type { FairleadError } from '@fairlead/errors';
import type { Directory } from '../../directory.js';
import type { LiveConnections } from '../../passage/live-connections.js';
import { whyShutOut } from './authorize.js';
import { breakOff, type Exchange } from './forward.js';

/** A request among what goes through the doors, from its admission to its end. */
export interface LiveRequest extends Pick<Exchange, 'bytes' | 'signal'> {
  /** Why it was broken off by us, if it was. */
  endedBy(): FairleadError | undefined;
  forget(): void;
}

export interface LiveRequestOptions {
  readonly directory: Directory;
  readonly live: LiveConnections;
}

export function liveRequest(
  { directory, live }: LiveRequestOptions,
  { incoming, outgoing, admission, requestId, address }: Omit<Exchange, 'bytes' | 'signal'>,
): LiveRequest {
  const { cluster, principal } = admission;
  const bytes = { up: 0, down: 0 };
  const ending = new AbortController();
  let endedBy: FairleadError | undefined;
  const forget = live.add({
    door: 'kube-api',
    id: requestId,
    who: principal.user,
    tenantId: cluster.tenantId,
    clusterId: cluster.clusterId,
    address,
    sinceMs: Date.now(),
    bytesUp: () => bytes.up,
    bytesDown: () => bytes.down,
    heldBytes: () => incoming.readableLength + (outgoing.writableLength ?? 0),
    refusedNow: () => whyShutOut(directory, admission),
    end: (cause) => {
      endedBy = cause;
      // The client must see that an answer is not whole; one that has not begun can still say why.
      if (outgoing.headersSent) breakOff(outgoing);
      else ending.abort(cause);
      // One that is complete has left its HTTP/1.1 connection to the rest of the request.
      if (outgoing.headersSent && incoming.httpVersionMajor < 2) incoming.destroy();
    },
  });
  return { bytes, signal: ending.signal, endedBy: () => endedBy, forget };
}
