import { createHash } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { DoorName, PassageKind, type AuditedPassage } from '@fairlead/contracts';

/** Of a rules file. */
export const MAX_RULES_BYTES = 256 * 1024;
const MAX_RULES = 256;
const MAX_ITEMS = 256;
/** YAML can name one thing many times: what comes of that is bounded. */
const MAX_ALIASES = 100;

const items = <T extends z.ZodType<string>>(item: T) => z.array(item).min(1).max(MAX_ITEMS).optional();
const Word = z.string().min(1).max(256);
/** A name, or the beginning of one with a star at its end. */
const Names = items(Word.regex(/^[^*]*\*?$/, 'a star may stand at the end only'));

const Resources = z.strictObject({
  /** Empty: the core group. */
  group: z.string().max(253).default(''),
  // As audit.k8s.io has them: pods, pods/log, pods/*, */scale, *
  resources: items(Word.regex(/^(\*|[a-z0-9.-]+)(\/(\*|[a-z0-9]+))?$/, 'write pods, pods/log, pods/*, */scale or *')),
  resourceNames: items(Word),
});

const Rule = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'write a name in small letters, digits and dashes'),
    level: z.enum(['None', 'Metadata'], { error: 'write None or Metadata: bodies are never put on record' }),
    tenants: Names,
    users: Names,
    userGroups: Names,
    clusters: Names,
    kinds: items(PassageKind),
    doors: items(DoorName),
    verbs: items(Word),
    resources: z.array(Resources).min(1).max(MAX_ITEMS).optional(),
    namespaces: items(z.string().max(253)),
    nonResourceURLs: items(Word.regex(/^(\*|\/[^*]*\*?)$/, 'write a path, which may end with a star')),
  })
  .refine(({ resources, nonResourceURLs }) => !resources || !nonResourceURLs, {
    error: 'a rule is about resources or about nonResourceURLs, not about both',
  })
  .refine(({ namespaces, nonResourceURLs }) => !namespaces || !nonResourceURLs, {
    error: 'what has no resource is in no namespace: leave out namespaces',
  });
type Rule = z.output<typeof Rule>;

/** In the words of Kubernetes' own (audit.k8s.io/v1 Policy), with what it does not know: tenants, clusters, kinds and doors. */
const Policy = z.strictObject({
  apiVersion: z.literal('audit.fairlead.dev/v1'),
  kind: z.literal('Policy'),
  rules: z
    .array(Rule)
    .max(MAX_RULES)
    .refine((rules) => new Set(rules.map(({ name }) => name)).size === rules.length, {
      error: 'two rules have the same name',
    }),
});

/** What decides whether a passage is put on record. */
export interface Recorded {
  /** Of the rule; undefined: none is about it. */
  readonly rule: string | undefined;
  readonly level: 'none' | 'metadata';
}

export interface AuditRules {
  /** SHA-256 of the file, hexadecimal. */
  readonly hash: string;
  readonly count: number;
  /** By the first rule that is about this passage; what none is about is put on record. */
  levelOf(passage: AuditedPassage): Recorded;
}

/** The rules of a file. INVALID_ARGUMENT, which says what is wrong and where. */
export function readAuditRules(bytes: Uint8Array): AuditRules {
  if (bytes.length > MAX_RULES_BYTES) throw invalid(`the file is larger than ${MAX_RULES_BYTES} bytes`);
  const read = Policy.safeParse(yamlOf(bytes));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw invalid(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  }
  const rules = read.data.rules.map((rule) => ({ ...rule, matches: matcherOf(rule) }));
  return {
    hash: hashOf(bytes),
    count: rules.length,
    levelOf: (passage) => {
      const rule = rules.find(({ matches }) => matches(passage));
      return { rule: rule?.name, level: rule?.level === 'None' ? 'none' : 'metadata' };
    },
  };
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function yamlOf(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid('it is no UTF-8');
  }
  const document = parseDocument(text, { uniqueKeys: true });
  const [error] = document.errors;
  if (error) throw invalid(error.message.split('\n', 1)[0] ?? '');
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown;
  } catch (cause) {
    throw new FairleadError('INVALID_ARGUMENT', 'it has too many aliases', { cause });
  }
}

function invalid(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', why.slice(0, 256));
}

type Matches = (passage: AuditedPassage) => boolean;

/** All that a rule says has to hold, and of each list one. */
function matcherOf(rule: Rule): Matches {
  const { tenants, users, userGroups, clusters, kinds, doors, verbs } = rule;
  const { resources, namespaces, nonResourceURLs, level } = rule;
  const conditions: readonly (Matches | undefined)[] = [
    tenants && (({ tenantId }) => hasName(tenants, tenantId)),
    users && (({ identity }) => identity !== null && hasName(users, identity.name)),
    userGroups && (({ identity }) => identity !== null && isInGroup(identity, userGroups, level)),
    clusters && (({ cluster }) => hasName(clusters, cluster)),
    kinds && (({ kind }) => kinds.some((each) => each === kind)),
    doors && (({ door }) => doors.some((each) => each === door)),
    verbs && (({ resource, url }) => hasExactly(verbs, resource?.verb ?? url?.verb ?? '')),
    resources && (({ resource }) => resource !== null && resources.some((each) => isOf(each, resource))),
    namespaces && (({ resource }) => resource !== null && namespaces.includes(resource.namespace)),
    nonResourceURLs && (({ url }) => url !== null && hasName(nonResourceURLs, url.path)),
  ];
  const said = conditions.filter((condition) => condition !== undefined);
  return (passage) => said.every((condition) => condition(passage));
}

/** Of an identity with more groups than a record has, nobody knows: then a rule that keeps is about it, and one that leaves out only by a group that is there. */
function isInGroup(
  { groups, groupsCut }: NonNullable<AuditedPassage['identity']>,
  names: readonly string[],
  level: Rule['level'],
): boolean {
  return (groupsCut && level === 'Metadata') || groups.some((group) => hasName(names, group));
}

function hasName(names: readonly string[], name: string): boolean {
  return names.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : each === name));
}

function hasExactly(words: readonly string[], word: string): boolean {
  return words.includes(word) || words.includes('*');
}

/** As `resources` of a GroupResources in audit.k8s.io/v1 is read: none, or a star, are all of the group, subresources included. */
function isOf(
  { group, resources, resourceNames }: z.output<typeof Resources>,
  asked: NonNullable<AuditedPassage['resource']>,
): boolean {
  if (group !== asked.apiGroup) return false;
  if (resourceNames && !resourceNames.includes(asked.name)) return false;
  if (!resources) return true;
  const full = asked.subresource === '' ? asked.resource : `${asked.resource}/${asked.subresource}`;
  return resources.some(
    (each) =>
      each === '*' ||
      each === full ||
      (asked.subresource !== '' && (each === `${asked.resource}/*` || each === `*/${asked.subresource}`)),
  );
}
