import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { DiscoverResponseSchema } from '@fairlead/proto';
import { endsAtOnce, testAuthority } from '@fairlead/testing';

/** A gateway of somebody else. */
export interface Impostor extends AsyncDisposable {
  readonly address: string;
  /** All that it was sent, as it was once decrypted. */
  received(): Buffer;
}

/** A TLS server with a well-formed chain of its own root, which answers Discover and keeps all that it is sent. */
export async function startImpostor(rootsPem?: readonly string[]): Promise<Impostor> {
  const authority = await testAuthority();
  const { privateKeyPem, chainPem } = await authority.gateway('gateway-a');
  const chunks: Buffer[] = [];
  const server = createSecureServer({ key: privateKeyPem, cert: chainPem });
  const end = endsAtOnce(server);
  const answer = { endpoints: [], rootsPem: [...(rootsPem ?? authority.roots)], trustDomain: authority.trustDomain };
  const message = toBinary(DiscoverResponseSchema, create(DiscoverResponseSchema, answer));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
    stream.end(Buffer.concat([prefix, message]));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve());
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => Buffer.concat(chunks),
    [Symbol.asyncDispose]: end,
  };
}
