import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect } from 'node:tls';
import { findBinary } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { prepareCredentials } from './prepare-credentials.js';
import { REPOSITORY } from './state/repository.js';

interface Compose {
  readonly configs: { readonly nats: { readonly content: string } };
  readonly services: { readonly nats: { readonly secrets: readonly string[] } };
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

it('docker-compose.yml has a configuration that nats-server starts with, by TLS and for our users only', async () => {
  await using scratch = await scratchDir();
  const { caPath } = await prepareCredentials(scratch.file('state'));
  const root = scratch.file('root');
  const { path } = await findBinary('nats-server', { log: () => undefined });
  const args = ['--config', layOut(root, scratch.file('state')), '--addr', '127.0.0.1', '--port', '-1'];
  const server = spawn(path, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(server, 'exit');
  try {
    const port = await portIn(createInterface(server.stderr));
    const socket = connect({ host: '127.0.0.1', port, ca: readFileSync(caPath), servername: 'localhost' });
    const [greeting] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(greeting.toString()).toMatch(/^INFO .*"auth_required":true.*"jetstream":true/);
  } finally {
    server.kill();
    await ended;
  }
});

/** Lays out what the container sees, below a folder in the place of its root. Returns the path of the configuration. */
function layOut(root: string, stateDir: string): string {
  const compose = parse(readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8')) as Compose;
  for (const folder of ['etc/nats', 'run/secrets', 'data']) mkdirSync(join(root, folder), { recursive: true });
  for (const name of compose.services.nats.secrets) {
    const file = compose.secrets[name]!.file.replace(/^\.fairlead\//, '');
    copyFileSync(join(stateDir, file), join(root, 'run/secrets', name));
  }
  const config = join(root, 'etc/nats/fairlead.conf');
  writeFileSync(config, compose.configs.nats.content.replaceAll('"/', `"${root}/`));
  return config;
}

/** Throws with what the server wrote if it ends without listening. */
async function portIn(lines: AsyncIterable<string>): Promise<number> {
  const written: string[] = [];
  for await (const line of lines) {
    written.push(line);
    const port = /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error(`nats-server ended:\n${written.join('\n')}`);
}
