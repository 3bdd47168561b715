import { kubectlOf } from '@fairlead/testbed';
import { BenchError } from '../process/bench-error.js';

const NAMESPACE = 'bench';
const BIG_OBJECTS = 5;
/** One object may have 1 MiB. */
const BIG_OBJECT_BYTES = 1_000_000;

export const SMALL_GET = '/api/v1/namespaces/default';
/** 5 MB. */
export const BIG_LIST = `/api/v1/namespaces/${NAMESPACE}/configmaps?labelSelector=size%3Dbig`;
/** Nothing happens on it. */
export const IDLE_WATCH = `/api/v1/namespaces/${NAMESPACE}/secrets?watch=true&resourceVersion=0`;
/** In the demo's pod. */
export const EXEC_PATH = '/api/v1/namespaces/default/pods/hello/exec?command=cat&stdin=true&stdout=true';

/** Makes what is asked for. Throws BenchError with what kubectl said. */
export async function createApiObjects(adminKubeconfigPath: string): Promise<void> {
  const kubectl = await kubectlOf(adminKubeconfigPath);
  const object = (kind: string, metadata: object, rest: object = {}): object => ({
    apiVersion: 'v1',
    kind,
    metadata,
    ...rest,
  });
  const big = Array.from({ length: BIG_OBJECTS }, (_, index) =>
    object(
      'ConfigMap',
      { name: `big-${index}`, namespace: NAMESPACE, labels: { size: 'big' } },
      { data: { text: 'x'.repeat(BIG_OBJECT_BYTES) } },
    ),
  );
  for (const each of [object('Namespace', { name: NAMESPACE }), ...big]) {
    const { code, stderr } = await kubectl(['create', '-f', '-'], JSON.stringify(each));
    if (code !== 0) throw new BenchError(`the objects to ask for could not be made: ${stderr.trim()}`);
  }
}
