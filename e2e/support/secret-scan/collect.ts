import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SecretRegistry } from './registry.js';

/** Secrets that a stack keeps in its state directory: its own, those of the command's logins, those of agents' pods. */
export async function collectFromState(registry: SecretRegistry, stateDir: string): Promise<void> {
  for (const path of await filesIn(join(stateDir, 'secrets'))) {
    // The server's configuration names public keys only, and a certificate is shown to everybody.
    if (path.endsWith('.conf') || path.endsWith('.crt')) continue;
    const name = path.slice(stateDir.length + 1);
    const text = (await readFile(path, 'utf8')).trim();
    // Other PEM begins, ends and describes its key just so.
    if (text.includes('-----BEGIN ')) registry.addKey(name, text);
    else registry.add(name, path.endsWith('.url') ? decodeURIComponent(new URL(text).password) : text);
  }
  for (const home of ['home', 'own-home']) {
    for (const path of await filesIn(join(stateDir, home))) {
      const { token } = JSON.parse(await readFile(path, 'utf8')) as { token?: string };
      if (token !== undefined) registry.add(`the token in ${home}`, token);
    }
  }
  for (const path of await filesIn(join(stateDir, 'agents'))) {
    const text = (await readFile(path, 'utf8')).trim();
    registry.addGiven(text);
    if (path.endsWith('/serviceaccount/token')) registry.add('a service account token', text);
  }
}

/** Every file below a folder; none if there is no such folder. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map(({ parentPath, name }) => join(parentPath, name));
}
