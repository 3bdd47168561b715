import type { World } from './world.js';

/** Every object of every kind that the cluster lists, Secrets and their values in plain text included: as text, by kind. */
export async function everyObject({ kubectl }: Pick<World, 'kubectl'>): Promise<Map<string, string>> {
  const kinds = (await kubectl(['api-resources', '--verbs=list', '-o', 'name'])).split('\n').filter(Boolean);
  const found = new Map<string, string>();
  for (const kind of kinds) {
    const text = await kubectl(['get', kind, '--all-namespaces', '-o', 'json', '--show-managed-fields']);
    found.set(kind, kind === 'secrets' ? `${text}\n${valuesIn(text)}` : text);
  }
  return found;
}

function valuesIn(text: string): string {
  const { items } = JSON.parse(text) as { items: { data?: Record<string, string> }[] };
  const values = items.flatMap(({ data = {} }) => Object.values(data));
  return values.map((value) => Buffer.from(value, 'base64').toString('latin1')).join('\n');
}
