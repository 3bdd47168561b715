// @tier full: a proxy of Debian's, and IPv6, with a whole stack; libs/agent/gateway-connection.int.spec.ts and libs/observability/health-server.spec.ts show the stories
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fairlead } from '../support/fairlead.js';
import { startForwarder } from '../support/forwarder.js';
import { invite, startLooseAgent, type LooseAgent } from '../support/loose-agent.js';
import { startTestStack, type TestStack } from '../support/test-stack.js';
import { startTinyproxy, type Tinyproxy } from '../support/tinyproxy.js';

const PASSWORD = 'correct-horse-battery';
const STALE = 'no-longer-the-password';

let started: AsyncDisposableStack;
let running: TestStack;
let scratch: ScratchDir;

beforeAll(async () => {
  started = new AsyncDisposableStack();
  scratch = started.use(await scratchDir());
  running = started.use(await startTestStack({ demo: false }));
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', scratch.file('proxy.key'), '-out', scratch.file('proxy.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', '-days', '1', ...key, ...subject, ...files], { stdio: 'ignore' });
});
afterAll(() => started?.disposeAsync());

const portsOf = (endpoints: string): number[] => endpoints.split(',').map((each) => Number(each.split(':').at(-1)));

async function isOnline(cluster: string): Promise<void> {
  const shown = await fairlead(running.stack, 'cluster', 'show', cluster, '-o', 'json');
  expect((JSON.parse(shown) as { presence: { state: string } }).presence.state).toBe('online');
}

/** TLS before a proxy that has none itself; resolves to its port. */
async function underTls(proxy: Tinyproxy, ending: AsyncDisposableStack): Promise<number> {
  const [key, cert] = await Promise.all([readFile(scratch.file('proxy.key')), readFile(scratch.file('proxy.pem'))]);
  const server = createServer({ key, cert }, (client) => {
    const onward = connect(proxy.port, '127.0.0.1');
    const end = (): void => {
      client.destroy();
      onward.destroy();
    };
    for (const each of [client, onward]) each.on('error', end).on('close', end);
    client.pipe(onward).pipe(client);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  ending.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const reasonOf = async (agent: LooseAgent, what: RegExp): Promise<string> => agent.watch.line(what, 60_000);

describe('an agent behind a proxy', () => {
  it('joins through it, with the certificates and the credentials that it is given, which may change meanwhile', async () => {
    await using ending = new AsyncDisposableStack();
    const invitation = await invite(running.stack, 'behind');
    const given = { user: 'agent', password: PASSWORD, connectPorts: portsOf(invitation.endpoints) };
    const proxy = ending.use(await startTinyproxy({ ...given, file: scratch.file('tinyproxy.conf') }));
    const port = await underTls(proxy, ending);
    const credentials = scratch.file('credentials');
    await mkdir(credentials);
    const write = (name: string, text: string): Promise<void> =>
      writeFile(join(credentials, name), text, { mode: 0o600 });
    await Promise.all([write('username', 'agent\n'), write('password', STALE)]);
    const env = { HTTPS_PROXY: `https://localhost:${port}`, FAIRLEAD_PROXY_CREDENTIALS_DIR: credentials };
    const foreign = ending.use(await startLooseAgent(running.stack, { invitation, env }));
    expect(await reasonOf(foreign, /agent\.enrolment\.failed/)).toContain('self-signed certificate');
    await foreign[Symbol.asyncDispose]();
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: scratch.file('proxy.pem') };
    const agent = ending.use(await startLooseAgent(running.stack, { invitation, env: trusting }));
    expect(await reasonOf(agent, /agent\.enrolment\.failed/)).toContain('it refuses the user and password');
    await write('password', `${PASSWORD}\n`);
    await agent.event('link.established');
    await eventually(() => isOnline('behind'), { timeoutMs: 60_000 });
    expect(proxy.lines.join('\n')).toMatch(/CONNECT/);
    const said = [...agent.watch.lines, ...foreign.watch.lines].join('\n');
    expect(said).not.toMatch(new RegExp(`${PASSWORD}|${STALE}|${btoa(`agent:${PASSWORD}`)}`));
  });

  it('says what the proxy has to allow, where it does not', async () => {
    await using ending = new AsyncDisposableStack();
    const invitation = await invite(running.stack, 'forbidden');
    const given = { user: 'agent', password: PASSWORD, connectPorts: [1] };
    const proxy = ending.use(await startTinyproxy({ ...given, file: scratch.file('strict.conf') }));
    const env = { HTTPS_PROXY: `http://agent:${PASSWORD}@127.0.0.1:${proxy.port}` };
    const agent = ending.use(await startLooseAgent(running.stack, { invitation, env }));
    const reason = await reasonOf(agent, /agent\.enrolment\.failed/);
    expect(reason).toContain('answered 403: it has to allow CONNECT to that host and port');
    expect(agent.watch.lines.join('\n')).not.toContain(PASSWORD);
  });
});

it('an agent that has nothing but IPv6 joins, and answers its probes there', async () => {
  await using ending = new AsyncDisposableStack();
  const invitation = await invite(running.stack, 'six');
  const [port = 0] = portsOf(invitation.endpoints);
  const gateway = await startForwarder(() => connect(port, '127.0.0.1'), { loopback: '::1' });
  ending.use(gateway);
  const probed = await startForwarder(() => undefined, { loopback: '::1' });
  const healthPort = Number(probed.host.split(':').at(-1));
  await probed[Symbol.asyncDispose]();
  const env = { FAIRLEAD_HEALTH_LISTEN: `[::]:${healthPort}`, KUBERNETES_SERVICE_HOST: '::1' };
  const six = { ...invitation, endpoints: gateway.host };
  const agent = ending.use(await startLooseAgent(running.stack, { invitation: six, env }));
  await agent.event('link.established');
  await eventually(() => isOnline('six'), { timeoutMs: 60_000 });
  for (const host of ['[::1]', '127.0.0.1']) {
    expect((await fetch(`http://${host}:${healthPort}/healthz`)).status).toBe(200);
  }
});
