import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { systemClock } from '@fairlead/clock';
import type { RpcClient } from '@fairlead/messaging';
import { Registry, silentLogger } from '@fairlead/observability';
import { testAuthority, type TestCertificate } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { ApiSettings, startApi, type TlsSource } from './index.js';

/** Renewed right after somebody has looked at it for the first time, when nobody listens for that yet. */
function renewedAtOnce(first: TestCertificate, second: TestCertificate): TlsSource {
  const materials = [first, second].map(({ chainPem, privateKeyPem }) => ({ cert: chainPem, key: privateKeyPem }));
  let looks = 0;
  return {
    get current() {
      looks += 1;
      return materials[looks > 1 ? 1 : 0]!;
    },
    notAfter: new Date(),
    onChange: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

it('shows the certificate that came while it started', async () => {
  const authority = await testAuthority();
  const [first, second] = [await authority.serving(['127.0.0.1']), await authority.serving(['127.0.0.1'])];
  const settings = new ApiSettings({ publicUrl: 'https://x', doors: [], connectDoors: [], readiness: () => [] });
  await using api = await startApi({
    client: {} as RpcClient,
    settings,
    clock: systemClock,
    host: '127.0.0.1',
    port: 0,
    tls: renewedAtOnce(first, second),
    logger: silentLogger,
    registry: new Registry(),
  });
  const socket = connect({ host: '127.0.0.1', port: api.port, ca: authority.root.certificatePem });
  await once(socket, 'secureConnect');
  const shown = socket.getPeerX509Certificate()?.serialNumber;
  socket.destroy();
  expect(shown).toBe(new X509Certificate(second.certificatePem).serialNumber);
});
