import type { Duplex } from 'node:stream';
import type { SignedTime } from '@fairlead/access-statement/signed-time';
import { FairleadError } from '@fairlead/errors';
import type { ShownStatement } from '@fairlead/tunnel/agent';

/** Timers do not wait for longer than about 24 days; and a clock that was set forward is noticed by then. */
const MAX_WAIT_MS = 30_000;

/** Throws STATEMENT_REVOKED. */
export function assertStands(statement: ShownStatement): void {
  const error = revokedError(statement);
  if (error) throw error;
}

/** Ends a tunnel when its statement says, or is revoked, whatever runs on it. */
export function endWith(tunnel: Duplex, statement: ShownStatement, time: SignedTime): void {
  endAt(tunnel, statement.streamsUntilMs, time);
  const look = (): void => {
    const error = revokedError(statement);
    if (error) tunnel.destroy(error);
  };
  tunnel.once('close', statement.onRevocations(look));
}

function endAt(tunnel: Duplex, untilMs: number, time: SignedTime): void {
  let timer: NodeJS.Timeout;
  const look = (): void => {
    const leftMs = untilMs - time.nowMs();
    if (leftMs <= 0)
      tunnel.destroy(new FairleadError('STATEMENT_EXPIRED', 'the access statement of this connection has ended'));
    else timer = setTimeout(look, Math.min(leftMs, MAX_WAIT_MS)).unref();
  };
  timer = setTimeout(look, 0).unref();
  tunnel.once('close', () => clearTimeout(timer));
}

function revokedError(statement: ShownStatement): FairleadError | null {
  const why = statement.whyRevoked();
  if (why === null) return null;
  return new FairleadError(
    'STATEMENT_REVOKED',
    `the access statement was revoked: ${why}; a new one is fetched now: run the command again`,
  );
}
