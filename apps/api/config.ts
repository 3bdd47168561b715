import { commaList, dnsDomain, hostPort, loadConfig, networkList, splitHostPort } from '@fairlead/config';
import { CredentialName } from '@fairlead/contracts';
import type { Door } from '@fairlead/api';
import { credentialOf, processSettings } from '@fairlead/service/process';
import { z } from 'zod';

const httpsUrl = z.url({ protocol: /^https$/, error: 'expected an https:// URL' });

const doors = commaList.transform((items, context): Door[] =>
  items.map((item) => {
    const [name = '', ...url] = item.split('=');
    const door = z.object({ name: CredentialName, url: httpsUrl }).safeParse({ name, url: url.join('=') });
    if (door.success) return { ...door.data, url: door.data.url.replace(/\/+$/, '') };
    context.addIssue({ code: 'custom', message: `${JSON.stringify(item)} is not of the form name=https://host:port` });
    return z.NEVER;
  }),
);

const Environment = z
  .object({
    ...processSettings,
    FAIRLEAD_CREDENTIAL: credentialOf('api'),
    FAIRLEAD_HEALTH_LISTEN: hostPort.optional(),
    FAIRLEAD_API_LISTEN: hostPort.transform(splitHostPort),
    /** A replica that stops goes on accepting for so long: until a load balancer saw that it is not ready. */
    FAIRLEAD_API_GRACE_SECONDS: z.coerce.number().min(0).max(300).default(3),
    /** Load balancers, as addresses or blocks of them (CIDR): each connection from there has to begin with a header of the PROXY protocol, version 2, and is its client's from then on. None: a header is believed of nobody. */
    FAIRLEAD_PROXY_PROTOCOL_FROM: networkList.default([]),
    FAIRLEAD_PUBLIC_URL: httpsUrl,
    FAIRLEAD_DOORS: doors.default([]),
    /** As the gateways have it: kubeconfigs with `--by-name` lead below it. */
    FAIRLEAD_CLUSTER_DOMAIN: dnsDomain.optional(),
    FAIRLEAD_CONNECT_DOORS: doors.default([]),
    FAIRLEAD_API_SERVING_NAMES: commaList.default([]),
    FAIRLEAD_TLS_CERT_FILE: z.string().optional(),
    FAIRLEAD_TLS_KEY_FILE: z.string().optional(),
  })
  .refine((env) => !env.FAIRLEAD_TLS_CERT_FILE || env.FAIRLEAD_TLS_KEY_FILE, { path: ['FAIRLEAD_TLS_KEY_FILE'] })
  .refine((env) => !env.FAIRLEAD_TLS_KEY_FILE || env.FAIRLEAD_TLS_CERT_FILE, { path: ['FAIRLEAD_TLS_CERT_FILE'] })
  .refine((env) => env.FAIRLEAD_TLS_CERT_FILE || env.FAIRLEAD_API_SERVING_NAMES.length > 0, {
    path: ['FAIRLEAD_API_SERVING_NAMES'],
  })
  .refine((env) => env.FAIRLEAD_DOORS.every(({ url }) => !isBelow(url, env.FAIRLEAD_CLUSTER_DOMAIN)), {
    path: ['FAIRLEAD_CLUSTER_DOMAIN'],
    error: 'a door of FAIRLEAD_DOORS is below it, where it would be a cluster',
  })
  .refine((env) => !isBelow(env.FAIRLEAD_PUBLIC_URL, env.FAIRLEAD_CLUSTER_DOMAIN), {
    path: ['FAIRLEAD_CLUSTER_DOMAIN'],
    error: 'the admin API (FAIRLEAD_PUBLIC_URL) is below it, where gateways are certified for names of clusters',
  });

function isBelow(url: string, domain: string | undefined): boolean {
  return domain !== undefined && new URL(url).hostname.endsWith(`.${domain}`);
}

export type ApiConfig = z.output<typeof Environment>;

/** Where the API's own certificate comes from. */
type CertificateOrigin =
  | { readonly kind: 'issued'; readonly names: readonly string[] }
  | { readonly kind: 'files'; readonly certFile: string; readonly keyFile: string };

/** Reads the environment; throws one error that lists everything wrong with it. */
export function readConfig(env: NodeJS.ProcessEnv): ApiConfig {
  return loadConfig(Environment, env);
}

export function certificateOrigin(config: ApiConfig): CertificateOrigin {
  const { FAIRLEAD_TLS_CERT_FILE: certFile, FAIRLEAD_TLS_KEY_FILE: keyFile } = config;
  if (certFile && keyFile) return { kind: 'files', certFile, keyFile };
  return { kind: 'issued', names: config.FAIRLEAD_API_SERVING_NAMES };
}
