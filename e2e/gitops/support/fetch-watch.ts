import { createInterface } from 'node:readline';
import { kubectlOf } from '@fairlead/testbed';
import type { World } from './world.js';

/** What Flux said of its fetches while this watched. */
export interface FetchWatch extends AsyncDisposable {
  /** Messages of fetches that failed, oldest first. */
  readonly failures: readonly string[];
  /** How often the repository was said to be as it should. */
  readonly good: number;
}

/** Watches what Flux says of the catalog, change by change, until it is disposed of; for at most ten minutes. */
export async function watchFetches({ cluster }: Pick<World, 'cluster'>): Promise<FetchWatch> {
  const kubectl = await kubectlOf(cluster.kube.info.adminKubeconfigPath, { timeoutMs: 600_000 });
  const ready = '{range .status.conditions[?(@.type=="Ready")]}{.status} {.message}{end}{"\\n"}';
  const repository = ['gitrepositories.source.toolkit.fluxcd.io', 'fairlead-catalog', '-n', 'flux-system'];
  const child = kubectl.start(['get', ...repository, '--watch', '-o', `jsonpath=${ready}`]);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stderr.resume();
  const failures: string[] = [];
  let good = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('False ')) failures.push(line.slice('False '.length));
    if (line.startsWith('True ')) good += 1;
  });
  return {
    failures,
    get good() {
      return good;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
