import { chmod, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { extract } from 'tar';
import { TestbedError, messageOf } from '../errors.js';
import { fill, listEntries, lookUp, type Found } from './cache.js';
import type { Component, Release } from './catalog.js';
import { platform } from './platform.js';
import { sumFor } from './checksums.js';
import { DEFAULT_LIMITS, fetchText, fetchToFile, knownUnreachable, type FetchLimits } from './fetch.js';
import type { Binary, BinaryProvider, Context, Probe } from './provider.js';
import { versionOf } from './version.js';

const SUMS_MAX_BYTES = 1024 ** 2;
const PROGRESS_MS = 5_000;

/** Downloads the official release and uses it only when its SHA-256 is right. */
export const fromRelease = releaseProvider(DEFAULT_LIMITS);

/** As `fromRelease`, with limits of one's own. */
export function releaseProvider(limits: FetchLimits): BinaryProvider {
  return {
    name: 'download',
    advice: (component) =>
      isReleased(component)
        ? `let this machine reach ${new URL(component.release.url).host} (HTTPS_PROXY is honoured)`
        : undefined,
    probe: (component, context) =>
      isReleased(component)
        ? probe(component, context)
        : Promise.resolve({ state: 'no', why: `there is no release of ${component.name}` }),
    async obtain(component, context): Promise<Binary> {
      if (!isReleased(component)) throw new TestbedError(`there is no release of ${component.name}`);
      const sum = component.release.pinned[platform().key] ?? (await publishedSum(component, context, limits));
      const key = { root: context.settings.cacheDir, name: component.name, entry: entryName(component, sum) };
      const found = await fill(key, {
        log: context.log,
        signal: context.signal,
        make: async (path, signal) => {
          await download(component, path, sum, { ...context, signal }, limits);
          const version = await versionOf(path, component);
          if (version !== component.version)
            throw new TestbedError(`the release of ${component.name} says it is ${version}`);
          return { version, provider: 'download', source: filled(component, component.release.url) };
        },
      });
      return toBinary(found);
    },
  };
}

type Released = Component & { readonly release: Release };

const isReleased = (component: Component): component is Released => component.release !== undefined;

async function probe(component: Released, { settings }: Context): Promise<Probe> {
  const { key } = platform();
  const root = settings.cacheDir;
  const pinned = component.release.pinned[key];
  const wanted = (entry: string) =>
    pinned === undefined
      ? entry.startsWith(`${component.version}-`) && entry.endsWith(`-${key}`)
      : entry === entryName(component, pinned);
  for (const entry of (await listEntries(root, component.name)).filter(wanted)) {
    const found = await lookUp({ root, name: component.name, entry });
    if (found?.entry.provider === 'download') return { state: 'ready', binary: toBinary(found) };
  }
  if (!component.release.platforms.includes(key)) return { state: 'no', why: `there is no release for ${key}` };
  const { host } = new URL(component.release.url);
  const down = knownUnreachable(component.release.url);
  if (down !== undefined) return { state: 'no', why: `${host} is not reachable: ${down}` };
  return { state: 'possible', how: `downloads the release from ${host}` };
}

function toBinary({ path, entry }: Found): Binary {
  return { path, version: entry.version, provider: 'download', why: `verified download of ${entry.source}` };
}

const entryName = (component: Component, sum: string) => `${component.version}-${sum.slice(0, 12)}-${platform().key}`;

function filled(component: Component, template: string): string {
  const { os, arch } = platform();
  return template.replaceAll('{version}', component.version).replaceAll('{os}', os).replaceAll('{arch}', arch);
}

async function publishedSum(component: Released, { signal }: Context, limits: FetchLimits): Promise<string> {
  const options = { limits: { ...limits, maxBytes: Math.min(limits.maxBytes, SUMS_MAX_BYTES) }, signal };
  const text = await fetchText(filled(component, component.release.sumsUrl), options);
  return sumFor(text, basename(filled(component, component.release.url)));
}

async function download(
  component: Released,
  path: string,
  sum: string,
  context: Context,
  limits: FetchLimits,
): Promise<void> {
  const url = filled(component, component.release.url);
  const file = `${path}.download`;
  const what = `downloading ${component.name} ${component.version} from ${new URL(url).host}`;
  context.log(what);
  let reported = Date.now();
  const onProgress = (bytes: number, total: number | undefined) => {
    if (Date.now() - reported < PROGRESS_MS) return;
    reported = Date.now();
    context.log(
      `${what} … ${mebibytes(bytes)} of ${total === undefined ? 'an unknown number of' : mebibytes(total)} MiB`,
    );
  };
  const actual = await fetchToFile(url, file, { limits, signal: context.signal, onProgress });
  if (actual !== sum) throw new TestbedError(`${url}: the SHA-256 is ${actual}, not ${sum}; nothing of it is used`);
  if (component.release.member === undefined) await rename(file, path);
  else await unpack(file, filled(component, component.release.member), path);
  await chmod(path, 0o755);
}

const mebibytes = (bytes: number) => Math.round(bytes / 1024 ** 2);

/** Takes one regular file out of a .tar.gz. Only called for an archive whose sum was right. */
async function unpack(archive: string, member: string, path: string): Promise<void> {
  const into = join(dirname(path), 'unpacked');
  await mkdir(into);
  try {
    await extract({ file: archive, cwd: into, strict: true, filter: (name) => name.replace(/^\.\//u, '') === member });
    const binary = join(into, member);
    if (!(await lstat(binary)).isFile()) throw new Error('it is not a regular file');
    await rename(binary, path);
  } catch (cause) {
    throw new TestbedError(`cannot take ${member} out of the archive: ${messageOf(cause)}`, { cause });
  } finally {
    await rm(into, { recursive: true, force: true });
    await rm(archive, { force: true });
  }
}
