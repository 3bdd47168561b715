// Relative links of Markdown files that lead nowhere.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const LINK = /\]\(([^)#\s]+)(?:#[^)\s]*)?\)/g;

/** One sentence for each, of the files that git knows. Without git, as in an unpacked archive, none are looked at. */
export function deadLinks() {
  return markdownFiles().flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(LINK)]
      .map(([, target]) => target)
      .filter((target) => !/^[a-z]+:/i.test(target) && !existsSync(join(dirname(file), target)))
      .map((target) => `${file} links to ${target}, which is not there`),
  );
}

function markdownFiles() {
  try {
    const listed = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return listed.split('\n').filter((file) => file !== '' && existsSync(file));
  } catch {
    return [];
  }
}
