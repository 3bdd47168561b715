import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Paths of the files that git knows and that are there. None without git, as in an unpacked archive. */
export function trackedFiles(...patterns) {
  try {
    const listed = execFileSync('git', ['ls-files', ...patterns], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return listed.split('\n').filter((file) => file !== '' && existsSync(file));
  } catch {
    return [];
  }
}
