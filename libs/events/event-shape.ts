import { TenantId } from '@fairlead/contracts';
import { z } from 'zod';

/** Who did it, as far as it is known. */
export const Actor = z.object({
  kind: z.enum(['user', 'client', 'agent', 'gateway', 'service', 'unknown']),
  /** A user name, cluster id or credential name; never a secret. */
  id: z.string().max(256),
  address: z.string().max(64).optional(),
});
export type Actor = z.infer<typeof Actor>;

/** In every event. */
const common = {
  tenantId: z.union([TenantId, z.literal('_')]),
  /** What it happened to: `cluster/<id>`, `client/<id>`, `token/<id>`, `certificate/<serial>`, `git-host/<id>`, `grant/<id>`. */
  subject: z.string().min(1).max(256),
  actor: Actor,
  /** An error code, or OK. */
  reason: z.string().min(1).max(64),
};

/** The schema of one type of event: what all of them say, and these fields. */
export function event<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<typeof common & Shape> {
  return z.object({ ...common, ...shape });
}
