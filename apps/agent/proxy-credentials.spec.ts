import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readProxyCredentials } from './proxy-credentials.js';

async function reading(username: string | null, password: string): Promise<unknown> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'fairlead-proxy-'));
  const dir = scratch.path;
  if (username !== null) await writeFile(`${dir}/username`, username);
  await writeFile(`${dir}/password`, password);
  return await readProxyCredentials(dir);
}

it('reads a mounted Secret, with or without an end of line', async () => {
  expect(await reading('agent', 'p@ss: wörd ')).toEqual({ username: 'agent', password: 'p@ss: wörd ' });
  expect(await reading('agent\n', '\n')).toEqual({ username: 'agent', password: '' });
});

it.each([
  [null, 'username: ENOENT'],
  ['', 'username: it is empty, or has a colon'],
  ['a:b', 'username: it is empty, or has a colon'],
  ['x'.repeat(1_025), 'username: it has more than 1024 bytes'],
])('tells which file is wrong with the username %j, and not what is in it', async (username, why) => {
  const refused = reading(username, 'hidden');
  await expect(refused).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining(why) as string,
  });
  await expect(refused).rejects.not.toThrow('hidden');
});
