import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { SERVICES } from '../../libs/contracts/dist/services.js';
import { compile } from './compile.mjs';
import { sbomOf } from './sbom.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** Modules of ours that do something by being loaded: entry files, and the polyfill that a library wants first. */
const HAS_SIDE_EFFECTS = [/\/apps\/[^/]+\/dist\/main\.js$/, /\/libs\/pki\/dist\/x509\.js$/];
/**
 * Compiled code is kept beside the bundle, by relative paths so that it may be copied. Where nobody may write, nobody
 * writes: it is read all the same.
 */
const ENTRY = `'use strict';
require('node:module').enableCompileCache({ directory: require('node:path').join(__dirname, 'compiled'), portable: true });
require('./app.js');
`;

/** Entries beside an app's own: a module that is started as a thread or a process, by the name that its package exports it under. */
const THREADS = {
  gitops: { '@fairlead/gitops/bundle-worker': join(ROOT, 'libs/gitops/dist/feature/bundle-worker.js') },
  keys: { '@fairlead/keys/pkcs11-worker': join(ROOT, 'libs/keys/dist/kms/pkcs11/token-worker.js') },
};

/**
 * Packages with compiled code, which stay packages beside the bundle, with what of them is read at run time. Theirs for this platform are
 * optional dependencies: the image is of the platform that it is built on.
 */
const NATIVE = {
  keys: [
    { name: 'koffi', files: ['package.json', 'index.cjs', 'src/koffi/index.cjs', 'src/koffi/src/static.cjs'] },
    { name: '@koromix' },
  ].filter(({ name }) => existsSync(join(ROOT, 'node_modules', name))),
};

/** What is put in the place of a global, and where from. */
const INJECTED = {
  agent: { Headers: [join(ROOT, 'libs/agent/dist/grpc-metadata.js'), 'GrpcMetadata'] },
};

/** All that people or images start: each as a bundle, as reading modules is most of a start. */
export const BUNDLED = ['agent', 'cli', 'demo', 'installer', 'setup', ...Object.keys(SERVICES)];

/** Writes the bundle of an app into a folder, which is replaced as a whole. `user`: whom it will run as, if not as us. */
export async function bundle(app, target, user) {
  const entry = builtEntry(app);
  const dist = dirname(entry);
  const fresh = `${target}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  try {
    const modules = await build(app, entry, fresh);
    writeFileSync(join(fresh, 'main.js'), ENTRY);
    for (const name of Object.keys(THREADS[app] ?? {})) exportThread(fresh, name);
    for (const native of NATIVE[app] ?? []) copyNative(fresh, native);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'apps', app, 'package.json'), 'utf8'));
    writeFileSync(join(fresh, 'package.json'), `${JSON.stringify({ type: 'commonjs', version })}\n`);
    writeFileSync(join(fresh, 'inputs.json'), JSON.stringify(inputs(modules, dist), null, 1));
    const all = [...modules, ...nativeOf(app)];
    writeFileSync(join(fresh, 'LICENSES.txt'), licences(all));
    const sbom = sbomOf({ app, version, packages: packagesOf(all), root: ROOT });
    writeFileSync(join(fresh, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 1)}\n`);
    compile(app, fresh, user);
    rmSync(target, { recursive: true, force: true });
    renameSync(fresh, target);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Resolves with the paths of all modules that went in. */
async function build(app, entry, dir) {
  const modules = await buildOne(app, 'app', entry, dir);
  // Each by itself: a file that two entries share may be the app's own, which starts the app in whoever reads it.
  for (const [name, path] of Object.entries(THREADS[app] ?? {})) {
    modules.push(...(await buildOne(app, basename(name), path, dir)));
  }
  return [...new Set(modules)];
}

function buildOne(app, name, entry, dir) {
  return write(
    app,
    { [name]: entry },
    {
      dir,
      entryFileNames: '[name].js',
      chunkFileNames: name === 'app' ? '[name].js' : `${name}-[name].js`,
      // Read by tools/image/trace.mjs. Node would parse them at each start: 100 ms and 35 MB.
      sourcemap: 'hidden',
    },
  );
}

/** Writes an app as one file; resolves with the licences of what is in it. */
export async function bundleAsOneFile(app, file) {
  return licences(await write(app, builtEntry(app), { file, codeSplitting: false }));
}

/** Resolves with the paths of all modules that went in. */
async function write(app, input, as) {
  const bundler = await rolldown({
    input,
    platform: 'node',
    // Compiled for one machine, if at all: who asks for them goes on without.
    external: ['cpu-features', 'koffi', /\.node$/],
    tsconfig: false,
    transform: { inject: INJECTED[app] ?? {} },
    // Frameworks ask for packages that need not be there; what is needed, the image's test finds missing.
    onLog: (level, log, handle) => {
      if (log.code !== 'UNRESOLVED_IMPORT') handle(level, log);
    },
    treeshake: {
      moduleSideEffects: (id) =>
        id.includes(`${sep}node_modules${sep}`) || HAS_SIDE_EFFECTS.some((path) => path.test(id)),
    },
  });
  // An `import` of node:http reads all it exports, and so loads undici; `require` does not.
  const { output } = await bundler.write({ ...as, format: 'cjs', minify: false });
  await bundler.close();
  return output.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => existsSync(id));
}

function builtEntry(app) {
  const entry = join(ROOT, 'apps', app, 'dist', 'main.js');
  if (!existsSync(entry)) throw new Error(`apps/${app} is not built`);
  return entry;
}

/** Makes `@fairlead/<lib>/<thread>` be found from within the bundle, as from within the repository. */
function exportThread(bundle, name) {
  const folder = join(bundle, 'node_modules', dirname(name));
  const file = `./${basename(name)}.js`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ exports: { [`./${basename(name)}`]: file } })}\n`);
  const thread = relative(folder, join(bundle, file));
  writeFileSync(join(folder, file), `'use strict';\nrequire(${JSON.stringify(thread)});\n`);
}

/** A file of each package that is copied. */
function nativeOf(app) {
  const names = (NATIVE[app] ?? []).flatMap(({ name }) =>
    name.startsWith('@') ? readdirSync(join(ROOT, 'node_modules', name)).map((one) => join(name, one)) : [name],
  );
  return names.map((name) => join(ROOT, 'node_modules', name, 'package.json'));
}

/** Without `files`: all of it. */
function copyNative(bundle, { name, files = [''] }) {
  for (const file of files) {
    cpSync(join(ROOT, 'node_modules', name, file), join(bundle, 'node_modules', name, file), { recursive: true });
  }
}

/** Our own files in it: tools/stack takes a bundle only if they are still the same. */
function inputs(modules, from) {
  const own = modules.filter((id) => !id.includes(`${sep}node_modules${sep}`));
  const hash = createHash('sha256');
  for (const id of own) hash.update(readFileSync(id));
  return { files: own.map((id) => relative(from, id)), digest: hash.digest('hex') };
}

/** The folders of the packages that these modules are of; ours are none. */
function packagesOf(modules) {
  const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]);
  return [...new Set(folders.filter(Boolean))];
}

/** The licence texts of all packages in the bundle. */
function licences(modules) {
  return packagesOf(modules)
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
      const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
      return [`${name} ${version} (${license})`, ...texts].join('\n\n');
    })
    .sort()
    .join(`\n\n${'-'.repeat(80)}\n\n`);
}
