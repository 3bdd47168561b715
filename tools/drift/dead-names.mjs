// Files and settings that Markdown files name in backticks, and that are not there.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { trackedFiles } from './tracked-files.mjs';

const CODE_BLOCK = /^ *```.*?^ *```/gms;
const IN_BACKTICKS = /`([^`\n]+)`/g;
const FROM_THE_TOP = /^(apps|bench|charts|docs|e2e|libs|tools)(\/[\w.@-]+)+\/?$/;
const SOURCE_FILE = /^([\w.@-]+\/)*[\w-][\w.-]*\.(ts|mjs|cjs|proto)$/;
/** Names of no file in particular: `x.spec.ts` in a rule for all. What is compiled is not in git. */
const ANY_FILE = /^x\.|\/dist\//;
/** `libs/pki/csr` for a test file is what docs/security.md writes. */
const ENDINGS = ['', '.ts', '.spec.ts', '.int.spec.ts', '.e2e.ts'];
/** Those of the testbed are made of the names of its components. */
const SETTING = /^(FAIRLEAD_(?!TESTBED_)[A-Z0-9_]*[A-Z0-9])(=.*)?$/;

/** One sentence for each. Reports tell what was true on their day. */
export function deadNames() {
  const tracked = trackedFiles();
  const places = new Set(tracked.flatMap((file) => [file, ...foldersOf(file)]));
  const settings = settingsInCode(tracked);
  return tracked
    .filter((file) => file.endsWith('.md') && !file.startsWith('docs/reports/'))
    .flatMap((file) =>
      namesIn(file)
        .filter((name) => isDeadPath(file, name, places) || isDeadSetting(name, settings))
        .map((name) => `${file} names ${name}, which is not there`),
    );
}

function namesIn(file) {
  const text = readFileSync(file, 'utf8').replaceAll(CODE_BLOCK, '');
  return [...text.matchAll(IN_BACKTICKS)].map(([, name]) => name);
}

function isDeadPath(file, name, places) {
  if (ANY_FILE.test(name)) return false;
  const path = name.replace(/\/$/, '');
  const isThere = (from) => ENDINGS.some((ending) => places.has(join(from, path) + ending));
  if (FROM_THE_TOP.test(name)) return !isThere('.') && !isThere(dirname(file));
  // Named beside another, or from its own package: somewhere a path has to end so.
  return SOURCE_FILE.test(name) && ![...places].some((place) => place.endsWith(`/${path}`) || place === path);
}

function isDeadSetting(name, settings) {
  const [, setting] = SETTING.exec(name) ?? [];
  return setting !== undefined && !settings.has(setting);
}

function foldersOf(file) {
  const parts = file.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

function settingsInCode(tracked) {
  const code = tracked.filter(
    (file) => /\.(ts|mjs|tsx)$|^docker-compose\.yml$/.test(file) && !/\.(spec|e2e)\.ts$/.test(file),
  );
  return new Set(code.flatMap((file) => readFileSync(file, 'utf8').match(/\bFAIRLEAD_[A-Z0-9_]*[A-Z0-9]/g) ?? []));
}
