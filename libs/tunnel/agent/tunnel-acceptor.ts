import { FairleadError, assertNever, toFairleadError } from '@fairlead/errors';
import type { Http2Stream } from '@fairlead/http2';
import { assertAcceptable, type TunnelIdentity } from '@fairlead/kube-http';
import type { Logger } from '@fairlead/observability';
import type { Open } from '@fairlead/proto';
import { TunnelConnection } from '../link/index.js';
import type { KubeApiEnd, StatementEnd } from './ports.js';
import { serveTcp, type TcpTunnelOptions } from './tcp-tunnel.js';

export interface AcceptorOptions {
  readonly clusterId: string;
  readonly generation: number;
  readonly kubeApi: KubeApiEnd;
  /** Absent: none is taken, and none is asked for. */
  readonly statements?: StatementEnd | undefined;
  readonly tcp: TcpTunnelOptions;
  readonly logger: Logger;
  /** Is the link to be left? Then it takes nothing new, and no tunnel is to outlive what it carries now. */
  readonly leaving?: () => boolean;
}

/**
 * Waits on one Tunnel call for its Open and decides: the cluster and the enrolment must be ours, and the identity one
 * that may be impersonated. What a gateway says beyond that is not trusted. `onUsed` is called once: with true when an Open
 * has used it, with false when it ended parked or was refused at once.
 */
export function acceptTunnel(
  stream: Http2Stream,
  options: AcceptorOptions,
  onUsed: (used: boolean) => void,
): TunnelConnection {
  const connection = new TunnelConnection(stream, 'acceptor');
  const endedParked = (): void => onUsed(false);
  connection.once('close', endedParked);
  connection.once('open', (open: Open) => {
    connection.off('close', endedParked);
    answer(connection, open, options);
    onUsed(!connection.destroyed);
  });
  return connection;
}

function answer(connection: TunnelConnection, open: Open, options: AcceptorOptions): void {
  const { clusterId, tunnelId } = open;
  try {
    if (options.leaving?.()) throw new FairleadError('DRAINING', 'this link is being left, and takes nothing new');
    assertOurs(open, options);
    serve(connection, open, options);
    options.logger.debug('tunnel.accepted', { tunnelId, kind: open.target.case });
  } catch (error) {
    const failure = toFairleadError(error);
    options.logger.warn('tunnel.refused', { tunnelId, clusterId, code: failure.code, reason: failure.message });
    connection.refuse(failure);
  }
}

function assertOurs(open: Open, { clusterId, generation }: AcceptorOptions): void {
  if (open.clusterId !== clusterId) {
    throw new FairleadError('WRONG_CLUSTER', 'the request was meant for another cluster than the one it reached');
  }
  if (open.generation > generation) {
    throw new FairleadError(
      'NO_SESSION',
      `this agent holds enrolment ${generation}, which was replaced by ${open.generation}`,
    );
  }
}

function serve(connection: TunnelConnection, open: Open, options: AcceptorOptions): void {
  const { target } = open;
  switch (target.case) {
    case 'kubeApi': {
      const { statement, ...identity } = target.value;
      assertAcceptable(identity);
      if (statement.length > 0) void serveStated(connection, open, options, { identity, statement });
      else serveUnstated(connection, open, options, identity);
      return;
    }
    case 'tcp':
      void serveTcp(connection, open, target.value, options.tcp);
      return;
    case undefined:
      throw new FairleadError('INVALID_ARGUMENT', 'the Open names no target this agent knows');
    default:
      assertNever(target);
  }
}

function serveUnstated(
  connection: TunnelConnection,
  open: Open,
  { kubeApi, statements, logger, leaving }: AcceptorOptions,
  identity: TunnelIdentity,
): void {
  if (statements?.required) throw statementRequired();
  connection.accept();
  tellEnd(connection, open, logger);
  const look = (): void => void (statements?.required && connection.destroy(statementRequired()));
  if (statements) connection.once('close', statements.onRequired(look));
  kubeApi.serve(connection, identity, leaving);
}

function statementRequired(): FairleadError {
  const what = 'this cluster serves nobody without an access statement';
  return new FairleadError('STATEMENT_REQUIRED', `${what}: make a new kubeconfig with: fairlead kubeconfig`);
}

/** Never rejects. */
async function serveStated(
  connection: TunnelConnection,
  open: Open,
  { kubeApi, statements, clusterId, logger, leaving }: AcceptorOptions,
  asked: { readonly identity: TunnelIdentity; readonly statement: Uint8Array },
): Promise<void> {
  const { tunnelId } = open;
  try {
    if (!statements) throw new FairleadError('STATEMENT_REFUSED', 'this agent takes no access statements');
    const statement = await statements.open(asked.statement, { clusterId });
    if (connection.destroyed) return;
    connection.accept();
    tellEnd(connection, open, logger);
    kubeApi.serve(connection, asked.identity, leaving, statement);
  } catch (error) {
    const failure = toFairleadError(error);
    logger.warn('tunnel.refused', { tunnelId, clusterId, code: failure.code, reason: failure.message });
    if (!connection.destroyed) connection.refuse(failure);
  }
}

/** Requests to the kube-apiserver are in the gateway's log; here is one line for the tunnel that carried them. */
function tellEnd(connection: TunnelConnection, { tunnelId }: Open, logger: Logger): void {
  const startedMs = performance.now();
  connection.once('close', () => {
    const cause = connection.errored ? toFairleadError(connection.errored).code : 'COMPLETE';
    const durationMs = Math.round(performance.now() - startedMs);
    logger.info('tunnel.closed', { tunnelId, kind: 'kubeApi', cause, durationMs });
  });
}
