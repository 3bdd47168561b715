import { randomBytes } from 'node:crypto';
import {
  KEYS_ENTITIES,
  KEYS_MIGRATIONS,
  WebhookSecrets,
  WebhookSecretsController,
  masterKeyFrom,
  masterKeyGiven,
} from '@fairlead/keys';
import { serveRpc } from '@fairlead/messaging';
import type { SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { connectDatabase, createDatabase, databaseUrl, provisionDatabase, runMigrations } from '@fairlead/persistence';
import { Module } from '@nestjs/common';
import type { DataSource } from 'typeorm';

const source = { role: 'keys', credential: 'keys' } as const;

@Module({})
class WebhookKeysModule {}

/** The part of `keys` that signs webhooks, on its own schema. */
export interface WebhookKeys extends AsyncDisposable {
  readonly database: DataSource;
  /** Answers until it is disposed of. */
  serve(): Promise<AsyncDisposable>;
}

export async function startWebhookKeys(adminUrl: string, nats: SecuredNats): Promise<WebhookKeys> {
  const account = { service: 'keys', password: randomBytes(16).toString('hex') };
  await provisionDatabase(adminUrl, { services: [account] });
  const schema = { service: 'keys', entities: KEYS_ENTITIES, migrations: KEYS_MIGRATIONS };
  const database = createDatabase({ ...schema, url: databaseUrl(adminUrl, account), logger: silentLogger });
  await connectDatabase(database, silentLogger);
  await runMigrations(database, silentLogger);
  const sealer = await masterKeyFrom(masterKeyGiven(randomBytes(32).toString('base64'))).open(true);
  const secrets = new WebhookSecrets({ database, ca: { sealer, now: () => new Date() } });
  const module = {
    module: WebhookKeysModule,
    controllers: [WebhookSecretsController],
    providers: [{ provide: WebhookSecrets, useValue: secrets }],
  };
  const connection = await nats.connect(source);
  return {
    database,
    serve: () => serveRpc(module, { connection, queue: 'keys', logger: silentLogger }),
    [Symbol.asyncDispose]: () => database.destroy(),
  };
}
