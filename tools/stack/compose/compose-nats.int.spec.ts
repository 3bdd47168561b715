import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect } from 'node:tls';
import { createFolderStore, makeSecrets } from '@fairlead/setup';
import { findBinary } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { readText } from '../control-plane/image-entries.js';
import { readCompose, volumesOf } from './read-compose.js';

it('docker-compose.yml has a configuration that nats-server starts with, by TLS and for our users only', async () => {
  await using scratch = await scratchDir();
  const { path } = await findBinary('nats-server', { log: () => undefined });
  const args = ['--config', await layOut(scratch), '--addr', '127.0.0.1', '--port', '-1', '--http_port', '-1'];
  const server = spawn(path, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(server, 'exit');
  try {
    const port = await portIn(createInterface(server.stderr));
    const ca = readFileSync(scratch.file('volumes/config/fairlead-infrastructure-ca/infrastructure-ca.crt'));
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'nats' });
    const [greeting] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(greeting.toString()).toMatch(/^INFO .*"auth_required":true.*"jetstream":true/);
  } finally {
    server.kill();
    await ended;
  }
});

/** Lays out what the container sees, below a folder in the place of its root. Returns the path of the configuration. */
async function layOut(scratch: ScratchDir): Promise<string> {
  const file = (...parts: string[]): string => scratch.file(...parts);
  const { secrets } = readCompose().services;
  const volumes = volumesOf(secrets!);
  for (const { target } of volumes) mkdirSync(file(target), { recursive: true });
  const { FAIRLEAD_NATS_NAMES: nats = '', FAIRLEAD_POSTGRES_NAMES: postgres = '' } = secrets!.environment!;
  const plan = { gateways: ['gateway-a'], natsNames: [nats], postgresNames: [postgres] as const };
  await makeSecrets(createFolderStore({ dir: file('volumes'), ownerOf: () => undefined }), plan);
  const root = file('root');
  for (const { volume, target } of volumesOf(readCompose().services['nats']!)) {
    const made = volumes.find((each) => each.volume === volume)!.target;
    const current = made.includes('/secrets/') ? '/current' : '';
    mkdirSync(join(root, target, current), { recursive: true });
    for (const name of current === '' ? ['nats-authorization.conf', 'pg_hba.conf'] : ['tls.crt', 'tls.key'])
      if (target !== '/data') copyFileSync(file(`${made}${current}`, name), join(root, target, current, name));
  }
  const config = join(root, 'etc/nats/fairlead.conf');
  mkdirSync(join(root, 'etc/nats'), { recursive: true });
  writeFileSync(config, readText('compose', 'nats.conf').replaceAll('"/', `"${root}/`));
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
