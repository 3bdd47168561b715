// Collects what one app needs at run time into a folder, laid out as in the repository: the compiled code of the app and of
// the workspace packages it reaches, and the installed packages they reach. Development packages stay out.
//
//   node tools/image/assemble.mjs agent /out/agent
import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** Listed as dependencies by packages whose tests use them; no deployed process imports them. */
const FOR_TESTS = new Set(['@fairlead/testbed', '@fairlead/testing']);
const NEVER_RUN = /\.(?:d\.ts|d\.ts\.map|tsbuildinfo)$|\.(?:int\.)?spec\.js(?:\.map)?$/;

const [app, out] = process.argv.slice(2);
if (!app || !out) throw new Error('usage: node tools/image/assemble.mjs <app> <folder>');
const start = join(ROOT, 'apps', app);
if (!existsSync(join(start, 'dist', 'main.js'))) throw new Error(`apps/${app} is not built`);

const seen = new Set();
collect(start);

function collect(folder) {
  if (seen.has(folder)) return;
  seen.add(folder);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  copy(folder, !folder.split(sep).includes('node_modules'));
  const required = Object.keys(manifest.dependencies ?? {});
  const optional = [
    ...Object.keys(manifest.optionalDependencies ?? {}),
    ...Object.keys(manifest.peerDependencies ?? {}),
  ];
  for (const name of required) if (!FOR_TESTS.has(name)) follow(folder, name, true);
  for (const name of optional) follow(folder, name, false);
}

/** As Node resolves it: in the nearest node_modules above. */
function follow(from, name, required) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(candidate)) {
      if (lstatSync(candidate).isSymbolicLink()) link(candidate);
      collect(realpathSync(candidate));
      return;
    }
    if (folder === ROOT) break;
  }
  if (required) throw new Error(`${relative(ROOT, from)} needs ${name}, which is not installed`);
}

function link(path) {
  const target = join(out, relative(ROOT, path));
  if (existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  const real = join(out, relative(ROOT, realpathSync(path)));
  mkdirSync(real, { recursive: true });
  symlinkSync(relative(dirname(target), real), target);
}

function copy(folder, ours) {
  const target = join(out, relative(ROOT, folder));
  mkdirSync(target, { recursive: true });
  if (!ours) {
    // A package's own nested packages are collected one by one, if they are reached.
    cpSync(folder, target, { recursive: true, filter: (path) => path === folder || basename(path) !== 'node_modules' });
    return;
  }
  cpSync(join(folder, 'package.json'), join(target, 'package.json'));
  const compiled = join(folder, 'dist');
  if (existsSync(compiled))
    cpSync(compiled, join(target, 'dist'), { recursive: true, filter: (path) => !NEVER_RUN.test(path) });
}
