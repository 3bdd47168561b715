// Writes each package's tsconfig.json from the @fairlead/* dependencies in its package.json, so that the two never
// disagree. With --check it writes nothing and fails when one is out of date.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const check = process.argv.includes('--check');
const manifests = ['libs', 'libs/tunnel', 'apps', 'tools']
  .flatMap((group) => globSync(`${group}/*/package.json`))
  .concat(['e2e/package.json', 'bench/package.json'].filter((path) => existsSync(path)))
  .sort();
const folderOf = new Map(manifests.map((path) => [JSON.parse(readFileSync(path, 'utf8')).name, dirname(path)]));

let stale = 0;
function put(path, value) {
  const text = `${JSON.stringify(value, null, 2)}\n`;
  if (existsSync(path) && JSON.stringify(JSON.parse(readFileSync(path, 'utf8'))) === JSON.stringify(value)) return;
  stale += 1;
  if (check) console.error(`${path} is out of date: run node tools/drift/sync-references.mjs`);
  else writeFileSync(path, text);
}

for (const manifest of manifests) {
  const folder = dirname(manifest);
  const { dependencies: used = {}, devDependencies: tested = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  const dependencies = Object.keys({ ...used, ...tested });
  const references = dependencies
    .filter((name) => folderOf.has(name))
    .map((name) => ({ path: relative(folder, folderOf.get(name)) }));
  // A package inside another is compiled by itself.
  const inside = manifests.map(dirname).filter((other) => other.startsWith(`${folder}/`));
  put(join(folder, 'tsconfig.json'), {
    extends: relative(folder, 'tsconfig.base.json'),
    compilerOptions: { rootDir: '.', outDir: 'dist', tsBuildInfoFile: 'dist/.tsbuildinfo' },
    include: ['**/*.ts'],
    exclude: ['dist', 'node_modules', ...inside.map((other) => relative(folder, other))],
    references,
  });
}
put('tsconfig.json', { files: [], references: manifests.map((path) => ({ path: dirname(path) })) });
process.exitCode = check && stale > 0 ? 1 : 0;
