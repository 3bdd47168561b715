import { z } from 'zod';
import { adminKubectl, type AdminKubectl } from './admin-kubectl.js';

const Rule = z.record(z.string(), z.unknown());
const Role = z.looseObject({
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
  aggregationRule: z
    .looseObject({
      clusterRoleSelectors: z.array(z.looseObject({ matchLabels: z.record(z.string(), z.string()).optional() })),
    })
    .optional(),
  rules: z.array(Rule).nullish(),
});
const Roles = z.object({ items: z.array(Role) });
type Role = z.infer<typeof Role>;

/**
 * Fills the ClusterRoles `view`, `edit` and `admin`, which are made of others: in a real cluster kube-controller-manager does, and a demo
 * cluster may have none.
 */
export async function aggregateRoles(options: AdminKubectl): Promise<void> {
  const roles = Roles.parse(JSON.parse(await adminKubectl(options, ['get', 'clusterroles', '-o', 'json'])));
  const items = aggregated(roles);
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await adminKubectl(options, ['replace', '--validate=false', '-f', '-'], list);
}

/** Those that are made of others, with their rules. */
export function aggregated({ items }: z.infer<typeof Roles>): Role[] {
  const made = items.filter(({ aggregationRule }) => aggregationRule !== undefined);
  return made.map((role) => ({ ...role, rules: [...rulesOf(role, items, new Set())] }));
}

function* rulesOf(role: Role, all: readonly Role[], seen: Set<Role>): Generator<z.infer<typeof Rule>> {
  if (seen.has(role)) return;
  seen.add(role);
  const selectors = role.aggregationRule?.clusterRoleSelectors;
  if (!selectors) {
    yield* role.rules ?? [];
    return;
  }
  const isPart = ({ metadata: { labels = {} } }: Role): boolean =>
    selectors.some(({ matchLabels = {} }) =>
      Object.entries(matchLabels).every(([name, value]) => labels[name] === value),
    );
  for (const part of all.filter(isPart)) yield* rulesOf(part, all, seen);
}
