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
import { serviceDatabase } from '@fairlead/persistence/testing';
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
  const schema = { service: 'keys', entities: KEYS_ENTITIES, migrations: KEYS_MIGRATIONS };
  const databases = await serviceDatabase(adminUrl, schema);
  const database = await databases.migrated();
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
    [Symbol.asyncDispose]: () => databases[Symbol.asyncDispose](),
  };
}
