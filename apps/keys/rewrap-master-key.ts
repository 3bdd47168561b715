import { parseArgs } from 'node:util';
import { FairleadError } from '@fairlead/errors';
import { rewrapMasterKey, sealedStatus } from '@fairlead/keys';
import type { Logger } from '@fairlead/observability';
import { withDatabase } from '@fairlead/service';
import { SCHEMA, caOptions } from './ca-options.js';
import type { Config } from './config.js';

/** `fairlead-keys rewrap-master-key [--status]`: everything sealed anew with the master key that seals now; or how much is left. */
export async function rewrapCommand(config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const onlyStatus = readArguments(process.argv.slice(3));
  await withDatabase(SCHEMA, config, logger, signal, async (database) => {
    const options = { ...caOptions(config, { database, logger, onCommitted: () => undefined }), signal };
    if (!onlyStatus) logger.info('master_key.rewrapped', await rewrapMasterKey(options));
    logger.info('master_key.status', { ...(await sealedStatus(options)) });
  });
}

function readArguments(args: string[]): boolean {
  try {
    return parseArgs({ args, options: { status: { type: 'boolean' } }, strict: true }).values.status === true;
  } catch {
    throw new FairleadError('INVALID_ARGUMENT', 'usage: rewrap-master-key [--status]');
  }
}
