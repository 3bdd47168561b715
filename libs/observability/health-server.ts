import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
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

/** `/healthz` (the process answers), `/readyz` (it can do its work, with the reasons), `/metrics` (Prometheus). */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  meterChecks(options);
  meterProcess(options.registry);
  const server = createServer((request, response) => {
    void answer(options, request.url ?? '/', response);
  });
  server.requestTimeout = 10_000;
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

async function answer(options: HealthServerOptions, url: string, response: ServerResponse): Promise<void> {
  const path = url.split('?', 1)[0] ?? '/';
  const view = options.views?.[path];
  if (path === '/healthz') send(response, 200, 'text/plain', 'ok\n');
  else if (path === '/readyz') sendReadiness(response, options.readiness());
  else if (path === '/metrics') send(response, 200, options.registry.contentType, await options.registry.metrics());
  else if (view) send(response, 200, 'application/json', `${JSON.stringify(view(), null, 2)}\n`);
  else send(response, 404, 'text/plain', 'not found: try /healthz, /readyz or /metrics\n');
}

function sendReadiness(response: ServerResponse, checks: readonly Check[]): void {
  const ready = checks.every((check) => check.ok);
  send(response, ready ? 200 : 503, 'application/json', `${JSON.stringify({ ready, checks }, null, 2)}\n`);
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}
