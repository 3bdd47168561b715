import { Envelope, OutboxRelay, Projection } from '@fairlead/events';
import { startRealGitea, type GiteaUnderTest } from '@fairlead/git-hosts/testing';
import { createRpcClient, serveRpc, type RpcClient } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, createLogger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  StatementRevocationLists,
  AccessStatementSigner,
  AuditCheckpoints,
  WebhookSecrets,
  KEYS_BUCKETS,
  KeysModule,
  openGitKeys,
  watchHostKeys,
  type GitKeysOptions,
} from '../index.js';
import { api, keysFixture, source, type KeysFixture, type KeysProcess } from './keys-fixture.js';

export const gitops = { role: 'gitops', credential: 'gitops' } as const;
export const tenantId = 'default';

/** The keys service on real Postgres and NATS, asked by others as in production, beside a real Gitea. */
export interface GitFixture extends AsyncDisposable {
  readonly keys: KeysFixture;
  readonly process: KeysProcess;
  readonly gitea: GiteaUnderTest;
  readonly nats: SecuredNats;
  readonly asApi: RpcClient;
  readonly asGitops: RpcClient;
  readonly gitopsConnection: NatsConnection;
  /** What the service logged so far. */
  readonly logged: () => string;
  /** Types of the events about Git so far, oldest first, without the prefix. */
  events(): Promise<{ readonly type: string; readonly data: Record<string, unknown> }[]>;
}

/** `deployKeysEveryMs`: how often repositories are looked at; 0: never. `scanMs`: SSH keys are looked at this often; 0: only when they are asked for. */
export async function gitFixture({
  scanMs = 0,
  deployKeysEveryMs = 0,
  ...options
}: Partial<GitKeysOptions> & { readonly scanMs?: number } = {}): Promise<GitFixture> {
  await using starting = new AsyncDisposableStack();
  const keys = starting.use(await keysFixture());
  const gitea = starting.use(await startRealGitea());
  const nats = starting.use(await startSecuredNats(keys.scratch.file('nats')));
  const process = await keys.start();
  const lines: string[] = [];
  const logger = createLogger('keys', 'debug', { write: (line: string) => void lines.push(line) });
  const connection = await nats.connect(source);
  const { database, ca, issuer, revocations, rotation, endpoints } = process;
  const relay = starting.use(new OutboxRelay({ database, nats: connection, logger }));
  const projection = starting.use(new Projection({ database, nats: connection, logger, buckets: KEYS_BUCKETS }));
  const onCommitted = (): void => {
    relay.poke();
    projection.poke();
  };
  keys.onCommitted = onCommitted;
  const git = await openGitKeys({
    database,
    source,
    ca,
    onCommitted,
    logger,
    leafLifeSeconds: 86_400,
    deployKeysEveryMs,
    belongs: () => true,
    ...options,
  });
  if (deployKeysEveryMs > 0) starting.use(git.startLoop());
  if (scanMs > 0) starting.use(watchHostKeys(git.hostKeys, { intervalMs: scanMs, logger }));
  const registry = new Registry();
  const accessStatements = new AccessStatementSigner({ database, ca, belongs: () => true });
  const statementRevocations = new StatementRevocationLists({ database, ca, logger, onCommitted });
  const auditCheckpoints = new AuditCheckpoints({ database, source, logger, ca });
  const webhookSecrets = new WebhookSecrets({ database, ca });
  const parts = {
    issuer,
    revocations,
    rotation,
    endpoints,
    accessStatements,
    statementRevocations,
    auditCheckpoints,
    webhookSecrets,
  };
  const module = KeysModule.around(parts, git);
  starting.use(await serveRpc(module, { connection, queue: 'keys', logger, registry, onForged: () => undefined }));
  const gitopsConnection = await nats.connect(gitops);
  const running = starting.move();
  return {
    keys,
    process,
    gitea,
    nats,
    asApi: createRpcClient(await nats.connect(api), api),
    asGitops: createRpcClient(gitopsConnection, gitops),
    gitopsConnection,
    logged: () => lines.join(''),
    async events() {
      const rows = (await database.query('select body from outbox order by id')) as { body: string }[];
      return rows
        .map(({ body }) => Envelope.parse(JSON.parse(body)))
        .map(({ type, data }) => ({ type: type.slice('dev.fairlead.'.length), data }))
        .filter(({ type }) => /^(git-host|deploy-key)\./.test(type));
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}
