import { expect, it } from 'vitest';
import { openBrowser, openerFor } from './open-browser.js';

const URL_WITH_SIGNS = 'https://issuer.example/auth?a=1&b=$(id)|x';

it.each([
  ['linux', ['xdg-open', URL_WITH_SIGNS]],
  ['freebsd', ['xdg-open', URL_WITH_SIGNS]],
  ['darwin', ['/usr/bin/open', URL_WITH_SIGNS]],
  ['win32', ['rundll32.exe', 'url.dll,FileProtocolHandler', URL_WITH_SIGNS]],
] as const)('opens a page on %s by an argument, which no shell reads', (platform, command) => {
  expect(openerFor(platform, URL_WITH_SIGNS)).toEqual(command);
});

it('says so where there is no program to open it', async () => {
  await expect(openBrowser(URL_WITH_SIGNS, 'win32')).resolves.toBe(false);
});
