import { testAuthority } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { settleGitHost, type GitHostSettings } from './git-host-settings.js';

const input = {
  kind: 'gitea',
  url: 'https://git.example.com:8443/',
  sshPort: 22,
  caPem: null,
  createRepositories: false,
} as const;
const token = 'a-token-of-the-host';

it('takes the SSH host of the URL unless one is given', () => {
  expect(settleGitHost({ ...input, token }, null).settings.sshHost).toBe('git.example.com');
  expect(settleGitHost({ ...input, token, sshHost: 'ssh.example.com' }, null).settings.sshHost).toBe('ssh.example.com');
  expect(() => settleGitHost({ ...input, token, url: 'https://[::1]/' }, null)).toThrow('sshHost');
});

it('keeps a token only for the address and the authority that it was given for', async () => {
  const before = settleGitHost({ ...input, token }, null).settings;
  expect(settleGitHost({ ...input, createRepositories: true }, before).keepsToken).toBe(true);
  expect(settleGitHost({ ...input, sshPort: 2222 }, before).keepsToken).toBe(true);
  expect(settleGitHost({ ...input, token }, before).keepsToken).toBe(false);
  const caPem = (await testAuthority()).root.certificatePem;
  for (const change of [{ url: 'https://evil.example.com/' }, { caPem }]) {
    expect(() => settleGitHost({ ...input, ...change }, before)).toThrow('give the token again');
    expect(settleGitHost({ ...input, ...change, token }, before).settings).toMatchObject(change);
  }
});

it('refuses what cannot work', () => {
  expect(() => settleGitHost(input, null)).toThrow('a token is needed');
  expect(() => settleGitHost({ ...input, token, url: null, sshHost: 'git' }, null)).toThrow('url');
  expect(() => settleGitHost({ ...input, token, caPem: '-----BEGIN CERTIFICATE-----' }, null)).toThrow('caPem');
  const before: GitHostSettings = { ...input, sshHost: 'git' };
  expect(() => settleGitHost({ ...input, kind: 'github', token }, before)).toThrow('of kind gitea');
});

it('wants nothing of an API with a manual host', () => {
  const manual = { ...input, kind: 'manual', url: null, sshHost: 'git.example.com' } as const;
  expect(settleGitHost(manual, null)).toMatchObject({ keepsToken: false, settings: { url: null } });
  expect(() => settleGitHost({ ...manual, sshHost: undefined }, null)).toThrow('sshHost');
  for (const change of [{ token }, { url: input.url }, { createRepositories: true }]) {
    expect(() => settleGitHost({ ...manual, ...change }, null)).toThrow('manual');
  }
});
