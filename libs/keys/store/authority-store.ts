import { NO_TENANT, type Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import { inTransaction, withAdvisoryLock } from '@fairlead/persistence';
import { spkiPin } from '@fairlead/pki';
import type { DataSource, EntityManager } from 'typeorm';
import {
  AUTHORITY_KINDS,
  createAuthorities,
  type Authorities,
  type AuthorityKind,
} from '../domain/certificate-authority.js';
import { seal, unseal } from '../domain/sealing.js';
import { AuthorityRow } from './entities.js';
import { createMasterKey, readMasterKey } from './master-key-file.js';

export interface OpenAuthoritiesOptions {
  readonly database: DataSource;
  readonly masterKeyFile: string;
  readonly trustDomain: string;
  readonly source: Caller;
}

/**
 * The CA of this installation, made the first time, once, however many processes ask. The master key is made with it, and
 * only then. Throws INVALID_ARGUMENT when the master key is missing or another; UNAVAILABLE while the database is away.
 */
export async function openAuthorities(options: OpenAuthoritiesOptions): Promise<Authorities> {
  return inTransaction(options.database, async (manager) => {
    await withAdvisoryLock(manager, 'authorities');
    const rows = await manager.find(AuthorityRow);
    const masterKey = await readMasterKey(options.masterKeyFile);
    if (rows.length === 0) return create(manager, options, masterKey);
    if (masterKey) return readAuthorities(rows, masterKey);
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `FAIRLEAD_MASTER_KEY_FILE ${options.masterKeyFile}: it is missing, and the CA in the database cannot be used without it`,
    );
  });
}

async function create(
  manager: EntityManager,
  options: OpenAuthoritiesOptions,
  existingKey: Buffer | null,
): Promise<Authorities> {
  const masterKey = existingKey ?? (await createMasterKey(options.masterKeyFile));
  const authorities = await createAuthorities(new Date());
  await manager.insert(
    AuthorityRow,
    AUTHORITY_KINDS.map((kind) => toRow(kind, authorities, masterKey)),
  );
  await appendEvent(manager, created(options, authorities));
  return authorities;
}

function toRow(kind: AuthorityKind, authorities: Authorities, masterKey: Buffer): AuthorityRow {
  const { certificatePem, privateKeyPem, notAfter } = authorities[kind];
  const id = crypto.randomUUID();
  const sealedKey = seal(masterKey, privateKeyPem, context(id, kind));
  return { id, tenantId: NO_TENANT, kind, certificatePem, sealedKey, notAfter };
}

function readAuthorities(rows: readonly AuthorityRow[], masterKey: Buffer): Authorities {
  const entries = AUTHORITY_KINDS.map((kind) => {
    const row = rows.find((candidate) => candidate.kind === kind);
    if (!row) throw new FairleadError('INTERNAL', `the database has no ${kind}`);
    const privateKeyPem = unseal(masterKey, row.sealedKey, context(row.id, kind));
    return [kind, { certificatePem: row.certificatePem, privateKeyPem, notAfter: row.notAfter }];
  });
  return Object.fromEntries(entries) as Authorities;
}

function context(id: string, kind: AuthorityKind): string {
  return `${id}:${kind}`;
}

function created(options: OpenAuthoritiesOptions, authorities: Authorities): ReturnType<typeof createEvent> {
  const pins = [
    spkiPin(authorities['identity-root'].certificatePem),
    spkiPin(authorities['serving-root'].certificatePem),
  ];
  return createEvent(options.source, 'dev.fairlead.ca.created.v1', {
    tenantId: NO_TENANT,
    subject: `ca/${pins[0]}`,
    actor: { kind: 'service', id: options.source.credential },
    reason: 'OK',
    pins,
    trustDomain: options.trustDomain,
  });
}
