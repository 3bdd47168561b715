import { EVENT_TYPE_PREFIX } from '../envelope.js';
import { eventTypes, schemasOfEvents } from './async-api.js';
import type { EventType } from './events.js';
import { exampleOf } from './example.js';
import type { JsonSchema } from './json-schema.js';
import { ABOUT_EVENTS } from './owners.js';

const HEAD = `# Events

What happens is told as CloudEvents 1.0 in JSON, on the subject \`fairlead.events.<tenant>.<owner>.<type without dev.fairlead.>\` of the JetStream stream
\`FAIRLEAD_EVENTS\`; of a gateway the owner is \`gateway:<its name>\` there. [Subscribers](subscribers.md) are told of them. This page and [events/asyncapi.json](events/asyncapi.json) (AsyncAPI 3, with a JSON schema and an example of each type) are generated from
\`libs/events\`: change it there, then \`npm run generate\`.

What you may rely on: a type with its version keeps the fields that it has, and what they mean. Fields may be added, which may be absent, and values of
enumerations; anything else is a new type with the next version, and the check of this repository fails otherwise ([ADR 68](adr/0068-the-catalogue-of-events.md)).
So ignore what you do not know, expect values that you do not know, and drop repetitions by \`id\`. None holds a secret of ours. In every event are \`tenantId\`,
\`subject\` (what it happened to), \`actor\` (who did it, as far as it is known) and \`reason\` (\`OK\` or an error code); the tables leave these out.
`;
/** In every event; the head of the page says so. */
const COMMON: ReadonlySet<string> = new Set(['tenantId', 'subject', 'actor', 'reason']);
const MAX_VALUES = 12;

/** docs/events.md. */
export function eventsPage(): string {
  const types = eventTypes();
  const schemas = schemasOfEvents();
  const index = types.map(
    (type) => `| [${shortOf(type)}](#${anchorOf(type)}) | ${ownersOf(type)} | ${meansOf(type)} |\n`,
  );
  const parts = types.map((type) => sectionOf(type, schemas[type] ?? {}));
  return `${HEAD}\n| event | owner | when |\n|---|---|---|\n${index.join('')}${parts.join('')}`;
}

function sectionOf(type: EventType, schema: JsonSchema): string {
  const fields = Object.entries(schema.properties ?? {}).filter(([name]) => !COMMON.has(name));
  const needed = new Set(schema.required);
  const rows = fields.map(
    ([name, field]) => `| \`${name}\` | ${kindOf(field)}${needed.has(name) ? '' : ', may be absent'} |\n`,
  );
  const table = rows.length === 0 ? 'It has no other fields.\n' : `| field | what |\n|---|---|\n${rows.join('')}`;
  const example = JSON.stringify(exampleOf(type).data, null, 2);
  return `\n## ${shortOf(type)}\n\n\`${type}\`, told by ${ownersOf(type)}. ${meansOf(type)}\n\n${table}\n\`\`\`json\n${example}\n\`\`\`\n`;
}

/** In words. */
export function kindOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return oneOf(schema.enum);
  if (schema.anyOf) return [...new Set(schema.anyOf.map(kindOf))].join(' or ');
  if (schema.items) return `list of ${kindOf(schema.items)}`;
  if (schema.properties) return `object with ${Object.keys(schema.properties).map(code).join(', ')}`;
  const { format, maxLength } = schema;
  if (typeof format === 'string') return format;
  return `${schema.type ?? 'anything'}${typeof maxLength === 'number' ? `, at most ${maxLength} characters` : ''}`;
}

function oneOf(values: readonly unknown[]): string {
  const more = values.length > MAX_VALUES ? ' and others' : '';
  return `one of ${values
    .slice(0, MAX_VALUES)
    .map((value) => code(String(value)))
    .join(', ')}${more}`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function shortOf(type: EventType): string {
  return type.slice(EVENT_TYPE_PREFIX.length);
}

/** As GitHub makes it of a heading. */
function anchorOf(type: EventType): string {
  return shortOf(type).replaceAll('.', '');
}

function ownersOf(type: EventType): string {
  return ABOUT_EVENTS[type].owners.map(code).join(', ');
}

function meansOf(type: EventType): string {
  return ABOUT_EVENTS[type].means;
}
