import { AuditRecord, type AuditedPassage } from '@fairlead/contracts';
import { passage as recordedPassage } from '@fairlead/contracts/testing';
import { describe, expect, it } from 'vitest';
import { MAX_RULES_BYTES, readAuditRules, type AuditRules } from './audit-rules.js';

const HEAD = 'apiVersion: audit.fairlead.dev/v1\nkind: Policy\n';
const rulesOf = (text: string): AuditRules => readAuditRules(Buffer.from(HEAD + text));
const rules = (...each: string[]): AuditRules =>
  rulesOf(`rules:\n${each.map((rule, at) => `- {name: r${at}, ${rule}}\n`).join('')}`);

const IDENTITY: NonNullable<AuditedPassage['identity']> = {
  kind: 'user',
  name: 'corp:ann',
  groups: ['corp:dev'],
  groupsCut: false,
  session: '',
  proof: { kind: 'token', id: 'token-1', of: 'login' },
};
const RESOURCE = { verb: 'list', apiGroup: '', resource: 'pods', subresource: '', namespace: 'shop', name: '' };

const passage = (said: Partial<AuditedPassage> = {}): AuditedPassage =>
  recordedPassage({ tenantId: 'shop', cluster: 'prod-eu', identity: IDENTITY, resource: RESOURCE, ...said });
const resource = (said: Partial<typeof RESOURCE>) => passage({ resource: { ...RESOURCE, ...said } });
const url = (path: string) => passage({ resource: null, url: { verb: 'get', path } });

it('what they are tried on is a record', () => {
  expect(AuditRecord.parse(passage())).toMatchObject({ tenantId: 'shop' });
});

it.each<[string, AuditedPassage, AuditedPassage]>([
  ['tenants: [shop]', passage(), passage({ tenantId: 'other' })],
  ['users: ["corp:ann"]', passage(), passage({ identity: { ...passage().identity!, name: 'corp:anna' } })],
  ['users: ["corp:*"]', passage(), passage({ identity: { ...passage().identity!, name: 'ci' } })],
  ['users: ["*"]', passage(), passage({ identity: null })],
  ['userGroups: ["corp:dev"]', passage(), passage({ identity: { ...passage().identity!, groups: [] } })],
  ['clusters: [prod-*]', passage(), passage({ cluster: 'test' })],
  ['kinds: [watch]', passage({ kind: 'watch' }), passage()],
  ['doors: [connect]', passage({ door: 'connect' }), passage()],
  ['verbs: [list, watch]', passage(), resource({ verb: 'get' })],
  ['namespaces: [shop]', passage(), resource({ namespace: '' })],
  ['namespaces: [""]', resource({ namespace: '' }), passage()],
  ['resources: [{}]', passage(), resource({ apiGroup: 'apps' })],
  ['resources: [{group: apps}]', resource({ apiGroup: 'apps', resource: 'deployments' }), passage()],
  ['resources: [{resources: [pods]}]', passage(), resource({ subresource: 'log' })],
  ['resources: [{resources: [pods/log]}]', resource({ subresource: 'log' }), passage()],
  ['resources: [{resources: ["pods/*"]}]', resource({ subresource: 'log' }), passage()],
  ['resources: [{resources: ["*/log"]}]', resource({ subresource: 'log' }), resource({ subresource: 'status' })],
  ['resources: [{resources: ["*"]}]', resource({ subresource: 'log' }), url('/metrics')],
  ['resources: [{resourceNames: [web]}]', resource({ name: 'web' }), passage()],
  ['nonResourceURLs: [/healthz*]', url('/healthz/ping'), url('/metrics')],
  ['nonResourceURLs: ["*"]', url('/metrics'), passage()],
  ['verbs: [list], namespaces: [shop]', passage(), resource({ verb: 'get' })],
])('a rule of %s is about the one, and not about the other', (rule, one, other) => {
  const read = rules(`level: None, ${rule}`);
  expect([read.levelOf(one), read.levelOf(other)]).toEqual([
    { rule: 'r0', level: 'none' },
    { rule: undefined, level: 'metadata' },
  ]);
});

it('the first that is about it decides, and what none is about is put on record', () => {
  const read = rules('level: Metadata, users: ["corp:ann"]', 'level: None, verbs: [list]', 'level: Metadata');
  expect(read.levelOf(passage())).toEqual({ rule: 'r0', level: 'metadata' });
  const other = { ...passage().identity!, name: 'ci' };
  expect(read.levelOf(passage({ identity: other }))).toEqual({ rule: 'r1', level: 'none' });
  expect(read.count).toBe(3);
  expect(rulesOf('rules: []').levelOf(passage()).level).toBe('metadata');
});

it('of somebody with more groups than a record has, what keeps is about them, and what leaves out only where it is known', () => {
  const cut = passage({ identity: { ...IDENTITY, groups: ['corp:dev'], groupsCut: true } });
  expect(rules('level: Metadata, userGroups: [admins]', 'level: None').levelOf(cut)).toEqual({
    rule: 'r0',
    level: 'metadata',
  });
  expect(rules('level: None, userGroups: [admins]').levelOf(cut)).toMatchObject({ level: 'metadata' });
  expect(rules('level: None, userGroups: ["corp:dev"]').levelOf(cut)).toEqual({ rule: 'r0', level: 'none' });
});

describe('a file is refused', () => {
  it.each([
    ['rules:\n- {name: a, level: RequestResponse}', /rules\.0\.level: write None or Metadata/],
    ['rules:\n- {name: a, level: None, omitStages: [x]}', /rules\.0: .*omitStages/],
    ['rules:\n- {level: None}', /rules\.0\.name/],
    ['rules:\n- {name: a, level: None}\n- {name: a, level: None}', /same name/],
    ['rules:\n- {name: a, level: None, resources: [{}], nonResourceURLs: [/x]}', /not about both/],
    ['rules:\n- {name: a, level: None, namespaces: [x], nonResourceURLs: [/x]}', /in no namespace/],
    ['rules:\n- {name: a, level: None, users: []}', /rules\.0\.users/],
    ['rules:\n- {name: a, level: None, users: ["a*b"]}', /at the end only/],
    ['rules:\n- {name: a, level: None, kinds: [shell]}', /rules\.0\.kinds\.0/],
    ['rules:\n- {name: a, level: None, verbs: [x], verbs: [y]}', /unique/i],
    ['rules: [', /./],
    [`rules:\n${Array.from({ length: 257 }, (_, at) => `- {name: r${at}, level: None}`).join('\n')}`, /256/],
    ['x: &a [1,1,1,1,1]\nrules: [[*a,*a,*a,*a,*a]]\ny: &b [*a]', /./],
    [`#${'x'.repeat(MAX_RULES_BYTES)}\nrules: []`, /larger than/],
  ])('%.60s', (text, why) => {
    expect(() => rulesOf(text)).toThrow(why);
  });

  it('that is of another kind, or no text', () => {
    expect(() => readAuditRules(Buffer.from('apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []'))).toThrow(
      /apiVersion/,
    );
    expect(() => readAuditRules(Buffer.from([0xff, 0xfe]))).toThrow(/UTF-8/);
  });
});
