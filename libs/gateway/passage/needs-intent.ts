import type { RequestAttributes } from '@fairlead/access-rules';
import type { DoorName } from './door-table.js';
import type { Asked } from './outcome.js';

const READING_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const READING_METHODS: ReadonlySet<string> = new Set(['get', 'head', 'options']);
/** Whatever the verb: what goes on there is no object's to tell. */
const STREAMING: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'proxy']);

/**
 * May this change anything where it is let go on to? Then that it was about to be let go on is on record, too, and not only how it ended. What cannot be
 * read may.
 */
export function needsIntent(door: DoorName, { attributes, stream }: Asked): boolean {
  return door !== 'kube-api' || stream !== undefined || !attributes || !isRead(attributes);
}

function isRead(attributes: RequestAttributes): boolean {
  if (attributes.kind === 'url') return READING_METHODS.has(attributes.verb);
  return READING_VERBS.has(attributes.verb) && !STREAMING.has(attributes.subresource);
}
