import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entryOf, type Stack } from '@fairlead/stack';
import { parseAllDocuments } from 'yaml';
import { secretScan } from './secret-scan/index.js';
import { watchProcess, type Watch } from './watching.js';

/** What an import manifest tells an agent. */
export interface Invitation {
  readonly endpoints: string;
  readonly pins: string;
  readonly trustDomain: string;
  readonly token: string;
}

export interface LooseAgentOptions {
  readonly invitation: Invitation;
  /** Contents of its identity file, if it has one already. */
  readonly identity?: string;
  /** An identity that was handed out. */
  readonly bundle?: { readonly text: string; readonly mode?: number };
  readonly env?: Readonly<Record<string, string>>;
  /** By which its API server knows it; default none that counts. */
  readonly serviceAccountToken?: string;
}

/** A real agent process outside any cluster: its identity in a file, its API server the demo's, if there is a demo. */
export interface LooseAgent extends AsyncDisposable {
  readonly watch: Watch;
  /** The next log line with this event name, parsed; past lines count. Not of a failure that only says that something took too long. */
  event(name: string, timeoutMs?: number): Promise<Record<string, unknown>>;
  identity(): Promise<string>;
  /** Puts another bundle in the place of the one that it was given. */
  replaceBundle(text: string): Promise<void>;
}

interface ManifestDocument {
  readonly kind?: string;
  /** Of a Secret, in base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly env: readonly { name: string; value: string }[] }[] };
    };
  };
}

/** Creates the cluster and redeems its import link, as the CLI does. */
export async function invite(stack: Stack, cluster: string): Promise<Invitation> {
  const created = await stack.cli(['cluster', 'create', cluster]);
  if (created.code !== 0) throw new Error(created.stderr);
  const { code, stdout, stderr } = await stack.cli(['cluster', 'import', cluster]);
  if (code !== 0) throw new Error(stderr);
  return readInvitation(stdout);
}

export function readInvitation(manifest: string): Invitation {
  const invitation = readAdoption(manifest);
  if (invitation.token === '') throw new Error('the manifest holds no bootstrap token');
  return invitation;
}

/** The same of a manifest without a token, which is empty then. */
export function readAdoption(manifest: string): Invitation {
  secretScan.issued.addGiven(manifest);
  const documents = parseAllDocuments(manifest).map((document) => document.toJS() as ManifestDocument);
  const env = new Map(
    documents
      .find(({ kind }) => kind === 'Deployment')
      ?.spec?.template.spec.containers[0]?.env.map(({ name, value }) => [name, value]),
  );
  const secrets = documents.filter(({ kind }) => kind === 'Secret').flatMap(({ data }) => Object.values(data ?? {}));
  const token = secrets.map((value) => Buffer.from(value, 'base64').toString()).find((text) => text.startsWith('fl1.'));
  const value = (name: string): string => env.get(name) ?? '';
  return {
    endpoints: value('FAIRLEAD_ENDPOINTS'),
    pins: value('FAIRLEAD_ROOT_PINS'),
    trustDomain: value('FAIRLEAD_TRUST_DOMAIN'),
    token: token ?? '',
  };
}

export async function startLooseAgent(stack: Stack, options: LooseAgentOptions): Promise<LooseAgent> {
  const kube = await apiServerOf(stack);
  const { invitation, identity, bundle, env = {}, serviceAccountToken = 'not-a-service-account-token' } = options;
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-agent-'));
  const identityFile = join(dir, 'identity.json');
  await mkdir(join(dir, 'sa'));
  await Promise.all([
    writeFile(join(dir, 'sa', 'ca.crt'), kube.caPem),
    writeFile(join(dir, 'sa', 'token'), serviceAccountToken),
    writeFile(join(dir, 'token'), invitation.token, { mode: 0o600 }),
    ...(identity === undefined ? [] : [writeFile(identityFile, identity, { mode: 0o600 })]),
    ...(bundle === undefined ? [] : [writeFile(join(dir, 'bundle.json'), bundle.text, { mode: bundle.mode ?? 0o600 })]),
  ]);
  const { hostname, port } = new URL(kube.url);
  const child = spawn(process.execPath, ['--enable-source-maps', entryOf('agent')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      FAIRLEAD_ENDPOINTS: invitation.endpoints,
      FAIRLEAD_ROOT_PINS: invitation.pins,
      FAIRLEAD_TRUST_DOMAIN: invitation.trustDomain,
      FAIRLEAD_LINKS: '1',
      FAIRLEAD_BOOTSTRAP_TOKEN_FILE: join(dir, 'token'),
      ...(bundle === undefined ? {} : { FAIRLEAD_IDENTITY_BUNDLE_FILE: join(dir, 'bundle.json') }),
      FAIRLEAD_IDENTITY: `file:${identityFile}`,
      FAIRLEAD_SERVICE_ACCOUNT_DIR: join(dir, 'sa'),
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      FAIRLEAD_HEALTH_LISTEN: '127.0.0.1:0',
      ...env,
    },
  });
  const watch = watchProcess(child);
  return {
    watch,
    event: async (name, timeoutMs = 60_000) =>
      JSON.parse(await watch.line(linesOf(name), timeoutMs)) as Record<string, unknown>,
    identity: () => readFile(identityFile, 'utf8'),
    replaceBundle: (text) => writeFile(join(dir, 'bundle.json'), text, { mode: 0o600 }),
    [Symbol.asyncDispose]: async () => {
      secretScan.hearProcess('an agent', child.pid);
      await watch[Symbol.asyncDispose]();
      secretScan.hear('the log of an agent', watch.lines.join('\n'));
      if (existsSync(identityFile))
        secretScan.issued.addIdentity('the key of an agent', await readFile(identityFile, 'utf8'));
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** On a busy machine any answer may be late. The agent asks again then, and hears what it is to hear. */
function linesOf(event: string): RegExp {
  const late = event.endsWith('.failed') ? '(?!.*(?:"code":"DEADLINE_EXCEEDED"|did not answer in time))' : '';
  return new RegExp(`^${late}.*"event":"${event}"`);
}

/** Without a demo, nothing is asked of it; but an agent wants to know whom it would trust there. */
async function apiServerOf({ demo, api }: Stack): Promise<{ url: string; caPem: string }> {
  if ('kubeInfo' in demo) return demo.kubeInfo;
  return { url: 'https://127.0.0.1:1', caPem: await readFile(api.caFile, 'utf8') };
}
