import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, isAbsolute, join, normalize } from 'node:path';
import { fullJitterMs, systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import { StackError } from '../errors.js';
import { reachableByOthers } from '../state/state-dir.js';
import { adminKubectl, type AdminKubectl } from './admin-kubectl.js';
import { NAMESPACE, readAgentPod, readAgentSecret, type PodSpec } from './pod-spec.js';

/** The cluster that a pod belongs to, and where the sandbox is. */
export interface SandboxOptions extends AdminKubectl {
  /** Holds what the pod would find mounted. */
  readonly dir: string;
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** What a kubelet gives a container. Paths are of this machine. */
interface Sandbox {
  readonly env: Readonly<Record<string, string>>;
}

const TOKEN_LIFE = '1h';
const REFRESH_MS = 10 * 60_000;
const RETRY = { baseMs: 1_000, capMs: 30_000 };

/**
 * Does for the agent's pod what a kubelet does: reads the Deployment from the API server, writes Secret volumes and the
 * service account's token below `dir` as files of `user`, and makes the environment, with mount paths turned into real ones.
 */
export async function materialiseSandbox(options: SandboxOptions, user: User | undefined): Promise<Sandbox> {
  const pod = await readAgentPod(options);
  if (pod === null)
    throw new StackError(`the cluster has no Deployment for the agent: apply its import manifest first`);
  makeFolder(options.dir, user);
  const mounts = await writeVolumes(options, pod, user);
  await refreshToken(options, user);
  const { hostname, port } = new URL(options.kube.url);
  const [container] = pod.containers;
  const given = container.env.map(({ name, value }) => [name, realValue(name, value, mounts)] as const);
  return {
    env: {
      ...Object.fromEntries(given),
      FAIRLEAD_SERVICE_ACCOUNT_DIR: serviceAccountDir(options),
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port || '443',
    },
  };
}

/** Keeps the service account's token fresh until the signal; a failure is said and tried again. Never rejects. */
export async function keepTokenFresh(
  options: SandboxOptions,
  user: User | undefined,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      await systemClock.sleep(failures === 0 ? REFRESH_MS : fullJitterMs(failures, RETRY), signal);
      await refreshToken(options, user);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      say(`the service account token could not be refreshed: ${messageOf(error)}`);
    }
  }
}

/** A fresh token of the agent's service account, put in place in one step, as a kubelet does long before the old one expires. */
async function refreshToken(options: SandboxOptions, user: User | undefined): Promise<void> {
  const asked = ['create', 'token', 'fairlead-agent', '--namespace', NAMESPACE, `--duration=${TOKEN_LIFE}`];
  const token = (await adminKubectl(options, asked)).trim();
  const dir = serviceAccountDir(options);
  makeFolder(dir, user);
  writeOwned(join(dir, 'token'), token, 0o400, user);
  writeOwned(join(dir, 'ca.crt'), options.kube.caPem, 0o400, user);
  writeOwned(join(dir, 'namespace'), NAMESPACE, 0o400, user);
}

/**
 * The user that the pod asks for, if we may become it and it could reach its files; undefined means our own. Only root
 * may run a process as somebody else, and a repository below a private home is out of that user's reach.
 */
export async function sandboxUser(options: SandboxOptions, programs: readonly string[]): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const mode = (folder: string): number => statSync(folder).mode;
  mkdirSync(options.dir, { recursive: true, mode: 0o711 });
  if (![options.dir, process.execPath, ...programs].every((path) => reachableByOthers(path, mode))) return undefined;
  const pod = await readAgentPod(options);
  if (pod === null) return undefined;
  return { uid: pod.securityContext.runAsUser, gid: pod.securityContext.runAsGroup };
}

async function writeVolumes(
  options: SandboxOptions,
  pod: PodSpec,
  user: User | undefined,
): Promise<ReadonlyMap<string, string>> {
  const mounts = new Map<string, string>();
  for (const { name, secret } of pod.volumes) {
    const values = await readAgentSecret(options, secret.secretName);
    if (values === null && secret.optional !== true) throw new StackError(`there is no Secret ${secret.secretName}`);
    const folder = join(options.dir, `volume-${basename(name)}`);
    rmSync(folder, { recursive: true, force: true });
    makeFolder(folder, user);
    for (const [key, value] of values ?? []) writeOwned(join(folder, basename(key)), value, secret.defaultMode, user);
    for (const mount of pod.containers[0].volumeMounts) if (mount.name === name) mounts.set(mount.mountPath, folder);
  }
  return mounts;
}

/** A variable of the pod, for a process of this machine. `StackError` for a path that is not below a mount: it is one of this machine, which the pod has not. */
export function realValue(name: string, value: string, mounts: ReadonlyMap<string, string>): string {
  const isPath = /_(FILE|DIR)$/.test(name) || isAbsolute(value) || value.startsWith('file:');
  if (!isPath || value === '') return value;
  const path = normalize(value);
  for (const [mountPath, folder] of mounts) {
    if (path === mountPath || path.startsWith(`${mountPath}/`)) return folder + path.slice(mountPath.length);
  }
  throw new StackError(`the agent's Deployment names ${value} (${name}), which none of its volumes has`);
}

function serviceAccountDir(options: SandboxOptions): string {
  return join(options.dir, 'serviceaccount');
}

/** It stays ours, as what is in it is replaced by us: whose folder it were could lay a link to another place. The files are the user's, by name. */
function makeFolder(path: string, user: User | undefined): void {
  const mode = user ? 0o711 : 0o700;
  mkdirSync(path, { recursive: true, mode });
  chmodSync(path, mode);
  // Of an installation from before it was.
  if (user) chownSync(path, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
}

function writeOwned(path: string, value: string | Buffer, mode: number, user: User | undefined): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, value, { mode });
  if (user) chownSync(temporary, user.uid, user.gid);
  renameSync(temporary, path);
}
