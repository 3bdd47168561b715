import { parseTargetRule } from '@fairlead/targets';
import { expect, it } from 'vitest';
import { lookupsAtOnce } from './name-lookups.js';
import { TcpTargets } from './tcp-targets.js';

it('leaves the agent a thread to resolve its own names, and says why a name cannot be had', async () => {
  const atOnce = lookupsAtOnce(process.env['UV_THREADPOOL_SIZE']);
  const waiting: ((error: Error) => void)[] = [];
  const resolve = (): Promise<readonly string[]> => new Promise((_, reject) => waiting.push(reject));
  const targets = new TcpTargets({ rules: ['*.shop.svc:443'].map(parseTargetRule), resolve, refusedBy: 'by us' });
  const gone = new AbortController();
  const open = (host: string, signal = gone.signal): Promise<unknown> => targets.connect({ host, port: 443 }, signal);
  const first = open('a.shop.svc');
  const others = Array.from({ length: 40 }, (_, n) => open(`n${n}.shop.svc`).catch((error: unknown) => error));
  await expect.poll(() => waiting.length).toBe(atOnce);
  waiting[0]?.(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
  await expect(first).rejects.toMatchObject({
    code: 'TARGET_UNREACHABLE',
    message: expect.stringContaining('ENOTFOUND') as string,
  });
  const reason = new Error('gone');
  gone.abort(reason);
  expect(new Set(await Promise.all(others))).toEqual(new Set([reason]));
  expect(waiting).toHaveLength(atOnce + 1);
});
