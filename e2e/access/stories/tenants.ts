import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandOutput, Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { fairlead } from '../../support/fairlead.js';
import { https, type Answer } from '../../support/https.js';
import { sharedStack } from '../../support/shared-stack.js';
import { fillTenant, type Everything } from '../everything-of-a-tenant.js';
import { commandOf } from '../person.js';
import { apiAs, describedOperations, type ApiAnswer, type AskApi, type DescribedOperation } from '../tenant-api.js';

let stack: Stack;
let bossFile: string;
let admin: AskApi;
let boss: AskApi;
let everything: Everything;
let operations: readonly DescribedOperation[];

beforeAll(async () => {
  ({ stack } = sharedStack());
  bossFile = join(stack.stateDir, 'boss.token');
  await fairlead(stack, 'tenant', 'create', 'shop', '--clusters', '2', '--grants', '10');
  await inShop('api-token', 'create', 'boss', '--for', '1h', '--out', bossFile);
  await inShop('grant', 'create', '--token', 'boss', '--role', 'administrator', '--for', '1h', '--reason', 'runs shop');
  admin = await apiAs(stack, stack.api.adminTokenFile);
  boss = await apiAs(stack, bossFile);
  everything = await fillTenant(stack, admin);
  operations = await describedOperations(admin);
});

/** As an administrator of the installation who acts in the tenant. */
const inShop = (...args: string[]): Promise<string> => fairlead(stack, '--tenant', 'shop', ...args);
const refused = (pattern: RegExp): CommandOutput =>
  expect.objectContaining({ code: 1, stderr: expect.stringMatching(pattern) as string }) as CommandOutput;

/** With the names of what is the default tenant's in it. Throws for one that this test has no name for. */
function pathFor({ template }: DescribedOperation): string {
  const [known = ''] = Object.keys(everything.pathOf)
    .filter((beginning) => template.startsWith(beginning))
    .sort((a, b) => b.length - a.length);
  const path = template.replace(known, everything.pathOf[known] ?? '');
  if (path.includes('{')) throw new Error(`give an example of ${template} in everything-of-a-tenant.ts`);
  return path;
}

function ask(by: AskApi, operation: DescribedOperation): Promise<ApiAnswer> {
  const { id, method, takesBody } = operation;
  if (id === 'uploadBundle') return by(method, `${pathFor(operation)}?digest=${'0'.repeat(64)}`, undefined, 'x: y\n');
  const body = everything.bodyOf[id];
  if (takesBody && !body) throw new Error(`say in everything-of-a-tenant.ts what ${id} is asked with`);
  if (id === 'tailAudit') return by(method, `${pathFor(operation)}?after=0`);
  if (id === 'getAuditTile') return by(method, `${pathFor(operation)}?path=tile/entries/000.p/1`);
  return by(method, pathFor(operation), takesBody ? body : undefined);
}

const ofTenant = (operation: DescribedOperation): boolean =>
  ['administrator', 'auditor', 'user'].includes(operation.mayAsk);
/** What they make bears a name of their own tenant's, which may be one that another has as well. */
const MAKES_ITS_OWN = new Set(['putGitHost', 'putAssignment', 'uploadBundle', 'importBundle']);

/** What is asked for is told of there, too. */
const GROWS_BY_ITSELF = new Set([
  'searchAudit',
  'feedAudit',
  'tailAudit',
  'exportAudit',
  'listAuditProducers',
  'getAuditLog',
  'listAuditEvidence',
]);
/** Each tenant's log has an entry of that number, of its own. */
const NUMBERS_ITS_OWN = new Set(['getAuditEntry']);

/** All that the default tenant's administrator sees, without what time changes, or each request. */
async function seenInDefault(): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const operation of operations.filter((each) => ofTenant(each) && each.method === 'GET')) {
    if (GROWS_BY_ITSELF.has(operation.id)) continue;
    const { status, json } = await ask(admin, operation);
    const told = JSON.stringify(json, (key, value: unknown) =>
      /At$|^problem$|^requestId$/.test(key) ? undefined : value,
    );
    seen[operation.id] = [status, told];
  }
  return seen;
}

describe('an administrator of a tenant', () => {
  it('is tried at every operation that the API describes', () => {
    expect(operations.length).toBeGreaterThan(95);
    for (const operation of operations.filter(({ mayAsk }) => mayAsk !== 'public' && mayAsk !== 'installation'))
      expect(() => pathFor(operation)).not.toThrow();
  });

  it('sees nothing of another tenant in any list', async () => {
    const lists = operations.filter((each) => ofTenant(each) && each.method === 'GET' && !each.template.includes('{'));
    expect(lists.length).toBeGreaterThan(15);
    // What was recorded of the tenant just now is signed a moment later.
    await eventually(async () => expect((await boss('GET', '/v1/audit/log')).status).toBe(200));
    for (const list of lists) {
      const { status, text } = await ask(boss, list);
      expect([list.id, status]).toEqual([list.id, 200]);
      expect([list.id, everything.secret.filter((word) => text.includes(word))]).toEqual([list.id, []]);
    }
  });

  it('finds nothing that is another’s by its name, changes nothing, and ends nothing', async () => {
    const before = await seenInDefault();
    const named = operations.filter((each) => ofTenant(each) && each.template.includes('{'));
    expect(named.length).toBeGreaterThan(40);
    const found: [string, number, string][] = [];
    for (const operation of named.filter(({ id }) => !MAKES_ITS_OWN.has(id) && !NUMBERS_ITS_OWN.has(id))) {
      const { status, text } = await ask(boss, operation);
      // An issuer's name is taken in the whole installation.
      if (status !== (operation.id === 'putIssuer' ? 409 : 404)) found.push([operation.id, status, text]);
    }
    expect(found).toEqual([]);
    for (const operation of named.filter(({ id }) => NUMBERS_ITS_OWN.has(id))) {
      const { text } = await ask(boss, operation);
      expect([operation.id, everything.secret.filter((word) => text.includes(word))]).toEqual([operation.id, []]);
    }
    const ids = everything.secret.filter((word) => /\d/.test(word));
    const others = operations.filter((each) => ofTenant(each) && each.method !== 'GET');
    for (const operation of others.filter(({ id, template }) => MAKES_ITS_OWN.has(id) || !template.includes('{'))) {
      if (operation.id === 'endCurrentLogin') continue;
      const { text } = await ask(boss, operation);
      expect([operation.id, ids.filter((word) => text.includes(word))]).toEqual([operation.id, []]);
    }
    expect(await seenInDefault()).toEqual(before);
  });

  it('does nothing that is the installation’s, and acts in no other tenant', async () => {
    const inDefault = await apiAs(stack, bossFile, 'default');
    const toll = operations.filter(({ mayAsk }) => mayAsk === 'installation');
    expect(toll.length).toBeGreaterThan(10);
    for (const { id, method, template } of toll) {
      const { status } = await boss(method, template.replaceAll(/\{\w+\}/g, 'shop'), {});
      expect([id, status]).toEqual([id, 403]);
    }
    for (const operation of operations.filter(ofTenant)) {
      expect([operation.id, (await ask(inDefault, operation)).status]).toEqual([operation.id, 403]);
    }
  });

  it('finds no cluster of another tenant at a door', async () => {
    const token = JSON.stringify((await boss('GET', '/v1/whoami')).json);
    expect(token).toContain('"tenantId":"shop"');
    const authorization = `Bearer ${(await readFile(bossFile, 'utf8')).trim()}`;
    const [gateway] = stack.gateways;
    const at = (cluster: string) =>
      https(stack, `${gateway?.doorUrl}/clusters/${cluster}/api`, { headers: { authorization } });
    // Doors hear of a token a moment after the command has ended.
    const there = await eventually(async () => {
      const answer = await at('of-default');
      if (answer.status === 401) throw new Error(answer.body);
      return answer;
    });
    expect(there.status).toBe(404);
    // But for the name, and the trace that each request has.
    const said = ({ body }: Answer): string => body.replaceAll('of-default', 'nowhere').replaceAll(/[0-9a-f]{32}/g, '');
    expect(said(await at('nowhere'))).toBe(said(there));
  });
});

describe('with the command', () => {
  it('a tenant’s administrator does all within it, up to its quotas', async () => {
    const { fairlead: cli } = await commandOf(stack, 'boss', bossFile);
    expect(await cli('cluster', 'create', 'shop-1')).toMatchObject({ code: 0 });
    expect(await cli('cluster', 'create', 'shop-2')).toMatchObject({ code: 0 });
    expect(await cli('cluster', 'create', 'shop-3')).toEqual(refused(/has all clusters that it may have: 2/));
    expect((await cli('cluster', 'list', '-o', 'name')).stdout).toBe('shop-1\nshop-2\n');
    expect(await cli('tenant', 'list')).toEqual(refused(/administrators of the installation/));
    expect(await cli('--tenant', 'default', 'cluster', 'list')).toEqual(refused(/of another tenant than default/));
    expect(await inShop('cluster', 'list', '-o', 'name')).toBe('shop-1\nshop-2\n');
    expect(await fairlead(stack, 'cluster', 'list', '-o', 'name')).toBe('of-default\n');
    expect(await fairlead(stack, 'tenant', 'show', 'shop')).toContain('clusters: 2 of 2');
  });

  it('a tenant is deleted when it has nothing left, and with it whoever was in it', async () => {
    const remove = ['tenant', 'delete', 'shop', '--yes'];
    expect(await stack.cli(remove)).toEqual(refused(/Git hosts|clusters \(2\)/));
    for (const name of ['shop-1', 'shop-2']) await inShop('cluster', 'delete', name, '--yes');
    for (const [path, name] of [
      ['gitops/assignments', 'assignments'],
      ['catalog-repositories', 'repositories'],
      ['git-hosts', 'hosts'],
    ]) {
      const list = (await boss('GET', `/v1/${path}`)).json as Record<string, { name: string }[]>;
      for (const each of list[name!] ?? []) await boss('DELETE', `/v1/${path}/${each.name}`);
    }
    await fairlead(stack, ...remove);
    await fairlead(stack, ...remove);
    await eventually(async () => expect((await boss('GET', '/v1/whoami')).status).toBe(401), { timeoutMs: 20_000 });
    expect(await stack.cli(['tenant', 'show', 'shop'])).toEqual(refused(/there is no tenant named shop/));
    expect(await stack.cli(['tenant', 'create', 'shop'])).toEqual(refused(/names are not used again/));
    expect(await stack.cli(['--tenant', 'shop', 'cluster', 'create', 'x'])).toEqual(refused(/no tenant named shop/));
  });
});
