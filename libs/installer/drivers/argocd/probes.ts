import type { KubeObject } from '@fairlead/kube/rest';
import { LABELS, OWNER } from '../../names.js';
import type { ProbeTarget } from '../driver.js';
import { conditionsOf } from './application-state.js';
import { APPLICATION, APPLICATION_CONTROLLER, IN_CLUSTER, named, NAMESPACE, REPO_SERVER } from './kinds.js';
import { PROBE_PROJECT, PROBE_URL } from './projects.js';

/** The controller takes it off when it has compared the Application: https://argo-cd.readthedocs.io/en/stable/user-guide/annotations-and-labels/ */
const REFRESH = 'argocd.argoproj.io/refresh';
const OUR_LABELS = { [LABELS.managedBy]: OWNER, [LABELS.bundle]: 'argocd' };
/** The repo-server said something, whatever it was: gRPC says these where it said nothing. */
const ANSWERED = /rpc error: code = (?!Unavailable|DeadlineExceeded|Canceled)/;

/**
 * Two Applications that deploy nothing, for as long as the question is open. The first one's repository is none of its project's: the
 * controller says so by itself. For the second one it has to ask the repo-server, which has no key for it and opens no connection: so a
 * Git host that is away is no frozen repo-server.
 */
export function argocdProbes(): ProbeTarget[] {
  return [
    target('fairlead-functional', 'ssh://git@fairlead.invalid/refused', {
      workload: APPLICATION_CONTROLLER,
      answer: (object) => (isRefreshed(object) ? 'given' : 'none'),
    }),
    target('fairlead-functional-repository', PROBE_URL, {
      workload: REPO_SERVER,
      through: APPLICATION_CONTROLLER,
      answer: (object) => {
        if (!isRefreshed(object)) return 'none';
        return conditionsOf(object, 'ComparisonError').some((said) => ANSWERED.test(said)) ? 'given' : 'again';
      },
    }),
  ];
}

function isRefreshed({ metadata: { annotations } }: KubeObject): boolean {
  return annotations?.[REFRESH] === undefined;
}

function target(
  name: string,
  repoURL: string,
  asked: Pick<ProbeTarget, 'workload' | 'through' | 'answer'>,
): ProbeTarget {
  return {
    ref: named(APPLICATION, name),
    make: {
      ...APPLICATION,
      metadata: { name, namespace: NAMESPACE, labels: OUR_LABELS },
      spec: {
        project: PROBE_PROJECT,
        source: { repoURL, targetRevision: 'main', path: '.' },
        destination: { server: IN_CLUSTER, namespace: PROBE_PROJECT },
      },
    },
    // Hard: what it remembers of an earlier question is no answer to this one.
    request: () => ({ metadata: { annotations: { [REFRESH]: 'hard' } } }),
    ...asked,
  };
}
