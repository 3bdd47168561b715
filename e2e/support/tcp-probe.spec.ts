import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { openOf, tcpProbe } from './tcp-probe.js';

const ask = async (hosts: readonly string[], port: number): Promise<string> =>
  (await promisify(execFile)(process.execPath, ['-e', tcpProbe(hosts, port)])).stdout;

it('tells who is open, and what else it came to', async () => {
  const hosts = ['127.0.0.1'];
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect(openOf(hosts, await ask(hosts, port), [])).toEqual(hosts);
  server.close();
  await once(server, 'close');
  expect(openOf(hosts, await ask(hosts, port), ['ECONNREFUSED'])).toEqual([]);
});

it.each([
  ['a name that nobody knows', ['there-is-none.invalid'], 'ENOTFOUND'],
  ['an answer that does not count as closed here', ['127.0.0.1'], 'ECONNREFUSED'],
  ['no host at all', [], ''],
  ['a container without an address', [''], 'dropped'],
])('takes %s for no wall', (_what, hosts, printed) => {
  expect(() => openOf(hosts, printed, ['dropped'])).toThrow('TCP connections');
});
