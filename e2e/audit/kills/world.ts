import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import type { AnyWorld } from '../../chaos/any-world.js';
import { Journal } from '../../chaos/journal.js';
import { fairlead } from '../../support/fairlead.js';
import { https } from '../../support/https.js';
import { isReady } from '../../support/replicas.js';
import { adminToken, kubectl, scratchStateDir, sessionsOf, startTestStack } from '../../support/test-stack.js';
import { Load, type Asking } from './load.js';
import { spoolDisk, type SpoolDisk } from './spool-disk.js';

const WORKERS = 8;
const WHOLE_TIMEOUT_MS = 120_000;
/** Its disk can be made full. */
export const ON_SMALL_DISK = 'gateway-b';
/** What ten minutes without NATS take. Its files are of 4 MiB then; where a full disk is a matter of rights, those of the smallest spool are of 256 KiB. */
const SPOOL_BYTES = process.getuid?.() === 0 ? 1024 ** 3 : 8 * 1024 ** 2;

/** Two replicas that keep the audit as `required`, a cluster that both have a link to, and somebody who may read and write its ConfigMaps. */
export interface AuditWorld extends AnyWorld {
  readonly stack: Stack;
  readonly journal: Journal;
  /** Of `gateway-b`. */
  readonly disk: SpoolDisk;
  startLoad(options: { readonly requests: number; readonly perSecond: number | undefined }): Load;
  /** Where the load that was started last says what it did. */
  readonly toldFile: string;
}

export async function startAuditWorld(): Promise<AuditWorld> {
  await using starting = new AsyncDisposableStack();
  const [stateDir, journal] = [await scratchStateDir(), new Journal()];
  const disk = starting.use(await spoolDisk(stateDir, ON_SMALL_DISK));
  const env = {
    gateway: { FAIRLEAD_AUDIT: 'required', FAIRLEAD_AUDIT_SPOOL_BYTES: String(SPOOL_BYTES) },
    // As short as it may be: so long nobody says of a killed gateway's beginnings that their end is unknown.
    audit: { FAIRLEAD_AUDIT_UNKNOWN_SECONDS: '15' },
  };
  const { stack } = starting.use(await startTestStack({ stateDir, links: 2, env, log: journal.hear }));
  const asking = await askingOf(stack);
  const owned = starting.move();
  let loads = 0;
  const world: AuditWorld = {
    stack,
    journal,
    disk,
    get toldFile() {
      return join(stateDir, `told-${loads}.ndjson`);
    },
    startLoad: (options) => {
      loads += 1;
      return new Load({ ...options, asking, file: world.toldFile });
    },
    whole: () => eventually(() => requireWhole(stack), { timeoutMs: WHOLE_TIMEOUT_MS, intervalMs: 200 }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  return world;
}

/** Makes a user and what it asks for. */
async function askingOf(stack: Stack): Promise<Asking> {
  const tokenFile = join(stack.stateDir, 'load.token');
  await fairlead(stack, 'api-token', 'create', 'load', '--for', '24h', '--out', tokenFile);
  const may = ['--role', 'edit', '--cluster', 'demo', '--for', '24h', '--reason', 'makes a load'];
  await fairlead(stack, 'grant', 'create', '--token', 'load', ...may);
  const names = Array.from({ length: WORKERS }, (_none, at) => `load-${at}`);
  await eventually(() => requireWhole(stack), { timeoutMs: WHOLE_TIMEOUT_MS, intervalMs: 200 });
  const items = names.map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
  await kubectl(stack, 'gateway-a', ['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  return {
    doors: stack.gateways.map(({ doorUrl }) => doorUrl),
    caPem: await readFile(stack.api.caFile, 'utf8'),
    token: (await readFile(tokenFile, 'utf8')).trim(),
    objects: names.map((name) => `/clusters/demo/api/v1/namespaces/default/configmaps/${name}`),
  };
}

async function requireWhole(stack: Stack): Promise<void> {
  for (const gateway of stack.gateways) {
    if (!(await isReady(gateway))) throw new Error(`${gateway.name} is not ready`);
    if ((await sessionsOf(gateway.healthUrl)) === 0) throw new Error(`the agent has no link to ${gateway.name}`);
    await asAdministrator(stack, `${gateway.doorUrl}/clusters/demo/api/v1/namespaces/default`);
  }
  await asAdministrator(stack, `${stack.api.url}/v1/audit/producers`);
}

/** What is answered, as JSON. A command of its own would take a second of the machine for each look. */
export async function asAdministrator(stack: Stack, url: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${await adminToken(stack)}` };
  const { status, body } = await https(stack, url, { headers });
  if (status !== 200) throw new Error(`${url}: ${status} ${body}`);
  return JSON.parse(body);
}
