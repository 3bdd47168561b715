import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '@fairlead/errors';
import { KeyedRateLimit, NetworkConcurrencyLimit, networkOf, type Rate } from '@fairlead/limits';
import type { Registry } from 'prom-client';
import { gaugeAtScrape } from './gauge-at-scrape.js';
import { meterProcess } from './process-metrics.js';

/** One reason to be, or not to be, ready. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail?: string;
}

export interface HealthServerOptions {
  /** `::`: all addresses of both families, or of IPv4 where the kernel knows no other. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Called for each `/readyz`; must answer at once, from memory. */
  readonly readiness: () => readonly Check[];
  readonly registry: Registry;
  /** Further GET paths that answer JSON, such as a debug view. */
  readonly views?: Readonly<Record<string, () => unknown>>;
}

export interface HealthServer extends AsyncDisposable {
  readonly port: number;
}

/** Whoever reaches the pod reaches this port: nobody is to keep the probes out, or the process from its work. */
const CONNECTIONS = { total: 256, perNetwork: 32 };
/** Of one network. A kubelet asks less than once a second, and Prometheus less still. */
const REQUESTS: Rate = { burst: 200, perSecond: 100 };
/** How much longer than it took to make something large it is left alone then. */
const PAUSE_FACTOR = 4;

/** `/healthz` (the process answers), `/readyz` (it can do its work, with the reasons), `/metrics` (Prometheus). */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  meterChecks(options);
  meterProcess(options.registry);
  const requests = new KeyedRateLimit(REQUESTS);
  const answers = answersOf(options);
  const server = createServer((request, response) => {
    if (requests.take(networkOf(request.socket.remoteAddress ?? ''), performance.now()))
      void answer(answers, request.url ?? '/', response);
    else request.socket.destroy();
  });
  server.requestTimeout = 10_000;
  server.headersTimeout = 10_000;
  boundConnections(server);
  // Without a host Node does what `::` is to mean.
  server.listen(options.port, ...(options.host === '::' ? [] : [options.host]));
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function meterChecks({ registry, readiness }: HealthServerOptions): void {
  gaugeAtScrape(
    registry,
    {
      name: 'fairlead_ready_check',
      help: 'What /readyz looks at, by check: 1 is well, 0 is not.',
      labelNames: ['check'],
    },
    (gauge) => {
      gauge.reset();
      for (const { name, ok } of readiness()) gauge.set({ check: name }, ok ? 1 : 0);
    },
  );
}

function boundConnections(server: Server): void {
  const connections = new NetworkConcurrencyLimit(CONNECTIONS);
  server.on('connection', (socket: Socket) => {
    const release = connections.take(socket.remoteAddress ?? '');
    if (release) socket.once('close', release);
    else socket.destroy();
  });
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

type Answers = Readonly<Record<string, () => Answer | Promise<Answer>>>;

function answersOf({ registry, readiness, views = {} }: HealthServerOptions): Answers {
  const viewed = Object.entries(views).map(([path, view]) => [path, rarely(() => json(200, view()))] as const);
  return {
    ...Object.fromEntries(viewed),
    '/healthz': () => ({ status: 200, type: 'text/plain', body: 'ok\n' }),
    '/readyz': () => readinessOf(readiness()),
    '/metrics': rarely(async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() })),
  };
}

/** Whoever asks before it is made again gets the same; what was made for others before is given to nobody who asked later. */
function rarely(make: () => Answer | Promise<Answer>): () => Promise<Answer> {
  let pause: Promise<unknown> = Promise.resolve();
  let next: Promise<Answer> | undefined;
  const makeIt = (): Promise<Answer> => {
    next = undefined;
    const beganMs = performance.now();
    const made = Promise.resolve().then(make);
    const over = (): Promise<void> => wait(PAUSE_FACTOR * (performance.now() - beganMs), undefined, { ref: false });
    pause = made.then(over, over);
    return made;
  };
  return () => (next ??= pause.then(makeIt));
}

async function answer(answers: Answers, url: string, response: ServerResponse): Promise<void> {
  const made = Object.hasOwn(answers, pathOf(url)) ? answers[pathOf(url)] : undefined;
  try {
    send(response, made ? await made() : NOT_FOUND);
  } catch (error) {
    send(response, { status: 500, type: 'text/plain', body: `it cannot be made: ${messageOf(error)}\n` });
  }
}

const NOT_FOUND: Answer = {
  status: 404,
  type: 'text/plain',
  body: 'not found: try /healthz, /readyz or /metrics\n',
};

const pathOf = (url: string): string => url.split('?', 1)[0] ?? '/';

function readinessOf(checks: readonly Check[]): Answer {
  const ready = checks.every((check) => check.ok);
  return json(ready ? 200 : 503, { ready, checks });
}

function json(status: number, said: unknown): Answer {
  return { status, type: 'application/json', body: `${JSON.stringify(said, null, 2)}\n` };
}

function send(response: ServerResponse, { status, type, body }: Answer): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}
