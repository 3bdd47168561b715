import type { World } from './world.js';

type Kube = Pick<World, 'kubectl' | 'tryKubectl'>;

const NAME = 'hostile';

/** An admission webhook that fails closed, whose Service has no endpoints. */
export interface HostileWebhook extends AsyncDisposable {
  /** As the story names it. */
  readonly shown: string;
  /** What somebody hears who makes something in a namespace that is none of ours. Empty: nothing is in the way. */
  refusalElsewhere(): Promise<string>;
}

/** Everything in every namespace needs its word, but for those of Kubernetes itself and the one that the repository deploys to. */
export async function addHostileWebhook({ kubectl, tryKubectl }: Kube): Promise<HostileWebhook> {
  const service = { namespace: NAME, name: NAME };
  const ports = [{ port: 443 }];
  await kubectl(['create', 'namespace', NAME]);
  await kubectl(
    ['create', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: service, spec: { selector: { app: NAME }, ports } }),
  );
  await kubectl(['create', '-f', '-'], JSON.stringify(configuration({ ...service, port: 443 })));
  const remove = ['delete', 'validatingwebhookconfiguration', NAME];
  return {
    shown: `ValidatingWebhookConfiguration ${NAME}`,
    refusalElsewhere: async () => {
      const { stderr } = await tryKubectl(['create', 'configmap', 'mine', '-n', NAME, '--dry-run=server']);
      return stderr;
    },
    [Symbol.asyncDispose]: async () => {
      await kubectl(remove);
      await kubectl(['delete', 'namespace', NAME, '--wait=false']);
    },
  };
}

function configuration(service: { namespace: string; name: string; port: number }): object {
  const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*'] };
  const key = 'kubernetes.io/metadata.name';
  const values = ['kube-system', 'kube-node-lease', 'default'];
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: NAME },
    webhooks: [
      {
        name: `all.${NAME}.example.com`,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        timeoutSeconds: 1,
        clientConfig: { service },
        rules: [{ ...everything, scope: 'Namespaced' }],
        namespaceSelector: { matchExpressions: [{ key, operator: 'NotIn', values }] },
      },
    ],
  };
}
