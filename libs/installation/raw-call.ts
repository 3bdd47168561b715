import { once } from 'node:events';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { AgentLinkService } from '@fairlead/proto';

export interface RawAnswer {
  /** gRPC's status code; `undefined` as text if there was none. */
  readonly status: string;
  readonly message: string;
}

/** Sends one message to a method of the agents' link, as gRPC has it, and waits for its end. `keepsOpen`: this side does not end. */
export async function rawCall(
  session: ClientHttp2Session,
  method: string,
  message: Uint8Array,
  { keepsOpen = false } = {},
): Promise<RawAnswer> {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/${AgentLinkService.typeName}/${method}`,
    'content-type': 'application/grpc+proto',
    te: 'trailers',
  });
  const said: IncomingHttpHeaders = {};
  stream.on('response', (headers) => Object.assign(said, headers));
  stream.on('trailers', (trailers) => Object.assign(said, trailers));
  stream.resume();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.write(Buffer.concat([prefix, message]));
  if (!keepsOpen) stream.end();
  await once(stream, 'close');
  return { status: String(said['grpc-status']), message: decodeURIComponent(String(said['grpc-message'])) };
}
