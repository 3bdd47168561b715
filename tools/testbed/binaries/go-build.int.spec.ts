import { execFileSync } from 'node:child_process';
import { appendFile, chmod, cp, mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ended, runSource } from '../fixtures/run-source.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { tinyComponent } from '../fixtures/tiny-component.js';
import { PROVIDERS } from '../settings.js';
import { fromGoModules } from './go-build.js';
import type { Context } from './provider.js';

function contextIn(cacheDir: string, lines: string[] = []): Context {
  return {
    settings: { providers: PROVIDERS, chosen: false, cacheDir },
    env: process.env,
    log: (line) => lines.push(line),
  };
}

describe.skipIf(!hasGo())('a build from Go modules', () => {
  it('says what it does, builds the pinned version, and has it ready from then on', async () => {
    await using dir = await temporaryDirectory();
    const lines: string[] = [];
    const context = contextIn(dir.path, lines);
    expect((await fromGoModules.probe(tinyComponent(), context)).state).toBe('possible');
    const binary = await fromGoModules.obtain(tinyComponent(), context);
    expect(binary).toMatchObject({ version: '1.2.3', provider: 'go' });
    expect(lines[0]).toMatch(/^building etcd 1\.2\.3 from Go modules, about 1 s on 2 cores/u);
    // Between them: each ten seconds, how far it is.
    expect(lines.at(-1)).toMatch(/^built etcd 1\.2\.3 in \d+ s$/u);
    expect(await fromGoModules.probe(tinyComponent(), context)).toEqual({ state: 'ready', binary });
  });

  it('builds a corrupted binary again', async () => {
    await using dir = await temporaryDirectory();
    const context = contextIn(dir.path);
    const { path } = await fromGoModules.obtain(tinyComponent(), context);
    await truncate(path, 100);
    expect((await fromGoModules.probe(tinyComponent(), context)).state).toBe('possible');
    await fromGoModules.obtain(tinyComponent(), context);
    expect(execFileSync(path, { encoding: 'utf8' })).toContain('1.2.3');
  });

  it('refuses a build that says another version, and keeps nothing of it', async () => {
    await using dir = await temporaryDirectory();
    const component = tinyComponent({ version: '9.9.9' });
    await expect(fromGoModules.obtain(component, contextIn(dir.path))).rejects.toThrow('built etcd 1.2.3, not 9.9.9');
    expect((await fromGoModules.probe(component, contextIn(dir.path))).state).toBe('possible');
  });

  it('builds a program of our own again when its source has changed, and only then', async () => {
    await using dir = await temporaryDirectory();
    const source = join(dir.path, 'source');
    await cp(join(import.meta.dirname, '../fixtures/tiny'), source, { recursive: true });
    const { go } = tinyComponent();
    const place = relative(join(import.meta.dirname, '../go'), source);
    const component = tinyComponent({ go: { ...go, dir: place, ownSource: true } });
    const context = contextIn(join(dir.path, 'cache'));
    await fromGoModules.obtain(component, context);
    expect((await fromGoModules.probe(component, context)).state).toBe('ready');
    await appendFile(join(source, 'main.go'), '// changed\n');
    expect((await fromGoModules.probe(component, context)).state).toBe('possible');
  });

  it('keeps what a program reads beside it, even where nobody may write to it in its module', async () => {
    await using dir = await temporaryDirectory();
    const source = join(dir.path, 'source');
    await cp(join(import.meta.dirname, '../fixtures/tiny'), source, { recursive: true });
    await mkdir(join(source, 'texts/inner'), { recursive: true });
    await writeFile(join(source, 'texts/inner/one.txt'), 'one', { mode: 0o444 });
    await chmod(join(source, 'texts/inner'), 0o555);
    const { go } = tinyComponent();
    const place = relative(join(import.meta.dirname, '../go'), source);
    const component = tinyComponent({ go: { ...go, dir: place, tags: ['some', 'tags'], assets: ['texts'] } });
    const { path } = await fromGoModules.obtain(component, contextIn(join(dir.path, 'cache')));
    const copy = join(dirname(path), 'texts/inner/one.txt');
    expect(await readFile(copy, 'utf8')).toBe('one');
    expect((await stat(dirname(copy))).mode & 0o200).toBe(0o200);
  });

  it('never fetches what go.mod does not name', async () => {
    await using dir = await temporaryDirectory();
    const component = tinyComponent();
    const other = { ...component, go: { ...component.go, package: 'example.com/somewhere/else' } };
    await expect(fromGoModules.obtain(other, contextIn(dir.path))).rejects.toThrow('-mod=readonly');
  });

  it('builds once when two processes ask at the same time', async () => {
    await using dir = await temporaryDirectory();
    const runs = [1, 2].map(() => ended(runSource('fixtures/build-tiny.ts', [dir.path])));
    const results = (await Promise.all(runs)).map(({ stdout, stderr }) => {
      expect(stderr).toBe('');
      return JSON.parse(stdout) as { path: string; built: boolean };
    });
    expect(results.filter(({ built }) => built)).toHaveLength(1);
    expect(results[0]!.path).toBe(results[1]!.path);
  });

  it('stops when it is told to', async () => {
    await using dir = await temporaryDirectory();
    const signal = AbortSignal.abort(new Error('enough'));
    const context = { ...contextIn(dir.path), signal };
    await expect(fromGoModules.obtain(tinyComponent(), context)).rejects.toThrow('enough');
  });
});

function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
