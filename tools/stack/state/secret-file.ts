import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomSecret } from '@fairlead/setup';

/** The secret in a 0600 file; made once, by `make`, if there is none. A crash never leaves half of one. */
export function secretOnce(path: string, make: () => string = randomSecret): string {
  if (existsSync(path)) return readFileSync(path, 'utf8').trim();
  const temporary = temporaryName(path);
  writeFileSync(temporary, `${make()}\n`, { mode: 0o600 });
  try {
    linkSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
  return readFileSync(path, 'utf8').trim();
}

/** Puts a value into a file in one step, readable by its owner only. */
export function putSecret(path: string, value: string): void {
  const temporary = temporaryName(path);
  writeFileSync(temporary, `${value}\n`, { mode: 0o600 });
  renameSync(temporary, path);
}

function temporaryName(path: string): string {
  return `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
}
