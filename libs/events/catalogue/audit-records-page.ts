import { ABOUT_RECORDS, type AboutField } from './audit-record-fields.js';
import { RECORD_EXAMPLES } from './audit-record-examples.js';
import { RECORD_KINDS, fieldsOf, schemasOfRecords, type RecordKind } from './audit-records.js';
import type { JsonSchema } from './json-schema.js';
import { kindOf } from './page.js';

const HEAD = `# Records of the audit log

What the \`body\` of an entry is, by the \`kind\` of the entry: in answers of \`GET /v1/audit/entries\`, \`/v1/audit/tail\` and \`/v1/audit/export\`, and in \`fairlead audit show\`, \`tail\`, \`export\` and \`search -o json\`. The body of an \`event\` is one of [these](events.md).
This page and [audit-records.json](audit-records.json) (JSON Schema, draft 7) are generated from \`libs/contracts\`: change it there, then \`npm run generate\`.

What you may rely on: a body keeps the fields that it has, and what they mean. Fields may be added, which may be absent (entries from before them do not have them), and values of enumerations; anything else fails the check of this
repository ([ADR 68](adr/0068-the-catalogue-of-events.md)). So ignore what you do not know, and expect values that you do not know. An entry may also have no body: \`null\`, where it was erased or is older than what is kept.

None holds a body of a request or an answer, a secret of ours, or a header but the user agent. The arguments of exec are kept, and may hold secrets of theirs: [what to do](audit.md#what-is-put-on-record).
`;

const MEANS: Readonly<Record<RecordKind, string>> = {
  passage:
    'One passage through a door, or that it is about to begin. Where [audit.k8s.io/v1](https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/) has the same, the last column says what it is called there; the level is `Metadata` always.',
  lost: 'A gateway counted passages that it did not keep one by one.',
  handshakes: 'Connections to a door that ended in their handshake, for one reason.',
  rules: 'By which rules a gateway leaves passages out.',
  gap: 'Numbers of a gateway that have not come, or came after all; or a spool that began anew.',
  unknown: 'A passage began, and its gateway is gone without having said how it ended.',
  unreadable: 'A record of a gateway, or a whole message, that no schema reads. What it said is not kept.',
  retention: 'Bodies of entries of days that are no longer kept were taken away.',
  'begun-anew': 'The log could not go on, and goes on under another origin: this one links the one before.',
};

/** docs/audit-records.md. */
export function auditRecordsPage(): string {
  const schemas = schemasOfRecords();
  return `${HEAD}${RECORD_KINDS.map((kind) => sectionOf(kind, schemas[kind] ?? {})).join('')}`;
}

function sectionOf(kind: RecordKind, schema: JsonSchema): string {
  const forms = schema.anyOf ?? [schema];
  const parts = forms.map((form, at) => formOf(kind, form, RECORD_EXAMPLES[kind][at]));
  return `\n## ${kind}\n\n${MEANS[kind]}\n${parts.join('')}`;
}

function formOf(kind: RecordKind, schema: JsonSchema, example: object | undefined): string {
  const rows = rowsOf(kind, schema, '');
  const isNamed = rows.some(({ about }) => about.kubernetes !== undefined);
  const head = isNamed
    ? '| field | what | means | audit.k8s.io |\n|---|---|---|---|\n'
    : '| field | what | means |\n|---|---|---|\n';
  const lines = rows.map(({ path, what, about }) => {
    const named = isNamed ? ` ${about.kubernetes ?? ''} |` : '';
    return `| \`${path}\` | ${what} | ${about.means} |${named}\n`;
  });
  return `\n${head}${lines.join('')}\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\`\n`;
}

interface Row {
  readonly path: string;
  readonly what: string;
  readonly about: AboutField;
}

/** Throws for a field of which nothing is said. */
function rowsOf(kind: RecordKind, schema: JsonSchema, prefix: string): Row[] {
  const needed = new Set(schema.required ?? schema.anyOf?.find(({ required }) => required)?.required);
  return Object.entries(fieldsOf(schema)).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const about = ABOUT_RECORDS[kind]?.[path];
    if (!about) throw new Error(`say in audit-record-fields.ts what ${path} of ${kind} means`);
    const absent = needed.has(name) ? '' : ', may be absent';
    const nested = field.items ? rowsOf(kind, field.items, `${path}[].`) : rowsOf(kind, field, `${path}.`);
    return [{ path, what: `${shortKind(field)}${absent}`, about }, ...nested];
  });
}

/** Objects have rows of their own. */
function shortKind(schema: JsonSchema): string {
  if (schema.properties) return 'object';
  if (schema.anyOf) return [...new Set(schema.anyOf.map(shortKind))].join(' or ');
  const { maxItems } = schema;
  if (schema.items)
    return `list of ${shortKind(schema.items)}${typeof maxItems === 'number' ? `, at most ${maxItems}` : ''}`;
  return kindOf(schema);
}
