import { FairleadError } from '@fairlead/errors';

/** As `node --env-file` reads it. INVALID_ARGUMENT for a value that would not come back as it is. */
export function environmentFile(env: Readonly<Record<string, string>>): string {
  const lines = Object.entries(env).map(([name, value]) => {
    if (/["\n\\]/.test(value)) throw new FairleadError('INVALID_ARGUMENT', `${name} has a value that no file can hold`);
    return `${name}="${value}"\n`;
  });
  return lines.join('');
}
