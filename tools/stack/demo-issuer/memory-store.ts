import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

interface Kept {
  readonly payload: AdapterPayload;
  readonly endsAtMs: number;
}

/** What an issuer knows of logins, in memory: gone when it ends, and each when its time is up. */
export function memoryStore(): AdapterFactory {
  const kept = new Map<string, Kept>();
  return (model) => modelStore(kept, `${model} `);
}

function modelStore(kept: Map<string, Kept>, prefix: string): Adapter {
  const find = (matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined =>
    [...kept].find(
      ([key, { payload, endsAtMs }]) => key.startsWith(prefix) && endsAtMs > Date.now() && matches(payload),
    )?.[1].payload;
  return {
    async upsert(id, payload, expiresIn) {
      for (const [key, { endsAtMs }] of kept) if (endsAtMs <= Date.now()) kept.delete(key);
      const endsAtMs = expiresIn ? Date.now() + expiresIn * 1_000 : Infinity;
      kept.set(prefix + id, { payload: structuredClone(payload), endsAtMs });
    },
    async find(id) {
      const found = kept.get(prefix + id);
      return found && found.endsAtMs > Date.now() ? found.payload : undefined;
    },
    findByUserCode: async (userCode) => find((payload) => payload.userCode === userCode),
    findByUid: async (uid) => find((payload) => payload.uid === uid),
    async consume(id) {
      const found = kept.get(prefix + id);
      if (found) found.payload['consumed'] = Math.floor(Date.now() / 1_000);
    },
    async destroy(id) {
      kept.delete(prefix + id);
    },
    async revokeByGrantId(grantId) {
      for (const [key, { payload }] of kept) if (payload.grantId === grantId) kept.delete(key);
    },
  };
}
