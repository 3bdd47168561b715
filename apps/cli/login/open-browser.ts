import { spawn } from 'node:child_process';

/** The program that opens a URL on a platform, with its arguments: never a shell, to which `&` in a URL would mean something. */
export function openerFor(platform: NodeJS.Platform, url: string): readonly [program: string, ...args: string[]] {
  if (platform === 'darwin') return ['/usr/bin/open', url];
  if (platform === 'win32') return ['rundll32.exe', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}

/** Opens it and does not wait for the browser; false if there is no program that could. */
export function openBrowser(url: string, platform: NodeJS.Platform = process.platform): Promise<boolean> {
  const [program, ...args] = openerFor(platform, url);
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'ignore', detached: true, shell: false });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
