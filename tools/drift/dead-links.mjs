// Relative links of Markdown files that lead nowhere.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { trackedFiles } from './tracked-files.mjs';

const LINK = /\]\(([^)#\s]+)(?:#[^)\s]*)?\)/g;

/** One sentence for each. */
export function deadLinks() {
  return trackedFiles('*.md').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(LINK)]
      .map(([, target]) => target)
      .filter((target) => !/^[a-z]+:/i.test(target) && !existsSync(join(dirname(file), target)))
      .map((target) => `${file} links to ${target}, which is not there`),
  );
}
