import type { Role } from '@fairlead/contracts';
import { z } from 'zod';
import { createEvent, Envelope } from '../envelope.js';
import { EVENTS, type EventInput, type EventType } from './events.js';
import { ABOUT_EVENTS } from './owners.js';

const ID = '018f6f2e-7c1a-7b3e-9d55-2f1f0a4c9e11';
const OTHER_ID = '018f6f2e-9a04-7c52-8b1e-6a0d3c7be902';
const AT = '2026-03-02T09:30:00.000Z';
const LATER = '2026-03-02T11:30:00.000Z';
const DIGEST = '5f2c'.repeat(16);
const facts = { agentVersion: '0.1.0', kubernetesVersion: 'v1.34.1', platform: 'linux/amd64', distribution: 'k3s' };
const agent = { instance: ID, addresses: ['198.51.100.7'], since: AT };

/** By the name of the field, the likeliest first: of these the first that the field's schema takes. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  tenantId: ['default'],
  actor: [{ kind: 'user', id: 'corp:dana', address: '198.51.100.7' }],
  reason: ['OK'],
  quotas: [{ clusters: 20, clients: null, apiTokens: 100, grants: null }],
  name: ['shop'],
  user: ['corp:dana'],
  kind: ['exec', 'oidc', 'gitea', 'login', 'nats'],
  why: ['looks into incident 4711', 'schedule'],
  cluster: ['shop'],
  method: ['GET'],
  path: ['org/catalog'],
  version: ['2.7.0', 3],
  digest: [DIGEST],
  tool: ['flux'],
  origin: ['oci://registry.example.com/flux'],
  lastNote: ['fairlead.example.com/audit/default\n4711\n…\n'],
  url: ['https://login.example.com'],
  step: ['begun', 'prepare'],
  state: ['running', 'open'],
  phase: ['Ready'],
  problem: [null],
  code: [null],
  policy: ['queue'],
  fingerprint: [DIGEST, 'SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8'],
  pins: [[DIGEST]],
  pin: [DIGEST],
  serial: ['4f1c09aa'],
  tokenId: [ID],
  keyId: ['17'],
  keyName: ['master-2026'],
  trustDomain: ['fairlead.example.com'],
  tree: ['identity'],
  purpose: ['agent'],
  names: [['spiffe://fairlead.example.com/cluster/018f6f2e-7c1a-7b3e-9d55-2f1f0a4c9e11/agent']],
  facts: [facts],
  duplicate: ['elsewhere'],
  agents: [[agent, { ...agent, instance: OTHER_ID, addresses: ['203.0.113.9'] }]],
  endpoints: [[{ address: 'gateways.example.com:7444', priority: 1 }]],
  gateway: ['gateway-a'],
  by: ['gateway-a'],
  at: ['door/kube-api'],
  door: ['kube-api'],
  protocol: ['websocket'],
  namespace: ['default'],
  object: ['pods/web-0'],
  container: ['web'],
  command: [['sh', '-c', 'id']],
  status: [403],
  issuer: ['corp'],
  service: ['keys'],
  sshHost: ['git.example.com'],
  sshPort: [22],
  message: ['the host does not answer'],
  type: ['ssh-ed25519'],
  fromTime: [AT],
  fromNumber: [null],
  types: [['grant.*', 'cluster.created']],
  approved: [['SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8']],
  withdrawn: [[]],
  grantee: [{ kind: 'group', name: 'corp:oncall' }],
  role: ['view'],
  clusters: [{ names: ['shop'] }, 1],
  narrowing: [{ namespaces: ['default'] }, {}],
  remove: ['tool'],
  assignment: ['baseline'],
  gitHost: ['forge'],
  repository: ['catalog'],
  bundleVersion: ['2.7.0'],
  agentVersion: ['0.1.0'],
  kubernetesVersion: ['v1.34.1'],
  spkiSha256: [DIGEST],
  links: [2],
  seconds: [3_600],
};
/** For fields that are what their schema says, whatever they are called. */
const BY_SCHEMA: readonly unknown[] = [ID, AT, 1, false, null];

/** An event of this type as it is on the wire: the same at each call, and as its schema says. Throws if a field has no value here. */
export function exampleOf(type: EventType): Envelope {
  const data = exampleData(EVENTS[type].shape, type);
  const [role] = ABOUT_EVENTS[type].owners;
  const source = { role: role as Role, credential: role === 'gateway' ? 'gateway-a' : (role as string) };
  const { body } = createEvent(source, type, data as EventInput<typeof type>, new Date(AT), OTHER_ID);
  return Envelope.parse(JSON.parse(body));
}

function exampleData(shape: Readonly<Record<string, z.ZodType>>, type: EventType): Record<string, unknown> {
  const data: Record<string, unknown> = { subject: subjectOf(shape, type) };
  for (const [name, schema] of Object.entries(shape)) {
    if (name === 'subject' || schema.safeParse(undefined).success) continue;
    const value = valueFor(name, schema);
    if (value === undefined) throw new Error(`${type}: say in example.ts what ${name} looks like`);
    data[name] = value;
  }
  return data;
}

function valueFor(name: string, schema: z.ZodType): unknown {
  const times = name === 'expiresAt' || name === 'notAfter' ? [LATER] : [];
  // What may be any text, a schema alone does not tell apart.
  const bySchema = schema.safeParse('any text').success ? [] : BY_SCHEMA;
  const values = [...(VALUES[name] ?? []), ...times, ...bySchema];
  return values.find((value) => schema.safeParse(value).success);
}

function subjectOf(shape: Readonly<Record<string, unknown>>, type: EventType): string {
  const noun = 'clusterId' in shape ? 'cluster' : type.split('.')[2];
  return `${noun}/${ID}`;
}
