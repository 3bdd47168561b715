import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { startRecordingRelay } from './recording-relay.js';

/** Answers, once the other end has said all it wanted to, with that in capitals. */
async function startShouter(): Promise<AsyncDisposable & { readonly address: string }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void text(socket).then((said) => socket.end(said.toUpperCase()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

async function say(address: string, words: string): Promise<string> {
  const [host = '', port = ''] = address.split(':');
  const socket = connect({ host, port: Number(port) });
  socket.end(words);
  return text(socket);
}

it('passes on what is said, half-closed connections too, and keeps it by connection', async () => {
  await using shouter = await startShouter();
  await using relay = await startRecordingRelay();
  relay.leadTo(shouter.address);
  expect(await say(relay.address, 'one')).toBe('ONE');
  expect(await say(relay.address, 'two')).toBe('TWO');
  const [first, second] = relay.recorded();
  expect([first?.up, first?.down, second?.up, second?.down].map(String)).toEqual(['one', 'ONE', 'two', 'TWO']);
});

it('does not pass for complete when it could not keep everything', async () => {
  await using shouter = await startShouter();
  await using relay = await startRecordingRelay({ maxBytes: 5 });
  relay.leadTo(shouter.address);
  expect(await say(relay.address, 'one')).toBe('ONE');
  expect(() => relay.recorded()).toThrow(/not all of them were kept/);
});

it('ends connections that lead nowhere yet', async () => {
  await using relay = await startRecordingRelay();
  expect(await say(relay.address, 'one').catch((error: NodeJS.ErrnoException) => error.code ?? '')).toMatch(
    /^(ECONNRESET|EPIPE)?$/,
  );
  expect(relay.recorded()).toEqual([]);
});
