import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { UserNames } from '@fairlead/access-rules';
import { LabelValue, ObjectName, QualifiedName } from './kubernetes-names.js';
import { Resources } from './manifest-resources.js';
import { Toleration } from './manifest-tolerations.js';

/** Of JSON: what they become has to fit into an answer with the manifest, twice where there is an installer. */
const MAX_VALUES_BYTES = 20 * 1024;
const MAX_CA_BYTES = 16 * 1024;
const MAX_CERTIFICATES = 16;

/** A strict object whose message for a field that it does not have names those that it has. */
function fields<Shape extends z.ZodRawShape>(shape: Shape) {
  const allowed = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `there is no ${issue.keys.map((key) => key.slice(0, 64)).join(' and no ')} here; allowed are ${allowed}`
        : undefined,
  });
}

/** Kubernetes and the tools that an installer brings own these; deleting it has to take away nothing else. */
const Namespace = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'a namespace is 1 to 63 lower-case letters, digits and dashes')
  .refine(
    (name) => !/^(kube-.*|openshift(-.*)?|default|flux-system|argocd)$/.test(name),
    'it needs a namespace of its own: not default, kube-*, openshift-*, flux-system or argocd',
  );

const atMost = <Key extends z.ZodType<string, string>, Value extends z.ZodType>(key: Key, value: Value, most: number) =>
  z.record(key, value).refine((all) => Object.keys(all).length <= most, `at most ${most}`);

const OWN_LABELS = /^(app\.kubernetes\.io\/(name|component|part-of|managed-by)|([a-z0-9.-]+\.)?fairlead\.dev\/.*)$/;
const PodLabelKey = QualifiedName.refine(
  (key) => !OWN_LABELS.test(key),
  'app.kubernetes.io/name, component, part-of, managed-by and fairlead.dev/ are set by the manifest itself',
);

/** The old way to loosen what a container may do, besides what the manifest itself says. */
const NOT_ANNOTATIONS =
  /^(([a-z0-9.-]+\.)?fairlead\.dev|container\.apparmor\.security\.beta\.kubernetes\.io|(container\.)?seccomp\.security\.alpha\.kubernetes\.io)\//;
const PodAnnotationKey = QualifiedName.refine(
  (key) => !NOT_ANNOTATIONS.test(key),
  'fairlead.dev/, and AppArmor and seccomp profiles, are set by the manifest itself',
);

/**
 * Postgres stores no NUL, and no half of a character; and some readers of YAML take U+2028 and U+2029 for ends of lines. Written without classes of Unicode: it stands
 * in the OpenAPI document, and not every language's expressions have them.
 */
const NOT_CONTROL = new RegExp(String.raw`^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]*$`, 'u');
const AnnotationValue = z.string().max(4_096).regex(NOT_CONTROL, 'a value is text, without control characters');

const PROXY =
  'write http://HOST:PORT or https://HOST:PORT; user and password go into a Secret: proxy.credentialsSecret';
/** Without user and password: they would be stored, shown, and in the manifest. Without `$(…)`, which Kubernetes replaces in a variable. */
const ProxyUrl = z
  .string()
  .max(300)
  .refine((text) => {
    const url = /^https?:\/\/[^\s/?#@\\$]+\/?$/.test(text) ? URL.parse(text) : null;
    return url !== null && url.hostname !== '';
  }, PROXY);

const NoProxy = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9.*:/[\]_-]+$/, 'write a host, a domain, an address or a block of them, without commas or blanks');

/** Not one of ours: the agent would send a proxy what it reads there, or have what only the installer has. No more than these: clusters keep their values. */
const SecretOfProxy = ObjectName.refine(
  (name) => !name.startsWith('fairlead-agent-') && name !== 'fairlead-deploy-keys',
  'what begins with fairlead-agent- is of the agent itself, and fairlead-deploy-keys of the installer',
);

const Proxy = fields({
  /** The agent reaches gateways through it, by CONNECT. */
  httpsProxy: ProxyUrl,
  /** What it dials directly nevertheless. */
  noProxy: z.array(NoProxy).max(64).optional(),
  /** A Secret of the type kubernetes.io/basic-auth in the agent's namespace, with `username` and `password`. */
  credentialsSecret: SecretOfProxy.optional(),
});

const CaBundle = z
  .string()
  .max(MAX_CA_BYTES)
  .refine(areCertificates, `write 1 to ${MAX_CERTIFICATES} certificates in PEM, one after the other, and nothing else`);

function areCertificates(text: string): boolean {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0 || blocks.length > MAX_CERTIFICATES) return false;
  if (blocks.reduce((rest, block) => rest.replace(block, ''), text).trim() !== '') return false;
  try {
    return blocks.every((block) => new X509Certificate(block).raw.length > 0);
  } catch {
    // No certificate.
    return false;
  }
}

/**
 * How the pods of one cluster are to run, as its import manifest says: by Kubernetes' own names. What is left out is as it is without
 * values. There is nothing here that gives a pod more rights than it has without, but for `hostNetwork`.
 */
export const ManifestValues = fields({
  /** Where all of it is; `fairlead-system` unless given. */
  namespace: Namespace.optional(),
  imagePullSecrets: z
    .array(fields({ name: ObjectName }))
    .max(8)
    .optional(),
  nodeSelector: atMost(QualifiedName, LabelValue, 32).optional(),
  tolerations: z.array(Toleration).max(32).optional(),
  /** Of the agent. */
  resources: Resources.optional(),
  priorityClassName: ObjectName.optional(),
  podLabels: atMost(PodLabelKey, LabelValue, 32).optional(),
  podAnnotations: atMost(PodAnnotationKey, AnnotationValue, 32).optional(),
  /** The agent is in the network of its node. Its namespace is then no `restricted` one, and no network policy holds for it. */
  hostNetwork: z.boolean().optional(),
  /** Where it listens on its node for probes, on loopback; 8080 unless given. */
  healthPort: z.int().min(1_024).max(65_535).optional(),
  /** Nobody is served by its agent without an access statement; what says so is in the cluster, and no gateway takes it back. */
  requireStatements: z.boolean().optional(),
  /** How the kube-apiserver is told who a request is of; `user` unless given. */
  userNames: UserNames.optional(),
  proxy: Proxy.optional(),
  /** Trusted besides the public ones where the agent has no pin: for an https proxy, and the collector of spans. */
  caBundle: CaBundle.optional(),
})
  .refine(({ healthPort, hostNetwork }) => healthPort === undefined || hostNetwork === true, {
    path: ['healthPort'],
    message: 'only with hostNetwork: true; a pod of its own network has its ports for itself',
  })
  .refine((values) => Buffer.byteLength(JSON.stringify(values)) <= MAX_VALUES_BYTES, {
    message: `all values together may have at most ${MAX_VALUES_BYTES} bytes of JSON`,
  });
export type ManifestValues = z.infer<typeof ManifestValues>;
export { AGENT_RESOURCES } from './manifest-resources.js';
