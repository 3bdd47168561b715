import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@fairlead/clock';
import { startStack, type Demo, type GatewayAddresses, type Stack, type StackProcess } from '@fairlead/stack';
import { findBinary, freePort } from '@fairlead/testbed';
import { parse } from 'yaml';
import { z } from 'zod';
import { BenchError } from '../process/bench-error.js';
import { Program } from '../process/program.js';
import { createApiObjects } from './api-objects.js';
import { writeCertificates } from './certificates.js';
import { linksAt } from './metrics.js';
import type { StartOptions, Systems } from './start-systems.js';
import { PLAIN, type KubeApi, type Part, type System } from './system.js';
import { killed, runningPid } from './through-gateways.js';

const Announcement = z.object({ address: z.string() });
const AdminKubeconfig = z.object({
  users: z.tuple([
    z.object({ user: z.object({ 'client-certificate-data': z.base64(), 'client-key-data': z.base64() }) }),
  ]),
});

/** A kube-apiserver as `npm start` has it, and the ways to it. */
interface Place {
  readonly stack: Stack;
  readonly demo: Demo;
  /** As its administrator. */
  readonly direct: Required<Omit<KubeApi, 'token'>>;
  readonly options: StartOptions;
}

/** Starts a whole installation with its demo cluster, and every wanted way to that cluster's API. */
export async function startApiSystems(options: StartOptions, owned: AsyncDisposableStack): Promise<Systems> {
  const { wanted } = options;
  const place = await openPlace(options, owned);
  const systems: System[] = [entering('direct', place.direct, {})];
  if (wanted.includes('kubectl-proxy')) systems.push(await startKubectlProxy(place, owned));
  if (wanted.includes('reverse-proxy-go')) systems.push(await startReverseProxy(place, owned));
  systems.push(...(await throughDoors(place)));
  return { near: systems.filter(({ name }) => wanted.includes(name)), far: [] };
}

async function openPlace(options: StartOptions, owned: AsyncDisposableStack): Promise<Place> {
  const { dir, say, signal } = options;
  const stateDir = join(dir, 'fairlead');
  await mkdir(stateDir);
  await chmod(stateDir, 0o711);
  const stack = owned.use(
    await startStack({
      stateDir: join(stateDir, 'state'),
      basePort: 0,
      demoNode: true,
      restart: false,
      signal,
      log: (event) => {
        if (event.kind === 'progress') say(event.text);
      },
    }),
  );
  const { demo } = stack;
  if ('unavailable' in demo) throw new BenchError(`there is no demo cluster: ${demo.unavailable}`);
  if (demo.pod && 'unavailable' in demo.pod) throw new BenchError(`there is no demo pod: ${demo.pod.unavailable}`);
  say('making what is asked for');
  await createApiObjects(demo.adminKubeconfigPath);
  const { user } = AdminKubeconfig.parse(parse(await readFile(demo.adminKubeconfigPath, 'utf8'))).users[0];
  const pem = (data: string): string => Buffer.from(data, 'base64').toString();
  const direct = {
    url: demo.kubeInfo.url,
    caPem: demo.kubeInfo.caPem,
    certPem: pem(user['client-certificate-data']),
    keyPem: pem(user['client-key-data']),
  };
  return { stack, demo, direct, options };
}

/** A way to the API, by processes of ours or none. */
function entering(
  name: System['name'],
  api: KubeApi,
  programs: Readonly<Partial<Record<Part, Pick<Program, 'pid' | 'kill' | 'start'>>>>,
): System {
  return {
    name,
    entrance: { way: PLAIN, target: '', banner: '', api },
    pids: (part) => (programs[part] ? [programs[part].pid] : []),
    kill: async (part) => programs[part]?.kill(),
    start: async (part) => programs[part]?.start(),
  };
}

async function startKubectlProxy({ demo, options }: Place, owned: AsyncDisposableStack): Promise<System> {
  const [kubectl, port] = [await findBinary('kubectl'), await freePort()];
  const program = owned.use(
    new Program({
      name: 'kubectl proxy',
      command: [kubectl.path, 'proxy', `--kubeconfig=${demo.adminKubeconfigPath}`, `--port=${port}`],
      logPath: join(options.dir, 'kubectl-proxy.log'),
    }),
  );
  await program.start();
  return entering('kubectl-proxy', { url: `http://127.0.0.1:${port}`, caPem: '' }, { gateway: program });
}

/** Two processes, mutual TLS to each and between them, as a gateway and an agent stand behind each other. */
async function startReverseProxy({ direct, options }: Place, owned: AsyncDisposableStack): Promise<System> {
  const { programs, dir } = options;
  const folder = join(dir, 'reverse-proxy');
  const between = await writeCertificates(folder, ['127.0.0.1']);
  const admin = join(dir, 'reverse-proxy-admin');
  await mkdir(admin, { mode: 0o700 });
  const files = { 'ca.crt': direct.caPem, 'client.crt': direct.certPem, 'client.key': direct.keyPem };
  for (const [name, pem] of Object.entries(files)) await writeFile(join(admin, name), pem, { mode: 0o600 });
  const ports = { gateway: await freePort(), agent: await freePort() };
  const hop = (part: Part, dial: string, next: string): Program =>
    owned.use(
      new Program({
        name: `the reverse proxy (${part})`,
        command: [programs.apiproxy, '-listen', `127.0.0.1:${ports[part]}`, '-accept', folder, '-dial', dial, next],
        logPath: join(dir, `reverse-proxy-${part}.log`),
      }),
    );
  const [gateway, agent] = [
    hop('gateway', folder, `https://127.0.0.1:${ports.agent}`),
    hop('agent', admin, direct.url),
  ];
  await agent.announced(Announcement);
  await gateway.announced(Announcement);
  const { caPem, clientCertPem: certPem, clientKeyPem: keyPem } = between;
  const api = { url: `https://127.0.0.1:${ports.gateway}`, caPem, certPem, keyPem };
  return entering('reverse-proxy-go', api, { gateway, agent });
}

/** Which replica the agent is linked to: another one, maybe, whenever it is started anew. */
interface Link {
  holder: GatewayAddresses;
  other: GatewayAddresses;
}

/** By the replica that holds the agent's link, and by the other one. */
async function throughDoors({ stack, demo, options: { signal } }: Place): Promise<System[]> {
  const [token = '', caPem = ''] = await Promise.all(
    [stack.api.adminTokenFile, stack.api.caFile].map((file) => readFile(file, 'utf8')),
  );
  const link = await currentLink(stack, signal);
  const agent = stack.process(`agent-${demo.clusterName}`);
  const through = (name: System['name'], doors: () => readonly [GatewayAddresses, ...GatewayAddresses[]]): System => {
    const processes = (part: Part): readonly StackProcess[] =>
      part === 'agent' ? [agent] : doors().map((door) => stack.process(door.name));
    // The agent may link to either replica then: one that was not started anew would hold memory of what was before.
    const anew = (part: Part): readonly StackProcess[] =>
      part === 'agent' ? [agent] : stack.gateways.map((gateway) => stack.process(gateway.name));
    return {
      name,
      get entrance() {
        const url = `${doors()[0].doorUrl}/clusters/${demo.clusterName}`;
        return { way: PLAIN, target: '', banner: '', api: { url, caPem, token: token.trim() } };
      },
      pids: (part) => processes(part).map(runningPid),
      kill: async (part) => void (await Promise.all(anew(part).map(killed))),
      start: async (part) => {
        await Promise.all(anew(part).map((process) => process.restart()));
        if (part === 'agent') Object.assign(link, await currentLink(stack, signal));
      },
    };
  };
  return [through('fairlead', () => [link.holder]), through('fairlead-relayed', () => [link.other, link.holder])];
}

const LINK_TIMEOUT_MS = 30_000;
const POLL_MS = 100;

async function currentLink({ gateways }: Stack, signal: AbortSignal): Promise<Link> {
  const until = systemClock.monotonicMs() + LINK_TIMEOUT_MS;
  while (systemClock.monotonicMs() < until) {
    const held = await Promise.all(gateways.map(({ healthUrl }) => linksAt(healthUrl)));
    const at = held.findIndex((links) => links > 0);
    const [holder, other] = [gateways[at], gateways[1 - at]];
    if (holder && other) return { holder, other };
    await systemClock.sleep(POLL_MS, signal);
  }
  throw new BenchError('no gateway holds a link of the demo cluster');
}
