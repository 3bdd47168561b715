// @tier full: a real Chromium; apps/cli/login/login.int.spec.ts shows the same with a browser without scripts
import { startDemoIssuer } from '@fairlead/stack/demo-issuer';
import { HeadlessBrowser } from '@fairlead/testing';
import { expect, it, vi } from 'vitest';
import { issuerAs } from '../testing/demo-issuer.js';
import { cliScene } from '../testing/logged-in.js';

const scene = cliScene();
const server = (): string[] => ['--server', scene.api.url, '--ca-file', scene.caFile];

it('somebody logs in with a real browser, whose pages break no rule that it keeps, and once more by a code', async () => {
  await using issuer = await startDemoIssuer();
  await using browser = await HeadlessBrowser.start();
  scene.api.script.issuers.set('demo', issuerAs('demo', issuer));
  const opened = Promise.withResolvers<string>();
  const login = scene.fairlead(['login', ...server()], {
    terminal: true,
    env: { DISPLAY: ':0' },
    browser: (url) => opened.resolve(url),
  });
  await browser.open(await opened.promise);
  await browser.read('This is a demo.');
  await browser.press('dana');
  await browser.read('Fairlead has your answer');
  expect(await login).toMatchObject({ status: 0, out: `logged in to ${scene.api.url} as demo:dana\n` });

  const shown: string[] = [];
  const byCode = scene.fairlead(['login', '--device'], { onStderr: (text) => shown.push(text) });
  const address = await vi.waitUntil(() => /open (\S+user_code=\S+) and compare/.exec(shown.join(''))?.[1]);
  await using another = await HeadlessBrowser.start();
  await another.open(address);
  await another.press('The terminal shows this code');
  await another.press('otto');
  await another.read('You are logged in');
  expect(await byCode).toMatchObject({ status: 0, out: `logged in to ${scene.api.url} as demo:otto\n` });
});
