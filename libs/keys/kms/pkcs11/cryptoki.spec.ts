import { expect, it, vi } from 'vitest';

it('is evaluated more than once in one process, as test files that share one do', async () => {
  const first = await import('./cryptoki.js');
  vi.resetModules();
  const second = await import('./cryptoki.js');
  expect(second.Cryptoki).not.toBe(first.Cryptoki);
});
