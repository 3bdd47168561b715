import { describe, expect, it } from 'vitest';
import { ManifestValues } from './manifest-values.js';

/** Self-signed, until 2126; nobody has its key. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBgDCCASegAwIBAgIUCAp4sfSSzYANG1EkXjsVLwkNnyMwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKcHJveHkgcm9vdDAgFw0yNjExMjUyMjEyMDVaGA8yMTI2MTEw
MTIyMTIwNVowFTETMBEGA1UEAwwKcHJveHkgcm9vdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABEtI4vkoGIOx6xg4+NLSYa9n1+nGU++drwfl0fPViCwrdfBjDHrv
JU6NHs8Jw+cRDzENGVtnYzfyfabmuyd6qzmjUzBRMB0GA1UdDgQWBBSzisNv2u2f
OzOQmpj2lk9VEBQF3zAfBgNVHSMEGDAWgBSzisNv2u2fOzOQmpj2lk9VEBQF3zAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIF3PL4MjYW0IPy8GgWyp
CaaeYqcB5B6E8Ou5MP4WbIxKAiA5tFW1e6UTCvf98iOc2qIEO1juL/0F4moFpUpQ
VuTZDA==
-----END CERTIFICATE-----
`;

const full = {
  namespace: 'edge-agent',
  imagePullSecrets: [{ name: 'registry' }],
  nodeSelector: { 'kubernetes.io/os': 'linux', pool: '' },
  tolerations: [
    { key: 'dedicated', operator: 'Equal', value: 'infra', effect: 'NoSchedule' },
    { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
  ],
  resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { cpu: '1.5', memory: '1Gi' } },
  priorityClassName: 'system-cluster-critical',
  podLabels: { 'sidecar.istio.io/inject': 'false' },
  podAnnotations: { 'example.com/note': 'any text, ünicode too' },
  hostNetwork: true,
  healthPort: 18_080,
  requireStatements: true,
  proxy: {
    httpsProxy: 'http://proxy.example.com:3128',
    noProxy: ['10.0.0.0/8', '.svc', '[::1]:7000'],
    credentialsSecret: 'proxy',
  },
  caBundle: certificate.repeat(2),
};

/** `path: message` of the first problem. */
function refusal(values: unknown): string {
  const { error } = ManifestValues.safeParse(values);
  const [issue] = error?.issues ?? [];
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'accepted';
}

describe('manifest values', () => {
  it('may all be set, or none', () => {
    expect(ManifestValues.parse(full)).toEqual(full);
    expect(ManifestValues.parse({})).toEqual({});
  });

  it('may have amounts without a unit as numbers, as YAML reads them', () => {
    const { resources } = ManifestValues.parse({ resources: { limits: { cpu: 0.5, memory: 1_073_741_824 } } });
    expect(resources).toEqual({ limits: { cpu: '0.5', memory: '1073741824' } });
    expect(refusal({ resources: { limits: { cpu: Number.NaN } } })).not.toBe('accepted');
  });

  it.each([
    [{ hostPath: '/' }, ': there is no hostPath here; allowed are namespace, imagePullSecrets, nodeSelector'],
    [{ securityContext: { privileged: true } }, ': there is no securityContext here'],
    [{ proxy: { httpsProxy: 'http://p:1', ca: 'x' } }, 'proxy: there is no ca here; allowed are httpsProxy, noProxy'],
    [{ namespace: 'kube-system' }, 'namespace: it needs a namespace of its own'],
    [{ namespace: 'default' }, 'namespace: it needs'],
    [{ namespace: 'openshift-etcd' }, 'namespace: it needs'],
    [{ namespace: 'Fairlead' }, 'namespace: a namespace is'],
    [{ imagePullSecrets: ['registry'] }, 'imagePullSecrets.0: '],
    [{ nodeSelector: { 'a/b/c': 'x' } }, 'nodeSelector.a/b/c: '],
    [{ nodeSelector: { zone: 'a b' } }, 'nodeSelector.zone: a value is'],
    [{ tolerations: [{ effect: 'NoSchedule' }] }, 'tolerations.0.operator: without a key it has to be Exists'],
    [{ tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] }, 'tolerations.0.value: with the operator'],
    [{ tolerations: [{ key: 'a', tolerationSeconds: 1 }] }, 'tolerations.0.tolerationSeconds: only with'],
    [{ resources: { limits: { memory: '32Mi' } } }, 'resources.limits.memory: write bytes as'],
    [{ resources: { limits: { memory: '512m' } } }, 'resources.limits.memory: write bytes as'],
    [{ resources: { limits: { cpu: '0' } } }, 'resources.limits.cpu: write cores as'],
    [{ resources: { requests: { memory: '1Gi' } } }, 'resources.requests.memory: a request may not be above its limit'],
    [{ resources: { limits: { cpu: '10m' } } }, 'resources.requests.cpu: a request may not be above its limit'],
    [{ podLabels: { 'app.kubernetes.io/name': 'other' } }, 'podLabels.app.kubernetes.io/name: '],
    [{ podAnnotations: { 'fairlead.dev/cluster-id': 'x' } }, 'podAnnotations.fairlead.dev/cluster-id: '],
    [
      { podAnnotations: { 'container.apparmor.security.beta.kubernetes.io/agent': 'unconfined' } },
      'podAnnotations.container.apparmor.security.beta.kubernetes.io/agent: ',
    ],
    [{ podAnnotations: { a: 'x\u0000' } }, 'podAnnotations.a: a value is text'],
    [{ podAnnotations: { a: '\ud800' } }, 'podAnnotations.a: a value is text'],
    [{ podAnnotations: { a: 'x\u2028spec:' } }, 'podAnnotations.a: a value is text'],
    [{ podAnnotations: { a: 'x\u2029spec:' } }, 'podAnnotations.a: a value is text'],
    [{ podAnnotations: { a: 'x\u0085spec:' } }, 'podAnnotations.a: a value is text'],
    [{ healthPort: 9_000 }, 'healthPort: only with hostNetwork'],
    [{ hostNetwork: true, healthPort: 80 }, 'healthPort: '],
    [{ proxy: {} }, 'proxy.httpsProxy: '],
    [{ proxy: { httpsProxy: 'http://user:word@proxy:3128' } }, 'proxy.httpsProxy: write http://HOST:PORT'],
    [{ proxy: { httpsProxy: 'socks5://proxy:1080' } }, 'proxy.httpsProxy: write http://HOST:PORT'],
    [{ proxy: { httpsProxy: 'http://proxy:3128/path' } }, 'proxy.httpsProxy: write http://HOST:PORT'],
    [{ proxy: { httpsProxy: 'http://$(FAIRLEAD_CLUSTER_ID):1' } }, 'proxy.httpsProxy: write http://HOST:PORT'],
    [
      { proxy: { httpsProxy: 'http://p:1', credentialsSecret: 'fairlead-agent-identity' } },
      'proxy.credentialsSecret: what begins with fairlead-agent- is of the agent itself',
    ],
    [
      { proxy: { httpsProxy: 'http://p:1', credentialsSecret: 'fairlead-deploy-keys' } },
      'proxy.credentialsSecret: what begins with fairlead-agent- is of the agent itself, and fairlead-deploy-keys',
    ],
    [{ proxy: { httpsProxy: 'http://proxy:99999' } }, 'proxy.httpsProxy: write http://HOST:PORT'],
    [{ proxy: { httpsProxy: 'http://proxy:1', noProxy: ['a,b'] } }, 'proxy.noProxy.0: write a host'],
    [
      { caBundle: '-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----' },
      'caBundle: write 1 to 16 certificates',
    ],
    [{ caBundle: certificate.repeat(17) }, 'caBundle: write 1 to 16 certificates'],
    [{ caBundle: certificate.replace('MII', 'QUJ') }, 'caBundle: write 1 to 16 certificates'],
    [{ caBundle: `of the proxy:\n${certificate}` }, 'caBundle: write 1 to 16 certificates'],
    [{ caBundle: '' }, 'caBundle: write 1 to 16 certificates'],
    [
      { podAnnotations: Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => [key, 'x'.repeat(4_000)])) },
      ': all values together',
    ],
  ])('%j: %s', (values, message) => {
    expect(refusal(values)).toMatch(new RegExp(`^${message.replaceAll(/[.[\]{}()]/g, '\\$&')}`));
  });

  it('never tell in a message what was written where a password may be', () => {
    expect(refusal({ proxy: { httpsProxy: 'http://user:hidden@proxy:3128' } })).not.toContain('hidden');
  });

  it.each([['http://[fd00::1]:3128'], ['https://proxy.example.com'], ['http://10.0.0.1:3128/']])(
    '%s is a proxy',
    (httpsProxy) => {
      expect(refusal({ proxy: { httpsProxy } })).toBe('accepted');
    },
  );
});
