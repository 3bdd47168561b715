import { whyNoDocker } from '../docker/container.js';
import { TestbedError } from '../errors.js';
import { readSettings, type Settings } from '../settings.js';

export interface ServerChoice {
  /** For messages: `NATS`. */
  readonly what: string;
  /** The variable with the address of a running one. */
  readonly variable: string;
  /** False: a container only where FAIRLEAD_TESTBED_PROVIDERS names docker. */
  readonly dockerByDefault: boolean;
}

/** How a server comes to be: `process` means a child process of a binary, whichever way the binary is found. */
export type Chosen = { readonly kind: 'env'; readonly address: string } | { readonly kind: 'docker' | 'process' };

export interface Passed {
  readonly provider: 'env' | 'docker';
  readonly why: string;
}

/** The first provider that works, with why those before it do not. Throws TestbedError when none is left. */
export async function chooseServer(
  choice: ServerChoice,
  settings: Settings = readSettings(),
  env: NodeJS.ProcessEnv = process.env,
): Promise<Chosen & { readonly passed: readonly Passed[] }> {
  const passed: Passed[] = [];
  for (const provider of settings.providers) {
    if (provider === 'env') {
      const address = env[choice.variable];
      if (address) return { kind: 'env', address, passed };
      passed.push({ provider, why: `${choice.variable} is not set` });
    } else if (provider === 'docker') {
      const why = choice.dockerByDefault || settings.chosen ? await whyNoDocker() : 'used only when asked for';
      if (why === undefined) return { kind: 'docker', passed };
      passed.push({ provider, why });
    } else {
      return { kind: 'process', passed };
    }
  }
  const reasons = passed.map(({ provider, why }) => `${provider}: ${why}`).join('; ');
  throw new TestbedError(
    `no ${choice.what}: ${reasons}. Set ${choice.variable}, start Docker, or allow more providers`,
  );
}
