import { commaList, dnsDomain, hostPort, loadConfig, secretFile } from '@fairlead/config';
import { ApprovalPolicy } from '@fairlead/contracts';
import { credentialOf, serviceSettings } from '@fairlead/service/process';
import { z } from 'zod';

const seconds = z.coerce.number().int().min(1).max(604_800);

function areEndpoints(items: readonly string[]): boolean {
  return items.length >= 1 && items.length <= 16 && items.every((item) => hostPort.safeParse(item).success);
}

function hasNoCredentials(text: string): boolean {
  const url = URL.parse(text);
  return url?.username === '' && url.password === '';
}

function isPrivateEnough(text: string): boolean {
  const url = URL.parse(text);
  if (!url || !hasNoCredentials(text)) return false;
  return url.protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
}

const image = z.string().min(1).max(512);
const BY_DIGEST = /^[a-z0-9][a-z0-9./:_-]*@sha256:[0-9a-f]{64}$/;

const Settings = z.object({
  ...serviceSettings,
  FAIRLEAD_CREDENTIAL: credentialOf('registration'),
  /** `host:port` that agents dial, written into import manifests. */
  FAIRLEAD_LINK_ENDPOINTS: commaList.refine(areEndpoints, 'expected 1 to 16 of host:port, separated by commas'),
  /** What agents call gateways in TLS (SNI): FAIRLEAD_SERVER_NAME in import manifests. Absent: what agents do by themselves. */
  FAIRLEAD_AGENT_SERVER_NAME: dnsDomain.optional(),
  /** In import manifests, by digest: `registry/name@sha256:…`. */
  FAIRLEAD_AGENT_IMAGE: image,
  /** The same of the installer, which clusters with GitOps run as `cluster-admin`. */
  FAIRLEAD_INSTALLER_IMAGE: image,
  /** Takes images by name and tag too, for development: who can push that tag can be `cluster-admin` in clusters that are imported. */
  FAIRLEAD_INSECURE_IMAGE_TAGS: z.stringbool().default(false),
  /** Where agents send their spans, as their clusters see it: OTEL_EXPORTER_OTLP_ENDPOINT in import manifests. */
  FAIRLEAD_AGENT_TRACING_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .refine(hasNoCredentials, 'a manifest is no place for a user or password')
    .optional(),
  /** Who decides about enrolments where neither the cluster nor its tenant has chosen. */
  FAIRLEAD_APPROVAL_POLICY: ApprovalPolicy.default('token'),
  /** Asked about each agent that waits, under the policy "webhook". */
  FAIRLEAD_APPROVAL_WEBHOOK_URL: z
    .url({ protocol: /^https?$/ })
    .refine(isPrivateEnough, 'expected https, or http to loopback, without user and password')
    .optional(),
  /** At least 32 characters; signs each question. */
  FAIRLEAD_APPROVAL_WEBHOOK_SECRET_FILE: secretFile
    .refine((secret) => secret.reveal().length >= 32, 'expected at least 32 characters')
    .optional(),
  /** Without it, insecure-always-approve cannot be chosen, and counts as always-reject. */
  FAIRLEAD_INSECURE_ALLOW_ALWAYS_APPROVE: z.stringbool().default(false),
  FAIRLEAD_IMPORT_LINK_TTL_SECONDS: seconds.default(600),
  FAIRLEAD_BOOTSTRAP_TOKEN_TTL_SECONDS: seconds.default(3_600),
});

const Config = (['FAIRLEAD_AGENT_IMAGE', 'FAIRLEAD_INSTALLER_IMAGE'] as const).reduce(
  (settings, name) =>
    settings.refine((env) => env.FAIRLEAD_INSECURE_IMAGE_TAGS || BY_DIGEST.test(env[name]), {
      path: [name],
      message:
        'expected an image by its digest, name@sha256:<64 hex digits>; FAIRLEAD_INSECURE_IMAGE_TAGS=true takes any',
    }),
  Settings,
);
export type Config = z.output<typeof Config>;

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return loadConfig(Config, env);
}
