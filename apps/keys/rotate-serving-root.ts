import { parseArgs } from 'node:util';
import { FairleadError } from '@fairlead/errors';
import { SERVING_STEPS, rotateServingRoot, type ServingStep } from '@fairlead/keys';
import type { Logger } from '@fairlead/observability';
import { withDatabase } from '@fairlead/service';
import { SCHEMA, caOptions } from './ca-options.js';
import type { Config } from './config.js';

const USAGE = `usage: rotate-serving-root ${SERVING_STEPS.join('|')} [--force]`;

/** `fairlead-keys rotate-serving-root STEP`: the root of what people's tools see is replaced, step by step. */
export async function rotateServingCommand(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const { step, force } = readArguments(process.argv.slice(3));
  await withDatabase(SCHEMA, config, logger, signal, async (database) => {
    const options = caOptions(config, { database, logger, onCommitted: () => undefined });
    logger.info('ca.serving_root', { step, ...(await rotateServingRoot(options, step, force)) });
  });
}

function readArguments(args: string[]): { step: ServingStep; force: boolean } {
  let parsed;
  try {
    parsed = parseArgs({ args, options: { force: { type: 'boolean' } }, allowPositionals: true, strict: true });
  } catch {
    throw new FairleadError('INVALID_ARGUMENT', USAGE);
  }
  const [wanted, ...others] = parsed.positionals;
  const step = SERVING_STEPS.find((one) => one === wanted);
  if (step === undefined || others.length > 0) throw new FairleadError('INVALID_ARGUMENT', USAGE);
  return { step, force: parsed.values.force === true };
}
