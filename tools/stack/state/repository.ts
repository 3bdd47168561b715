import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Role } from '@fairlead/contracts';
import { StackError } from '../errors.js';

export type AppName = Role | 'agent' | 'cli' | 'installer';

/** The repository's root, seen from this file, compiled or not. */
export const REPOSITORY = findRoot(dirname(fileURLToPath(import.meta.url)));

/**
 * The entry file of an app: its bundle, as in its image, if that was made of the present files, and what `tsc` wrote if not.
 * Throws StackError if it has not been built.
 */
export function entryOf(app: AppName): string {
  const dist = join(REPOSITORY, 'apps', app, 'dist');
  const path = join(dist, 'main.js');
  if (!existsSync(path)) throw new StackError(`apps/${app} is not built: run npm run build`);
  return bundleIn(dist) ?? path;
}

interface BundleInputs {
  /** Relative to the app's `dist`. */
  readonly files: readonly string[];
  /** SHA-256 of all of them, one after the other. */
  readonly digest: string;
}

/** What tools/image/bundle.mjs made of an app; undefined if one of our files in it has changed since. */
export function bundleIn(dist: string): string | undefined {
  const list = join(dist, 'bundle', 'inputs.json');
  if (!existsSync(list)) return undefined;
  const { files, digest } = JSON.parse(readFileSync(list, 'utf8')) as BundleInputs;
  const hash = createHash('sha256');
  for (const file of files) {
    const path = join(dist, file);
    if (!existsSync(path)) return undefined;
    hash.update(readFileSync(path));
  }
  return hash.digest('hex') === digest ? join(dist, 'bundle', 'main.js') : undefined;
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
