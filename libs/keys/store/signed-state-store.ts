import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import type { LastSigned } from '../domain/vouch-for.js';

/** What was signed last for this cluster. One at a time decides what is signed for it next, until the transaction ends. */
export async function lockLastSigned(manager: EntityManager, clusterId: string): Promise<LastSigned | undefined> {
  await withAdvisoryLock(manager, `signed-state:${clusterId}`);
  const [row] = (await manager.query(
    'select revision, document_digest as document, source_digest as source from signed_states where cluster_id = $1',
    [clusterId],
  )) as (Omit<LastSigned, 'revision'> & { readonly revision: string })[];
  return row && { ...row, revision: Number(row.revision) };
}

export async function saveLastSigned(manager: EntityManager, clusterId: string, last: LastSigned): Promise<void> {
  await manager.query(
    `insert into signed_states (cluster_id, revision, document_digest, source_digest) values ($1, $2, $3, $4)
     on conflict (cluster_id) do update set revision = excluded.revision,
       document_digest = excluded.document_digest, source_digest = excluded.source_digest, signed_at = now()`,
    [clusterId, last.revision, last.document, last.source],
  );
}
