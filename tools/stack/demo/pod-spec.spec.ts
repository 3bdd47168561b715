import { expect, it } from 'vitest';
import { podSpecOf } from './pod-spec.js';

const deployment = (secretName: string, variable: string) => ({
  spec: {
    template: {
      spec: {
        serviceAccountName: 'fairlead-agent',
        automountServiceAccountToken: true,
        securityContext: { runAsUser: 65_532, runAsGroup: 65_532 },
        containers: [{ env: [{ name: variable, value: 'x' }] }],
        volumes: [{ name: 'token', secret: { secretName } }],
      },
    },
  },
});

it('takes the Deployment of a manifest', () => {
  const { containers, volumes } = podSpecOf(deployment('fairlead-agent-bootstrap', 'FAIRLEAD_ENDPOINTS'));
  expect([containers[0].env, volumes[0]?.secret.secretName]).toEqual([
    [{ name: 'FAIRLEAD_ENDPOINTS', value: 'x' }],
    'fairlead-agent-bootstrap',
  ]);
});

it.each(['--kubeconfig=/pod/volume-a/kc', '-f', 'a/b', 'Token', 'a'.repeat(254), ''])(
  'takes no Secret for the option of a command: %j',
  (name) => expect(() => podSpecOf(deployment(name, 'FAIRLEAD_LINKS'))).toThrow('secretName'),
);

it.each(['NODE_OPTIONS', 'LD_PRELOAD', 'PATH', 'NODE_EXTRA_CA_CERTS', 'X_FAIRLEAD_Y'])(
  'sets no variable that makes a process another: %s',
  (name) => expect(() => podSpecOf(deployment('token', name))).toThrow('env'),
);
