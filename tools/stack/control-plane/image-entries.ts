// What tests ask of the Dockerfile and of the settings that an app reads: both are text to them.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Role } from '@fairlead/contracts';
import { REPOSITORY } from '../state/repository.js';

export const readText = (...path: string[]): string => readFileSync(join(REPOSITORY, ...path), 'utf8');

/** What the image of a role runs. */
export const entryIn = (role: string): string | undefined =>
  new RegExp(`^COPY --from=build /out/${role} /app\nCMD \\["([^"]+)"\\]$`, 'm').exec(readText('Dockerfile'))?.[1];

/** The last part of the repository, whatever the registry, the tag and the digest. */
export const imageName = (image: string): string => basename(image).replace(/[:@].*$/, '');

/** What an app reads: its own schema, and the shared pieces in it. */
export const settingsReadBy = (role: Role): string =>
  [readText('apps', role, 'config.ts'), readText('libs/service/settings.ts'), readText('libs/config/tracing.ts')].join(
    '\n',
  );
