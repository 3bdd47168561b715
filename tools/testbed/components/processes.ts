import type { Kubectl } from './kubectl.js';

/** A container that a test kubelet runs. */
export interface PodProcess {
  readonly pod: string;
  readonly container: string;
  /** Of this machine, for `process.kill`. The process leads a group of its own. */
  readonly pid: number;
}

/** The processes of the namespace's pods that the label selector chooses, as their status has them now; none of what waits. */
export async function podProcesses(kubectl: Kubectl, namespace: string, selector: string): Promise<PodProcess[]> {
  const { code, stdout, stderr } = await kubectl(['get', 'pods', '-n', namespace, '-l', selector, '-o', 'json']);
  if (code !== 0) throw new Error(`kubectl get pods failed: ${stderr.trim()}`);
  const { items } = JSON.parse(stdout.toString()) as { items: readonly PodWithStatus[] };
  return items.flatMap(({ metadata, status }) =>
    (status.containerStatuses ?? []).flatMap(({ name, containerID = '', state }) => {
      // process://<pod's uid>/<container>/<run>/<pid>
      const pid = Number(containerID.split('/')[5]);
      return state.running !== undefined && pid > 0 ? [{ pod: metadata.name, container: name, pid }] : [];
    }),
  );
}

interface PodWithStatus {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly containerStatuses?: readonly { name: string; containerID?: string; state: { running?: object } }[];
  };
}
