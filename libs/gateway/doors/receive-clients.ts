// What a door for programs does with connections before anything is asked on them, whatever its protocol: TLS with a client certificate.
import type { Server, TLSSocket } from 'node:tls';
import { FairleadError } from '@fairlead/errors';
import { RateLimitedLog, clientAddressOf } from '@fairlead/limits';
import { withoutRoot } from '@fairlead/pki';
import { noteRefusedHandshake, refusedAddressOf } from '../audit/refused-handshakes.js';
import type { ConnectionShares } from '../limits/connection-shares.js';
import type { DoorName } from '../passage/door-table.js';
import { identifyClient } from './connect/admission.js';
import type { ConnectDoorOptions } from './connect/connect-context.js';
import { NO_CERTIFICATE, NO_PROTOCOL, type HeldOffenders } from './hold-offenders.js';

type ReceivingDoor = Omit<ConnectDoorOptions, 'limits'>;

/**
 * To be called before the server listens, which asks for certificates (`requestCert`) and refuses all that no root of ours has signed. Certificates are
 * always the newest; handshakes that failed are on record; a client's connection counts as its own. Of a client that has too many, the socket is
 * destroyed when later listeners of `secureConnection` see it. `offenders` are those of this server.
 */
export function receiveClients(
  server: Server,
  door: DoorName,
  options: ReceivingDoor,
  connections: ConnectionShares,
  offenders: HeldOffenders,
): void {
  useCertificates([server, offenders], options);
  const lines = new RateLimitedLog();
  server.on('secureConnection', (socket) => admitClient(door, options, connections, lines, socket));
  tellHandshakes(server, door, options, offenders);
}

/**
 * A chain of our roots is not enough: agents and gateways have one, and so have clients that were deleted or revoked. Who is no client is told so
 * once it asks, within the time for that, and is among the unauthenticated until then. What a client has beyond its slots is closed unheard.
 */
function admitClient(
  door: DoorName,
  { directory, trustDomain, metrics, logger }: ReceivingDoor,
  connections: ConnectionShares,
  lines: RateLimitedLog,
  socket: TLSSocket,
): void {
  let clientId: string | undefined;
  try {
    clientId = identifyClient(directory, trustDomain, socket).client.clientId;
    connections.admit(socket, socket, clientId);
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error;
    if (clientId === undefined) return;
    socket.destroy();
    metrics.refusals.inc({ door, code: error.code });
    const line = lines.next({ address: clientAddressOf(socket), user: clientId });
    if (line) logger.warn(`${door}.crowded`, { clientId, reason: error.message, ...line });
  }
}

/** New connections get the newest of both; those that stand are not touched. */
function useCertificates(
  servers: readonly Pick<Server, 'setSecureContext'>[],
  { serving, identity }: ReceivingDoor,
): void {
  const apply = (): void => {
    if (!serving.current || !identity.current) return;
    const { keyPem, chainPem } = serving.current;
    const ca = [...identity.current.rootsPem];
    const context = { key: keyPem, cert: withoutRoot(chainPem).join('\n'), ca, minVersion: 'TLSv1.3' } as const;
    for (const server of servers) server.setSecureContext(context);
  };
  serving.onChange(apply);
  identity.onChange(apply);
}

/** Who showed no certificate of ours did not get as far as to ask for anything. */
function tellHandshakes(
  server: Server,
  door: DoorName,
  { metrics, events, audit, logger }: ReceivingDoor,
  offenders: HeldOffenders,
): void {
  const lines = new RateLimitedLog();
  const tell = (address: string, reason: string): void => {
    const line = lines.next({ address });
    if (line) logger.info('tls.handshake.failed', { address, reason, door, ...line });
  };
  const count = (address: string, reason: string): void => {
    const code = 'CERTIFICATE_REFUSED';
    metrics.passages[door].inc({ outcome: code });
    metrics.refusals.inc({ door, code });
    events.accessRefused({ code, reason, address, door });
  };
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    const address = refusedAddressOf(socket);
    const reason = String(socket.authorizationError ?? error.message);
    if (noteRefusedHandshake(audit, door, error, socket)) offenders.note(address);
    tell(address, reason);
    if (socket.authorizationError || error.code === NO_CERTIFICATE) count(address, reason);
  });
  offenders.onRefused((cause, address) => {
    audit.handshake(door, cause, address);
    tell(address, cause);
    if (cause !== NO_PROTOCOL) count(address, cause);
  });
}
