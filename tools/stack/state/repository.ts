import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StackError } from '../errors.js';

export type AppName = 'agent' | 'api' | 'cli' | 'gateway' | 'keys' | 'registration';

/** The repository's root, seen from this file, compiled or not. */
export const REPOSITORY = findRoot(dirname(fileURLToPath(import.meta.url)));

/** The compiled entry file of an app. Throws StackError if it has not been built. */
export function entryOf(app: AppName): string {
  const path = join(REPOSITORY, 'apps', app, 'dist', 'main.js');
  if (!existsSync(path)) throw new StackError(`apps/${app} is not built: run npm run build`);
  return path;
}

function findRoot(folder: string): string {
  const manifest = join(folder, 'package.json');
  if (existsSync(manifest) && (JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string }).name === 'fairlead') {
    return folder;
  }
  const above = dirname(folder);
  if (above === folder) throw new StackError('the fairlead repository was not found above its own code');
  return findRoot(above);
}
