import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { loadConfig } from '@fairlead/config';
import { z } from 'zod';

const Environment = z.object({
  FAIRLEAD_HOME: z.string().optional(),
  XDG_CONFIG_HOME: z.string().optional(),
  KUBECONFIG: z.string().optional(),
  NO_COLOR: z.string().optional(),
});

export interface CliConfig {
  /** Where the login is kept, absolute. */
  readonly home: string;
  /** FAIRLEAD_HOME, absolute, if that is where `home` comes from. */
  readonly explicitHome: string | undefined;
  /** Kubeconfig files that belong to the user: never written. */
  readonly ownKubeconfigs: readonly string[];
  readonly noColor: boolean;
}

/** The environment as far as the command looks at it. */
export function readConfig(env: NodeJS.ProcessEnv, userHome: string = homedir()): CliConfig {
  const { FAIRLEAD_HOME, XDG_CONFIG_HOME, KUBECONFIG, NO_COLOR } = loadConfig(Environment, env);
  const explicitHome = FAIRLEAD_HOME === undefined ? undefined : resolve(FAIRLEAD_HOME);
  const own = [join(userHome, '.kube', 'config'), ...(KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '')];
  return {
    home: explicitHome ?? join(resolve(XDG_CONFIG_HOME ?? join(userHome, '.config')), 'fairlead'),
    explicitHome,
    ownKubeconfigs: own.map((path) => resolve(path)),
    noColor: NO_COLOR !== undefined,
  };
}
