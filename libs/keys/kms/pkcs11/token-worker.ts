import { pid } from 'node:process';
import type { TokenRequest } from './messages.js';
import { TokenSession } from './token-session.js';

// The entry of the process that has the token: see token-process.ts. It ends with the one that started it.
const session = new TokenSession();
process.on('message', (request: TokenRequest) => {
  process.send?.(session.answer(request), undefined, undefined, (error) => {
    if (error) process.kill(pid, 'SIGKILL');
  });
});
process.on('disconnect', () => process.kill(pid, 'SIGKILL'));
// It is told to end by its parent, which may still need it while it ends itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
