import { writeFile } from 'node:fs/promises';
import type { AskedWitness } from '@fairlead/audit';
import { FORGET_SIGNED, newEpoch, rewriteLog, type Query } from '@fairlead/audit/testing';
import { passages } from '@fairlead/contracts/testing';
import {
  MAX_AUDIT_BATCH,
  auditLogRpc,
  auditRpc,
  auditSubject,
  keysRpc,
  type AuditEntry,
  type AuditEntryKind,
  type AuditWitnesses,
  type SignedAuditTree,
} from '@fairlead/contracts';
import { createRpcClient, type RpcClient } from '@fairlead/messaging';
import { gatewayA } from '@fairlead/messaging/testing';
import { serviceProcesses, type ServiceProcesses } from '@fairlead/service/testing';
import { eventually } from '@fairlead/testing';
import {
  entryBundlePath,
  parseVerifierKey,
  tilePath,
  type NoteVerifier,
  type TileReader,
} from '@fairlead/transparency-log';
import { policyText } from '@fairlead/transparency-log/testing';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { Client } from 'pg';

const PATIENCE = { timeoutMs: 60_000 };
const api = { role: 'api', credential: 'api' } as const;

/** `keys` and the audit service as processes, and what an auditor, a gateway and an attacker with all rights on the database do. */
export class RunningLog implements AsyncDisposable {
  readonly #epoch = newEpoch();
  #published = 0;

  private constructor(
    readonly services: ServiceProcesses<'keys' | 'audit'>,
    readonly asApi: RpcClient,
    readonly sql: Client,
    readonly gateway: NatsConnection,
    /** What witnesses know: by origin, the keys of logs. */
    readonly knownLogs: Map<string, readonly NoteVerifier[]>,
  ) {}

  static async start(
    knownLogs: Map<string, readonly NoteVerifier[]>,
    witnesses: readonly AskedWitness[],
  ): Promise<RunningLog> {
    const services = await serviceProcesses(['keys', 'audit']);
    const policy = services.scratch.file('witnesses.policy');
    await writeFile(policy, policyText(witnesses, 'quorum none'));
    const { environments } = services;
    Object.assign(environments.get('audit') ?? {}, {
      FAIRLEAD_AUDIT_WITNESSES: policy,
      FAIRLEAD_AUDIT_WITNESS_SECONDS: '1',
    });
    const checkpointsDir = services.scratch.file('checkpoints');
    Object.assign(environments.get('keys') ?? {}, { FAIRLEAD_AUDIT_CHECKPOINTS_DIR: checkpointsDir });
    for (const service of ['keys', 'audit'] as const) {
      if ((await services.migrate(service)).some((code) => code !== 0)) throw new Error(`${service} did not migrate`);
      services.start(service);
    }
    await services.untilAllReady();
    const sql = new Client({ connectionString: services.postgres.info.adminUrl.replace(/\/postgres$/, '/fairlead') });
    await sql.connect();
    const asApi = createRpcClient(await services.nats.connect(api), api);
    return new RunningLog(services, asApi, sql, await services.nats.connect(gatewayA), knownLogs);
  }

  get checkpointsDir(): string {
    return this.services.scratch.file('checkpoints');
  }

  /** Lets so much pass through a door, and waits until `keys` has signed it. */
  async grow(count: number, tenantId: string): Promise<SignedAuditTree> {
    const before = await this.size(tenantId);
    await this.publish(count, tenantId);
    return eventually(async () => {
      const tree = await this.signed(tenantId);
      if (!tree || tree.size < before + count) throw new Error(`${tree?.size ?? 0} of ${before + count} are signed`);
      return tree;
    }, PATIENCE);
  }

  async publish(count: number, tenantId: string): Promise<void> {
    for (let left = count; left > 0; left -= MAX_AUDIT_BATCH) {
      const records = passages(Math.min(left, MAX_AUDIT_BATCH), { tenantId });
      const batch = { epoch: this.#epoch, firstSeq: this.#published + 1, records };
      this.#published += records.length;
      await jetstream(this.gateway).publish(auditSubject('gateway-a'), JSON.stringify(batch));
    }
  }

  async size(tenantId: string): Promise<number> {
    return (await this.asApi.call(auditRpc.read, tenantId, {})).size;
  }

  async found(tenantId: string, entry: AuditEntryKind): Promise<AuditEntry[]> {
    return (await this.asApi.call(auditRpc.search, tenantId, { entry })).entries;
  }

  async signed(tenantId: string): Promise<SignedAuditTree | null> {
    return (await this.asApi.call(keysRpc.auditLog, tenantId, {})).tree;
  }

  /** Tells the witnesses of a log, as whoever runs them does. */
  introduce({ origin, verifierKey }: SignedAuditTree): void {
    this.knownLogs.set(origin, [parseVerifierKey(verifierKey)]);
  }

  async witnesses(tenantId: string): Promise<AuditWitnesses> {
    return this.asApi.call(auditLogRpc.witnesses, tenantId, {});
  }

  tiles(tenantId: string): TileReader {
    const read = async (path: string): Promise<Uint8Array> =>
      Buffer.from((await this.asApi.call(auditLogRpc.tile, tenantId, { path })).bytes, 'base64');
    return {
      readTile: (tile) => read(tilePath(tile)),
      readEntryBundle: (bundle) => read(entryBundlePath(bundle)),
    };
  }

  /** As the role of a service may. */
  async as(service: 'keys' | 'audit', work: (query: Query) => Promise<unknown>): Promise<void> {
    await this.sql.query(`set search_path to ${service}`);
    await work(async (statement, values = []) => (await this.sql.query(statement, [...values])).rows as unknown[]);
  }

  /** The whole log written anew, and `keys` made to forget what it signed. */
  async rewrite(tenantId: string): Promise<void> {
    await this.sql.query('begin');
    await this.as('audit', async (query) => {
      await query('lock table tenant_logs in share mode');
      await rewriteLog(query, tenantId);
    });
    await this.as('keys', (query) => query(FORGET_SIGNED, [tenantId]));
    await this.sql.query('commit');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql.end();
    await this.services[Symbol.asyncDispose]();
  }
}
