import { access } from 'node:fs/promises';
import { failure } from '../failure.js';

/** ALREADY_EXISTS if one of these files is there: what is asked for would replace it. For a command with --out and --force. */
export async function refuseExisting(...paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (!exists) continue;
    throw failure('ALREADY_EXISTS', `${path} exists`, 'choose another --out, or add --force to replace what is there');
  }
}
