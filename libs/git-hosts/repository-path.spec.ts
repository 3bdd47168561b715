import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkBranch, isSshUrl, parseRepositoryPath, repositoryText } from './repository-path.js';

describe('the path of a repository', () => {
  it('has an owner, nested where the host nests', () => {
    expect(parseRepositoryPath('platform/catalog')).toEqual({ owner: 'platform', name: 'catalog' });
    expect(parseRepositoryPath('a/b-c/d.e_f')).toEqual({ owner: 'a/b-c', name: 'd.e_f' });
    expect(() => parseRepositoryPath('a/b/c', { nested: false })).toThrow('owner/name');
  });

  it.each([
    '',
    'a',
    '/a',
    'a/',
    'a//b',
    'a/..',
    '../b',
    'a/.',
    'a/b.git',
    'a/b.GIT',
    'a/b c',
    'a/b?c',
    'a/b#c',
    'a/-b',
    'a/b%2f',
    'a\\b/c',
    'a/b\n',
  ])('is not %j', (text) => {
    expect(() => parseRepositoryPath(text)).toThrow('a repository is named');
  });

  it('is the same in a URL as it was given, or refused', () => {
    const unit = fc.constantFrom('a', 'B', '1', '.', '-', '_', '/', '%', '?', '#', ' ', '\\', ':', '@', 'ü');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        let path;
        try {
          path = parseRepositoryPath(text);
        } catch {
          return;
        }
        expect(repositoryText(path)).toBe(text);
        expect(new URL(`https://host/api/${text}`).pathname).toBe(`/api/${text}`);
      }),
    );
  });
});

describe('the name of a branch', () => {
  it.each(['main', 'release/1.2', 'a-b_c', "it's", 'feature/#12', 'ünïcode', 'a@b'])('may be %s', (name) => {
    expect(() => checkBranch(name)).not.toThrow();
  });

  it.each([
    '',
    '@',
    '-x',
    '/x',
    'x/',
    '.x',
    'x.',
    'a..b',
    'a//b',
    'a/.b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\b',
    'a@{0}',
    'a.lock',
    'a.lock/b',
    'a\u0007',
  ])('is not %j', (name) => {
    expect(() => checkBranch(name)).toThrow('not the name of a branch');
  });
});

describe('an address for Git over SSH', () => {
  it.each([
    'git@github.com:a/b.git',
    'ssh://git@git.example.com:2222/a/b.git',
    'ssh://git@[::1]:22/a/b.git',
    'git@gitlab.example.com:g/s/p.git',
  ])('is %s', (text) => expect(isSshUrl(text)).toBe(true));

  it.each([
    'ssh://-oProxyCommand=touch%20x/a',
    'ssh://git@-oProxyCommand=x/a',
    'git@-oProxyCommand=x:a',
    '-git@host:a',
    '--upload-pack=x',
    'ssh://git@host/../../etc',
    'ssh://git@host/a b',
    'ssh://git@host/a\nb',
    'ssh://git:password@host/a',
    'https://github.com/a/b.git',
    'file:///etc/passwd',
    'ext::sh -c x',
    'host:a/b',
  ])('is not %j', (text) => expect(isSshUrl(text)).toBe(false));
});
