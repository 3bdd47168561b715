import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import * as z from 'zod/mini';

const Environment = z.object({
  FAIRLEAD_HOME: z.optional(z.string()),
  FAIRLEAD_TENANT: z.optional(z.string()),
  XDG_CONFIG_HOME: z.optional(z.string()),
  KUBECONFIG: z.optional(z.string()),
  NO_COLOR: z.optional(z.string()),
  DISPLAY: z.optional(z.string()),
  WAYLAND_DISPLAY: z.optional(z.string()),
  SSH_CONNECTION: z.optional(z.string()),
  HTTPS_PROXY: z.optional(z.string()),
  https_proxy: z.optional(z.string()),
  NO_PROXY: z.optional(z.string()),
  no_proxy: z.optional(z.string()),
});

export interface ProxyConfig {
  readonly url: string;
  /** Hosts that are reached without it, separated by commas. */
  readonly except: string;
}

export interface CliConfig {
  /** Where the login is kept, absolute. */
  readonly home: string;
  /** FAIRLEAD_HOME, absolute, if that is where `home` comes from. */
  readonly explicitHome: string | undefined;
  /** Kubeconfig files that belong to the user: written only where that is asked for. */
  readonly ownKubeconfigs: readonly string[];
  /** Those of them that kubectl reads now, in its order. */
  readonly kubeconfigsInUse: readonly string[];
  readonly noColor: boolean;
  /** Whether a browser that this command opens is seen by whoever runs it. */
  readonly display: boolean;
  /** Which tenant commands are about, if not that of whoever is logged in. */
  readonly tenant: string | undefined;
  /** Forward proxy on the way to the API, if any. */
  readonly proxy: ProxyConfig | undefined;
}

/** The environment as far as the command looks at it. */
export function readConfig(
  env: NodeJS.ProcessEnv,
  userHome: string = homedir(),
  platform: NodeJS.Platform = process.platform,
): CliConfig {
  const { FAIRLEAD_HOME, FAIRLEAD_TENANT: tenant, XDG_CONFIG_HOME, KUBECONFIG, NO_COLOR, ...others } = read(env);
  const { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION, ...proxies } = others;
  const proxy = proxies.https_proxy ?? proxies.HTTPS_PROXY;
  const explicitHome = FAIRLEAD_HOME === undefined ? undefined : resolve(FAIRLEAD_HOME);
  const usual = join(userHome, '.kube', 'config');
  const named = (KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  return {
    home: explicitHome ?? join(resolve(XDG_CONFIG_HOME ?? join(userHome, '.config')), 'fairlead'),
    explicitHome,
    ownKubeconfigs: [usual, ...named].map((path) => resolve(path)),
    kubeconfigsInUse: (named.length > 0 ? named : [usual]).map((path) => resolve(path)),
    noColor: NO_COLOR !== undefined,
    display: hasOwnDisplay(platform) ? !SSH_CONNECTION : Boolean(DISPLAY || WAYLAND_DISPLAY),
    tenant,
    proxy:
      proxy === undefined ? undefined : { url: withScheme(proxy), except: proxies.no_proxy ?? proxies.NO_PROXY ?? '' },
  };
}

/** What is empty is not there. */
function read(env: NodeJS.ProcessEnv): z.infer<typeof Environment> {
  return Environment.parse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')));
}

/** Elsewhere the environment says where windows open, also over SSH. */
function hasOwnDisplay(platform: NodeJS.Platform): boolean {
  return platform === 'darwin' || platform === 'win32';
}

/** curl and others take `host:port` too. */
function withScheme(proxy: string): string {
  return /^[a-z]+:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}
