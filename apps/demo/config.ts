import { commaList, hostPort, loadConfig } from '@fairlead/config';
import { z } from 'zod';

const log = { FAIRLEAD_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info') };
const path = z.string().startsWith('/');
const httpsUrl = z.url({ protocol: /^https$/ });

const KeysEnvironment = z.object({
  ...log,
  /** `keys`: the folder with `secrets/<name>`, each a volume. */
  FAIRLEAD_VOLUMES_DIR: path.default('/volumes'),
  /** `keys`: the user, and group, that kube-apiserver and etcd run as. */
  FAIRLEAD_PROCESS_UID: z.coerce.number().int().min(1).max(4_294_967_294).default(65_532),
});

const doorsHere = commaList.transform((items, context) =>
  items.map((item) => {
    const [from = '', to = ''] = item.split('=');
    const door = z.object({ from: httpsUrl, to: httpsUrl }).safeParse({ from, to });
    if (door.success) return door.data;
    context.addIssue({ code: 'custom', message: `${JSON.stringify(item)} is not of the form https://…=https://…` });
    return z.NEVER;
  }),
);

const JoinEnvironment = z.object({
  ...log,
  /** `join`: of the admin API. */
  FAIRLEAD_API_URL: httpsUrl,
  /** `join`: PEM of the root of its certificate. */
  FAIRLEAD_API_CA_FILE: path,
  /** `join`: the administrator's token, 0600. */
  FAIRLEAD_ADMIN_TOKEN_FILE: path,
  /** `join`: `host:port` that agents dial. */
  FAIRLEAD_LINK_ENDPOINTS: commaList.pipe(z.array(hostPort).min(1).max(16)),
  /** `join`: the demo cluster's, as its administrator. */
  FAIRLEAD_DEMO_KUBECONFIG: path,
  /** `join`: what the agent's container has mounted, at the same path. */
  FAIRLEAD_POD_DIR: path.default('/pod'),
  /** `join`: for the login of the fairlead command, and the kubeconfig of the tour. */
  FAIRLEAD_HOME: path,
  /** `join`: doors as the kubeconfig is told them, and as they are reached from here: `https://…=https://…`. */
  FAIRLEAD_DOORS_HERE: doorsHere.default([]),
});

export type KeysConfig = z.output<typeof KeysEnvironment>;
export type JoinConfig = z.output<typeof JoinEnvironment>;

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readKeysConfig(env: NodeJS.ProcessEnv): KeysConfig {
  return loadConfig(KeysEnvironment, env);
}

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readJoinConfig(env: NodeJS.ProcessEnv): JoinConfig {
  return loadConfig(JoinEnvironment, env);
}
