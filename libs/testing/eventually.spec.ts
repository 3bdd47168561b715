import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { verifyChain } from '@fairlead/pki';
import { expect, it } from 'vitest';
import { eventually, scratchDir, testAuthority } from './index.js';

it('returns the first success and tells the last failure', async () => {
  let tries = 0;
  const third = (): number => {
    tries += 1;
    if (tries < 3) throw new Error('not yet');
    return tries;
  };
  await expect(eventually(third, { intervalMs: 1 })).resolves.toBe(3);
  const never = eventually(() => Promise.reject(new Error('nope')), { timeoutMs: 20, intervalMs: 5 });
  await expect(never).rejects.toThrow(/still failing after 20 ms: nope/);
});

it('pauses the longer the longer a try takes', async () => {
  let tries = 0;
  const slow = async (): Promise<void> => {
    tries += 1;
    await delay(100);
    if (tries < 3) throw new Error('not yet');
  };
  const begun = performance.now();
  await eventually(slow);
  // Three tries and two pauses of three times as long; a timer may be a little early.
  expect(performance.now() - begun).toBeGreaterThan(880);
});

it('does not wait for a try that hangs', async () => {
  await expect(eventually(() => new Promise(() => undefined), { timeoutMs: 20 })).rejects.toThrow('did not finish');
});

it('tells what failed before a try that hangs', async () => {
  let tries = 0;
  const hangsAtLast = (): Promise<void> => {
    tries += 1;
    return tries < 3 ? Promise.reject(new Error('nope')) : new Promise(() => undefined);
  };
  const hanging = eventually(hangsAtLast, { timeoutMs: 1_000, intervalMs: 1 });
  await expect(hanging).rejects.toThrow(
    'still failing after 1000 ms: the last try did not finish; the one before: nope',
  );
});

it('removes a scratch folder with everything in it', async () => {
  let file = '';
  {
    await using scratch = await scratchDir();
    file = scratch.file('x');
    writeFileSync(file, 'x');
  }
  expect(existsSync(file)).toBe(false);
});

it('makes authorities that do not trust each other', async () => {
  const [ours, theirs] = await Promise.all([testAuthority(), testAuthority()]);
  const gateway = await ours.gateway('gateway-a');
  const options = { at: new Date(), usage: 'serverAuth' } as const;
  await expect(verifyChain(gateway.chain, ours.roots, options)).resolves.toMatchObject({ id: { name: 'gateway-a' } });
  await expect(verifyChain(gateway.chain, theirs.roots, options)).rejects.toMatchObject({
    code: 'CERTIFICATE_REFUSED',
  });
});
