import { z } from 'zod';

/** What of bodies has columns of its own in a table: most that is asked of passages through doors and of streams. `id`: the same of a beginning and its end; `passage`: the kind of one, such as `exec`. */
export const SAID_COLUMNS = [
  'id',
  'passage',
  'verb',
  'resource',
  'namespace',
  'status',
  'address',
  'container',
  'command',
] as const;
export type SaidColumns = Readonly<Record<(typeof SAID_COLUMNS)[number], string | number>>;

const text = z.string().catch('');
const Named = z
  .object({ verb: text, resource: text, subresource: text, namespace: text, name: text, path: text })
  .partial()
  .nullish()
  .catch(null);
const Streamed = z
  .object({ container: text, command: z.array(z.string()).catch([]) })
  .partial()
  .nullish()
  .catch(null);
/** An `AuditedPassage`; of a CloudEvent, its data; anything else says none of it. */
const Body = z.object({
  id: text,
  kind: text,
  status: z.int().nullish().catch(null),
  address: text,
  resource: Named,
  url: Named,
  target: text,
  stream: Streamed,
  data: z
    .object({
      kind: text,
      status: z.int().nullish().catch(null),
      actor: z.object({ address: text }).partial().nullish().catch(null),
      namespace: text,
      object: text,
      container: text,
      command: z.array(z.string()).catch([]),
    })
    .partial()
    .nullish()
    .catch(null),
});

/** Never throws: of what it cannot read the columns are empty. */
export function saidOf(body: Readonly<Record<string, unknown>>): SaidColumns {
  const { id, kind, status, address, resource, url, target, stream, data } = Body.parse(body);
  const { namespace = '', name = '', subresource = '' } = resource ?? {};
  const object = [resource?.resource ?? '', name, subresource].filter((part) => part !== '').join('/');
  const command = stream?.command ?? data?.command ?? [];
  return {
    id,
    passage: kind || (data?.kind ?? ''),
    verb: resource?.verb ?? url?.verb ?? '',
    resource: object || url?.path || target || (data?.object ?? ''),
    namespace: namespace || (data?.namespace ?? ''),
    status: status || data?.status || '',
    address: address || (data?.actor?.address ?? ''),
    container: stream?.container ?? data?.container ?? '',
    command: command.join(' '),
  };
}
