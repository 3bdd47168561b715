import { fullJitterMs, systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import type { StackLog } from '../events.js';
import { baseEnvironment } from '../process/base-environment.js';
import { nodeUnit } from '../process/node-unit.js';
import type { Unit } from '../process/unit.js';
import { materialiseSandbox, refreshToken, sandboxUser, type SandboxOptions, type User } from './pod-sandbox.js';

export interface AgentUnitOptions {
  readonly name: string;
  /** The agent's entry file. */
  readonly main: string;
  readonly sandbox: SandboxOptions;
  readonly logPath: string;
  readonly log: StackLog;
  /** In place of the pod's own address, which this machine shares with everybody. */
  readonly healthPort: number;
  /** On top of what the Deployment says. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

const REFRESH_MS = 10 * 60_000;
const RETRY = { baseMs: 1_000, capMs: 30_000 };

/** The agent's pod as a process: each start reads the Deployment and its Secrets anew, as a new pod would. */
export async function agentUnit(
  options: AgentUnitOptions,
): Promise<{ readonly unit: Unit; readonly user: User | undefined }> {
  const { name, main, sandbox, logPath, log, healthPort } = options;
  const user = await sandboxUser(sandbox, [main]);
  const unit = nodeUnit({
    name,
    main,
    cwd: '/',
    logPath,
    log,
    user,
    healthUrl: `http://127.0.0.1:${healthPort}`,
    env: async () => ({
      ...baseEnvironment(),
      ...(await materialiseSandbox(sandbox, user)).env,
      FAIRLEAD_HEALTH_LISTEN: `127.0.0.1:${healthPort}`,
      ...options.env,
    }),
  });
  return { unit, user };
}

/** Keeps the service account's token fresh until the signal; a failure is said and tried again. Never rejects. */
export async function keepTokenFresh(
  options: AgentUnitOptions,
  user: User | undefined,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      await systemClock.sleep(failures === 0 ? REFRESH_MS : fullJitterMs(failures, RETRY), signal);
      await refreshToken(options.sandbox, user);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      const line = `the service account token could not be refreshed: ${messageOf(error)}`;
      options.log({ kind: 'line', process: options.name, line });
    }
  }
}
