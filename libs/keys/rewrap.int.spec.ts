import { randomBytes } from 'node:crypto';
import { silentLogger } from '@fairlead/observability';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  masterKeyFrom,
  masterKeyGiven,
  masterKeyInFile,
  rewrapMasterKey,
  sealedStatus,
  type KeySource,
  type Sealer,
} from './index.js';
import { caEvents, enrol, keysFixture, source, type KeysFixture, type KeysProcess } from './testing/keys-fixture.js';

const newKey = (): KeySource => masterKeyGiven(randomBytes(32).toString('base64'));
const host = crypto.randomUUID();
const context = `${host}:git-token`;

let fixture: KeysFixture;
let database: DataSource;
/** A process that serves, with the old key. */
let serving: KeysProcess;
let old: Sealer;
let oldKey: KeySource;

beforeAll(async () => {
  fixture = await keysFixture();
  database = await fixture.connect();
});
afterAll(() => fixture?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await fixture.reset();
  serving = await fixture.start();
  old = serving.ca.sealer;
  oldKey = masterKeyInFile(fixture.masterKeyFile);
  await addHost(host, 'first');
});

async function addHost(id: string, token: string): Promise<void> {
  await database.query(
    `insert into git_hosts (id, tenant_id, name, kind, url, ssh_host, ssh_port, create_repositories, sealed_token, revision)
     values ($1::uuid, 'default', $1::text, 'gitea', 'https://git.example', 'git.example', 22, false, $2, 1)`,
    [id, await old.seal(token, `${id}:git-token`)],
  );
}

async function setToken(token: string): Promise<void> {
  await database.query('update git_hosts set sealed_token = $2 where id = $1', [host, await old.seal(token, context)]);
}

async function tokenBy(sealer: Sealer): Promise<string> {
  const rows = (await database.query('select sealed_token from git_hosts where id = $1', [host])) as {
    sealed_token: Buffer;
  }[];
  return sealer.unseal(rows[0]?.sealed_token ?? Buffer.alloc(0), context);
}

/** Does something each time that a row has been read and is not yet replaced. */
function interrupted(key: KeySource, meanwhile: (context: string) => Promise<void>): KeySource {
  return {
    open: async (nothingSealed) => {
      const opened = await key.open(nothingSealed);
      return {
        ...opened,
        wrap: async (dataKey, of) => {
          await meanwhile(of);
          return opened.wrap(dataKey, of);
        },
      };
    },
  };
}

function options(seals: KeySource) {
  const masterKey = masterKeyFrom(seals, [oldKey]);
  return { database, masterKey, source, logger: silentLogger, signal: AbortSignal.timeout(60_000) };
}

it('takes back nothing that was changed while it was on its way, and seals that anew too', async () => {
  const key = newKey();
  let changes = 0;
  const busy = interrupted(key, async (of) => {
    if (of === context && changes++ === 0) await setToken('second');
  });
  await expect(rewrapMasterKey(options(busy))).resolves.toMatchObject({ rows: 5 });
  await expect(tokenBy(await masterKeyFrom(key).open(false))).resolves.toBe('second');
  await expect(sealedStatus(options(key))).resolves.toMatchObject({ left: 0, sealed: [{ rows: 5 }] });
  await expect(tokenBy(old)).rejects.toThrow(/another master key/);
});

it('disturbs nobody who serves, and who starts with the new key signs below the same root', async () => {
  const before = (await serving.ca.trustBundle()).pins;
  const key = newKey();
  await rewrapMasterKey(options(key));
  await expect(enrol(serving)).resolves.toMatchObject({ chain: expect.anything() });
  const next = await fixture.start(masterKeyFrom(key));
  expect((await next.ca.trustBundle()).pins).toEqual(before);
  await expect(enrol(next)).resolves.toMatchObject({ chain: expect.anything() });
  expect(await caEvents(next)).toEqual(expect.arrayContaining([expect.objectContaining({ type: 'ca.created.v1' })]));
});

it('keeps nobody from signing while the KMS of a process that starts is slow', async () => {
  const key = newKey();
  await rewrapMasterKey(options(key));
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const slow: KeySource = {
    open: async (nothingSealed) => {
      const opened = await key.open(nothingSealed);
      return {
        ...opened,
        unwrap: async (wrapped, of) => {
          asked.resolve();
          await promise;
          return opened.unwrap(wrapped, of);
        },
      };
    },
  };
  const starting = fixture.start(masterKeyFrom(slow));
  await asked.promise;
  await expect(enrol(serving)).resolves.toMatchObject({ chain: expect.anything() });
  goOn();
  await expect(starting).resolves.toMatchObject({ ca: expect.anything() });
});

it('gives up, and says why, while another process goes on sealing with the old key', async () => {
  const busy = interrupted(newKey(), () => addHost(crypto.randomUUID(), 'another'));
  await expect(rewrapMasterKey(options(busy))).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('older settings'),
  });
});

it('stops where it is told to, and nothing is lost', async () => {
  const stop = new AbortController();
  const key = newKey();
  const stopped = interrupted(key, async () => stop.abort(new Error('stopped')));
  await expect(rewrapMasterKey({ ...options(stopped), signal: stop.signal })).rejects.toThrow('stopped');
  await expect(sealedStatus(options(key))).resolves.toMatchObject({ left: 4 });
  await expect(rewrapMasterKey(options(key))).resolves.toMatchObject({ rows: 4 });
});
