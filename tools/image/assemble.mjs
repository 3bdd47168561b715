// Collects what one app needs at run time into a folder, laid out as in the repository. Of our own packages it takes the
// compiled files that the app's entry file reaches by imports, of installed ones the whole package and what that depends on.
// What only builds or tests, and the half of a package that another app uses, stays out. Of an app that has a bundle
// it makes that, which needs nothing beside it.
//
//   node tools/image/assemble.mjs agent /out/agent
import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import typescript from 'typescript';
import { SHIPPED, bundle } from './bundle-app.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const [app, out] = process.argv.slice(2);
if (!app || !out) throw new Error('usage: node tools/image/assemble.mjs <app> <folder>');
const entry = join(ROOT, 'apps', app, 'dist', 'main.js');
if (!existsSync(entry)) throw new Error(`apps/${app} is not built`);

/** Whom the images run as. What V8 compiled is kept by user; only root can make it for another one. */
const IMAGE_USER = process.getuid?.() === 0 ? { uid: 65_532, gid: 65_532 } : undefined;
const seen = new Set();
if (SHIPPED.includes(app)) await bundle(app, join(out, 'apps', app, 'dist', 'bundle'), IMAGE_USER);
else takeFile(entry);

/** One of our own compiled files, and all that it imports. */
function takeFile(file) {
  if (seen.has(file)) return;
  seen.add(file);
  copy(file);
  if (existsSync(`${file}.map`)) copy(`${file}.map`);
  copy(join(packageOf(file), 'package.json'));
  if (!file.endsWith('.js')) return;
  const { importedFiles } = typescript.preProcessFile(readFileSync(file, 'utf8'), true, true);
  for (const { fileName } of importedFiles) follow(file, fileName);
}

function follow(file, specifier) {
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return;
  if (specifier.startsWith('.')) {
    takeFile(resolve(dirname(file), specifier));
    return;
  }
  const parts = specifier.split('/');
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  const folder = installed(dirname(file), name);
  if (folder === undefined) throw new Error(`${relative(ROOT, file)} imports ${name}, which is not installed`);
  if (isOurs(folder)) takeFile(exportedFile(folder, `./${parts.slice(2).join('/')}`));
  else takePackage(folder);
}

/** What a package of ours gives for `@fairlead/x` (`./`) or `@fairlead/x/y` (`./y`). */
function exportedFile(folder, subpath) {
  const { exports } = readManifest(folder);
  const target = exports[subpath === './' ? '.' : subpath];
  if (target === undefined) throw new Error(`${relative(ROOT, folder)} exports no ${subpath}`);
  return join(folder, target.default ?? target);
}

/** An installed package as it is, without the packages nested in it: those are taken one by one, if they are reached. */
function takePackage(folder) {
  if (seen.has(folder)) return;
  seen.add(folder);
  const filter = (path) => path === folder || basename(path) !== 'node_modules';
  cpSync(folder, join(out, relative(ROOT, folder)), { recursive: true, filter });
  const {
    dependencies = {},
    optionalDependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = readManifest(folder);
  // A peer that is optional is there for somebody else, if at all.
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  for (const name of [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers]) {
    const found = installed(folder, name);
    if (found !== undefined) takePackage(found);
    else if (name in dependencies && !(name in optionalDependencies)) {
      throw new Error(`${relative(ROOT, folder)} needs ${name}, which is not installed`);
    }
  }
}

/** The folder of a package, from the nearest node_modules above, as Node finds it. */
function installed(from, name) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(candidate)) {
      if (lstatSync(candidate).isSymbolicLink()) link(candidate);
      return realpathSync(candidate);
    }
    if (folder === ROOT) return undefined;
  }
}

function isOurs(folder) {
  return !folder.split(sep).includes('node_modules');
}

function packageOf(file) {
  const folder = dirname(file);
  return existsSync(join(folder, 'package.json')) ? folder : packageOf(folder);
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function copy(path) {
  const target = join(out, relative(ROOT, path));
  mkdirSync(dirname(target), { recursive: true });
  if (!existsSync(target)) cpSync(path, target);
}

function link(path) {
  const target = join(out, relative(ROOT, path));
  if (existsSync(target)) return;
  const real = join(out, relative(ROOT, realpathSync(path)));
  for (const folder of [dirname(target), real]) mkdirSync(folder, { recursive: true });
  symlinkSync(relative(dirname(target), real), target);
}
