import { join } from 'node:path';
import type { GitOpsSpec, InstallerReport } from '@fairlead/desired-state';
import { accessFromKubeconfig, createKubeApi, createObjects, type Objects } from '@fairlead/kube/rest';
import { kubectlOf, startCluster, startGitea, type Images, type Kubectl } from '@fairlead/testbed';
import { scratchDir, testAuthority } from '@fairlead/testing';
import { createCatalog, type TestCatalog } from './catalog.js';
import { installIn, reportWhen, type Pace } from './cluster.js';
import {
  bring,
  bundleOf,
  gitopsSpecOf,
  handOver,
  handoverOf,
  NAMESPACE,
  stateOf,
  type Bundle,
} from './control-plane.js';

export interface ToolClusterOptions {
  readonly tool: GitOpsSpec['tool'];
  /** `dir` is theirs alone. */
  readonly images: (dir: string) => Promise<Images>;
  readonly manifest: () => Promise<string>;
  readonly pace: Pace;
  /** How long the tool may take until a report is as expected. */
  readonly timeoutMs: number;
}

/** A cluster that runs the pods of the GitOps tool itself, a Git server with its catalog, and an installer in this process. */
export interface ToolCluster extends AsyncDisposable {
  readonly objects: Objects;
  readonly kubectl: Kubectl;
  readonly catalog: TestCatalog;
  /** Of the desired state that was handed over last. */
  readonly revision: number;
  bring(): Promise<void>;
  /** Hands over that the tool is to follow the catalog, or what is said otherwise; of the deploy key what was said last. */
  want(more: Partial<GitOpsSpec>): Promise<void>;
  /** Hands over that it is to be removed, and resolves when it is. */
  remove(what: 'tool' | 'everything'): Promise<void>;
  /** The report, once it is as the check wants it. */
  report(check: (report: InstallerReport) => void): Promise<InstallerReport>;
  /** What the catalog's ConfigMap says in the cluster, if it is there. */
  greeting(): Promise<string | undefined>;
}

export async function startToolCluster(options: ToolClusterOptions): Promise<ToolCluster> {
  await using parts = new AsyncDisposableStack();
  const scratch = parts.use(await scratchDir());
  const images = await options.images(join(scratch.path, 'images'));
  const gitea = parts.use(await startGitea({ dataDir: join(scratch.path, 'gitea') }));
  const cluster = parts.use(await startCluster({ dataDir: join(scratch.path, 'cluster'), images }));
  const catalog = await createCatalog(gitea.info);
  const kubeconfig = cluster.kube.info.adminKubeconfigPath;
  const kubectl = await kubectlOf(kubeconfig, { timeoutMs: 120_000 });
  const api = parts.use(createKubeApi({ access: await accessFromKubeconfig(kubeconfig), userAgent: 'test' }));
  const objects = createObjects(api);
  const authority = await testAuthority();
  const bundle = bundleOf(await options.manifest());
  await objects.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  parts.use(installIn(objects, authority, options.pace));
  const owned = parts.move();
  return Object.assign(new Desired({ objects, catalog, bundle, authority, ...options }), {
    objects,
    kubectl,
    catalog,
    bring: () => bring(objects, bundle),
    greeting: () => greetingIn(objects),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  });
}

interface DesiredOptions extends Pick<ToolClusterOptions, 'tool' | 'timeoutMs'> {
  readonly objects: Objects;
  readonly catalog: TestCatalog;
  readonly bundle: Bundle;
  readonly authority: Awaited<ReturnType<typeof testAuthority>>;
}

/** What is handed over, one revision after the other, and what becomes of it. */
class Desired implements Pick<ToolCluster, 'revision' | 'want' | 'remove' | 'report'> {
  revision = 0;
  #deployKey: GitOpsSpec['deployKey'];
  readonly #options: DesiredOptions;

  constructor(options: DesiredOptions) {
    this.#options = options;
    this.#deployKey = gitopsSpecOf(options.bundle).deployKey;
  }

  async want(more: Partial<GitOpsSpec>): Promise<void> {
    const { bundle, tool, catalog } = this.#options;
    const spec = gitopsSpecOf(bundle, { tool, source: catalog.source, deployKey: this.#deployKey, ...more });
    this.#deployKey = spec.deployKey;
    await this.#handOver(spec);
  }

  async remove(what: 'tool' | 'everything'): Promise<void> {
    await this.#handOver(null, what);
    await this.report(({ phase, appliedRevision }) => {
      if (phase !== 'off' || appliedRevision !== this.revision) throw new Error(`${phase} at ${appliedRevision}`);
    });
  }

  report(check: (report: InstallerReport) => void): Promise<InstallerReport> {
    const { objects, timeoutMs } = this.#options;
    return reportWhen(objects, check, { timeoutMs });
  }

  async #handOver(spec: GitOpsSpec | null, remove: 'keep' | 'tool' | 'everything' = 'keep'): Promise<void> {
    const { objects, authority } = this.#options;
    this.revision += 1;
    await handOver(objects, await handoverOf(authority, stateOf(this.revision, spec, { remove })));
  }
}

async function greetingIn(objects: Objects): Promise<string | undefined> {
  const found = await objects.read({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'from-git' });
  return (found?.['data'] as { greeting?: string } | undefined)?.greeting;
}
