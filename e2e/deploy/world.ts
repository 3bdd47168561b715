import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROLES } from '@fairlead/contracts';
import { REPOSITORY } from '@fairlead/stack';
import {
  NATS_IMAGE,
  POSTGRES_IMAGE,
  POSTGRES_USER,
  findBinary,
  programImage,
  serverImages,
  startDockerEngine,
  type DockerEngine,
  type ImageSpec,
} from '@fairlead/testbed';
import { runTool } from '../support/run-tool.js';
import { appImage } from '../support/app-image.js';
import { scratchStateDir } from '../support/test-stack.js';

const COMMAND_MS = 600_000;
const [ETCD_IMAGE, APISERVER_IMAGE] = ['localhost/etcd:1', 'localhost/kube-apiserver:1'];

/** docker-compose.yml of this repository on an engine of its own, with nothing up yet. */
export interface ComposeWorld extends AsyncDisposable {
  readonly engine: DockerEngine;
  readonly dir: string;
  /** As in `.env`: what is set here counts from the next command on. */
  readonly settings: Record<string, string>;
  /** What `docker compose` printed; throws unless it succeeded. */
  compose(...args: string[]): Promise<string>;
  /** The `fairlead` command where the ports are published. */
  fairlead(...args: string[]): Promise<string>;
  /** kubectl where the ports are published, with `demo.kubeconfig` of `dir`; throws unless it succeeded. */
  kubectl(...args: string[]): Promise<string>;
  /** Leaves what `fairlead login` wants, by the commands of docs/compose.md, and logs in. */
  login(): Promise<void>;
}

export async function startComposeWorld(): Promise<ComposeWorld> {
  await using starting = new AsyncDisposableStack();
  const dir = await scratchStateDir();
  starting.defer(() => rm(dir, { recursive: true, force: true }));
  const images = [...(await serverImages()), ...(await kubernetesImages()), ...(await ourImages())];
  const engine = starting.use(await startDockerEngine({ dataDir: join(dir, 'engine'), images, log: () => undefined }));
  const { path } = await findBinary('docker-compose');
  const home = join(dir, 'home');
  await mkdir(home);
  const env: Record<string, string> = {
    DOCKER_HOST: engine.host,
    HOME: home,
    FAIRLEAD_NATS_IMAGE: NATS_IMAGE,
    FAIRLEAD_POSTGRES_IMAGE: POSTGRES_IMAGE,
    FAIRLEAD_POSTGRES_UID: String(POSTGRES_USER),
    FAIRLEAD_ETCD_IMAGE: ETCD_IMAGE,
    FAIRLEAD_KUBE_APISERVER_IMAGE: APISERVER_IMAGE,
  };
  const project = ['--project-directory', REPOSITORY, '--ansi', 'never', '--progress', 'plain'];
  const compose = (...args: string[]): Promise<string> =>
    runTool(path, [...project, ...args], env, { timeoutMs: COMMAND_MS });
  const [nsenter = '', ...where] = engine.network.enter;
  const cli = [process.execPath, join(REPOSITORY, 'apps', 'cli', 'dist', 'bundle', 'main.js')];
  const inside = { FAIRLEAD_HOME: join(home, 'fairlead'), HOME: home };
  const fairlead = (...args: string[]): Promise<string> => runTool(nsenter, [...where, ...cli, ...args], inside);
  const kubectl = (await findBinary('kubectl')).path;
  const owned = starting.move();
  return {
    engine,
    dir,
    settings: env,
    compose,
    fairlead,
    kubectl: (...args) =>
      runTool(nsenter, [...where, kubectl, '--request-timeout=20s', ...args], {
        ...inside,
        KUBECONFIG: join(dir, 'demo.kubeconfig'),
      }),
    async login() {
      const main = 'apps/api/dist/bundle/main.js';
      const root = await compose('exec', '-T', 'api', 'node', main, 'serving-root');
      const token = await compose('exec', '-T', 'access', 'cat', '/run/fairlead/current/admin-token');
      await writeFile(join(dir, 'root.pem'), /-----BEGIN[^]*END CERTIFICATE-----\n/.exec(root)?.[0] ?? '');
      await writeFile(join(dir, 'token'), token, { mode: 0o600 });
      const files = ['--ca-file', join(dir, 'root.pem'), '--token-file', join(dir, 'token')];
      await fairlead('login', '--server', 'https://127.0.0.1:7070', ...files);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function ourImages(): Promise<ImageSpec[]> {
  const name = (app: string): string => `localhost/fairlead/${app}:0.1.0`;
  const kubectl = await findBinary('kubectl');
  const demo = await appImage('demo', name('demo'), {
    beside: ['cli'],
    programs: { 'usr/local/bin/kubectl': kubectl.path },
    texts: { 'usr/local/bin/fairlead': await readFile(join(REPOSITORY, 'tools/image/fairlead.sh'), 'utf8') },
  });
  return [...(await Promise.all([...ROLES, 'agent', 'setup'].map((app) => appImage(app, name(app))))), demo];
}

/** As upstream's, each with its one program where theirs is. */
async function kubernetesImages(): Promise<ImageSpec[]> {
  const image = async (name: string, program: 'etcd' | 'kube-apiserver'): Promise<ImageSpec> => {
    const at = `usr/local/bin/${program}`;
    const { path } = await findBinary(program);
    return programImage({ name, files: {}, programs: { [at]: path }, entrypoint: [`/${at}`] });
  };
  return [await image(ETCD_IMAGE, 'etcd'), await image(APISERVER_IMAGE, 'kube-apiserver')];
}
