import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** A process that does this. */
const script = (run: string): string => `
  import { runProcess } from ${JSON.stringify(new URL('./dist/index.js', import.meta.url).href)};
  await runProcess({ name: 'fails', readConfig: () => ({ FAIRLEAD_LOG_LEVEL: 'info' }), run: ${run} });`;

/** What runs leaves something behind that fails, in its own time. */
const leaving = (failure: string): string =>
  script(`() => new Promise((resolve) => { ${failure}; setTimeout(resolve, 30_000); })`);

it.each([
  ['unhandledRejection', `void Promise.reject(new Error('nobody waits for this'))`],
  ['uncaughtException', `setTimeout(() => { throw new Error('nobody waits for this'); }, 1)`],
])('a process ends with one line of its log that says why, and exit code 1 (%s)', async (origin, failure) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', leaving(failure)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 60_000,
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(code).toBe(1);
  // Their times say which came first: on a busy machine the last words are written at once, and may overtake.
  expect(new Set(lines.map(({ event }) => event))).toEqual(new Set(['process.starting', 'process.crashed']));
  expect(lines.find(({ event }) => event === 'process.crashed')).toMatchObject({
    level: 'error',
    service: 'fails',
    origin,
    reason: 'nobody waits for this',
  });
});

/** Says whether a server is verified that shows the certificate on its standard input. */
const CLIENT = `async () => {
  const { createServer, connect } = await import('node:tls');
  const pem = await (await import('node:stream/consumers')).text(process.stdin);
  const server = createServer({ key: pem, cert: pem }).listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: pem });
    socket.once('secureConnect', () => {
      process.stdout.write(JSON.stringify({ verified: socket.authorized }));
      server.close();
      socket.destroy();
    });
  });
  await new Promise((resolve) => server.once('close', resolve));
}`;

it('is not ended by the certificate of a peer, whatever its key is', async () => {
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:brainpoolP256r1', '-nodes', '-keyout', '-'];
  const names = ['-subj', '/CN=a', '-addext', 'subjectAltName=DNS:localhost'];
  const { stdout: pem } = await promisify(execFile)('openssl', ['req', '-x509', ...curve, ...names]);
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script(CLIENT)], {
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: 60_000,
  });
  child.stdin.end(pem);
  const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect({ code: code as unknown, signal: signal as unknown }).toEqual({ code: 0, signal: null });
  expect(output).toContain('{"verified":true}');
});
