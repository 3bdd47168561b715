import { connect } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { readEvents, type RecordedEvent } from '../../support/events.js';
import { expireToken } from '../../support/expire-token.js';
import { https } from '../../support/https.js';
import { startImpostor } from '../../support/impostor.js';
import { invite, readInvitation, startLooseAgent, type Invitation } from '../../support/loose-agent.js';
import { sharedStack } from '../../support/shared-stack.js';
import { adminToken, type TestStack } from '../../support/test-stack.js';

let running: TestStack;

beforeAll(() => {
  running = sharedStack();
});

const invitation = (cluster: string): Promise<Invitation> => invite(running.stack, cluster);

/** The failure that an agent with this invitation reports. */
async function failureOf(invited: Invitation): Promise<Record<string, unknown>> {
  await using agent = await startLooseAgent(running.stack, { invitation: invited });
  return await agent.event('agent.enrolment.failed');
}

/** Waits for an event with this type and reason, because the relay from outbox to stream takes a moment. */
function recorded(type: string, reason: string): Promise<RecordedEvent> {
  return eventually(async () => {
    const events = await readEvents(running.stack);
    const found = events.findLast((event) => event.type === `dev.fairlead.${type}.v1` && event.data.reason === reason);
    if (!found) throw new Error(`no ${type} ${reason} among ${events.map((event) => event.type).join(', ')}`);
    return found;
  });
}

describe('a bootstrap token', () => {
  it('enrols one key, once: another key is refused, and the first stays', async () => {
    const invited = await invitation('token-used');
    await using first = await startLooseAgent(running.stack, { invitation: invited });
    await first.event('link.established');
    expect(await failureOf(invited)).toMatchObject({ level: 'error', code: 'TOKEN_USED' });
    expect((await recorded('enrolment.refused', 'TOKEN_USED')).data).toMatchObject({ tenantId: 'default' });
    expect(await recorded('enrolment.succeeded', 'OK')).toBeDefined();
    await eventually(async () => {
      const show = await running.stack.cli(['cluster', 'show', 'token-used', '-o', 'json']);
      expect(JSON.parse(show.stdout)).toMatchObject({ generation: 1, presence: { state: 'online' } });
    });
  });

  it('is refused once it has expired', async () => {
    const invited = await invitation('token-expired');
    await expireToken(running.stack, invited);
    expect(await failureOf(invited)).toMatchObject({ code: 'TOKEN_EXPIRED' });
    expect(await recorded('enrolment.refused', 'TOKEN_EXPIRED')).toBeDefined();
  });

  it('is refused with another secret, and with another id', async () => {
    const invited = await invitation('token-wrong');
    const [, pin, id] = invited.token.split('.');
    const wrong = Buffer.alloc(32, 7).toString('base64url');
    expect(await failureOf({ ...invited, token: `fl1.${pin}.${id}.${wrong}` })).toMatchObject({
      code: 'TOKEN_UNKNOWN',
    });
    const [, , , secret] = invited.token.split('.');
    const unknown = `fl1.${pin}.00000000-0000-4000-8000-000000000000.${secret}`;
    expect(await failureOf({ ...invited, token: unknown })).toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect(await recorded('enrolment.refused', 'TOKEN_UNKNOWN')).toBeDefined();
  });

  it('is refused when a newer manifest replaced it', async () => {
    const invited = await invitation('token-revoked');
    expect((await running.stack.cli(['cluster', 'import', 'token-revoked'])).code).toBe(0);
    expect(await failureOf(invited)).toMatchObject({ code: 'TOKEN_REVOKED' });
    expect(await recorded('enrolment.refused', 'TOKEN_REVOKED')).toBeDefined();
  });

  it('is not even sent when it is malformed, and the message does not repeat it', async () => {
    const invited = await invitation('token-malformed');
    const failure = await failureOf({ ...invited, token: 'fl1.not-a-token' });
    expect(failure).toMatchObject({ level: 'error', code: 'TOKEN_MALFORMED' });
    expect(JSON.stringify(failure)).not.toContain('not-a-token');
  });

  it('is not sent to anybody when it names another root than the gateway has', async () => {
    const invited = await invitation('token-wrong-pin');
    const [, , id, secret] = invited.token.split('.');
    const pin = '0'.repeat(64);
    const failure = await failureOf({ ...invited, pins: pin, token: `fl1.${pin}.${id}.${secret}` });
    expect(failure).toMatchObject({ level: 'error', code: 'UNTRUSTED_PEER' });
    expect(failure['reason']).toContain('the token was not sent');
    // Neither pin may differ from the other's word.
    expect(await failureOf({ ...invited, pins: pin })).toMatchObject({ code: 'UNTRUSTED_PEER' });
  });

  it('is not sent to a gateway of another installation, whether or not it shows the right root', async () => {
    const invited = await invitation('token-impostor');
    const secret = Buffer.from(invited.token.split('.')[3] ?? '', 'base64url');
    const { rootsPem: rightRoots } = innerIdentity(await enrolled(await invitation('token-impostor-witness')));
    for (const shown of [undefined, rightRoots]) {
      await using impostor = await startImpostor(shown);
      const failure = await failureOf({ ...invited, endpoints: impostor.address });
      expect(failure).toMatchObject({ level: 'error', code: 'UNTRUSTED_PEER' });
      expect(failure['reason']).toMatch(/token was not sent|nothing secret was sent/);
      expect(impostor.received().includes(secret)).toBe(false);
    }
  });
});

describe('an agent’s certificate', () => {
  it('of cluster A is no good for B', async () => {
    const [a, b] = [await invitation('cert-a'), await invitation('cert-b')];
    const [identityA, identityB] = await Promise.all([enrolled(a), enrolled(b)]);
    const [parsedA, parsedB] = [innerIdentity(identityA), innerIdentity(identityB)];
    const forged = JSON.stringify({ identity: JSON.stringify({ ...parsedA, clusterId: parsedB.clusterId }) });
    await using impostor = await startLooseAgent(running.stack, { invitation: b, identity: forged });
    expect(await impostor.event('link.failed')).toMatchObject({ level: 'error', code: 'WRONG_CLUSTER' });
    expect((await recorded('access.refused', 'WRONG_CLUSTER')).data).toMatchObject({ clusterId: parsedA.clusterId });
  });

  it('is no good at the replicas’ own door', async () => {
    const identity = innerIdentity(await enrolled(await invitation('cert-relay')));
    const [gateway] = running.stack.gateways;
    const [host, port] = (gateway?.relayAddress ?? '').split(':');
    const socket = connect({
      host,
      port: Number(port),
      key: identity.keyPem,
      cert: identity.chainPem.join('\n'),
      ca: identity.rootsPem,
      ALPNProtocols: ['h2'],
      checkServerIdentity: () => undefined,
    });
    await new Promise<void>((resolve) => {
      socket.on('error', () => undefined);
      socket.once('close', () => resolve());
      socket.resume();
    });
    expect((await recorded('access.refused', 'CERTIFICATE_REFUSED')).data).toMatchObject({ door: 'relay' });
  });

  it('is kept when a changed import manifest is applied again: its token is not needed', async () => {
    const { stack } = running;
    const identity = await enrolled(await invitation('changed'));
    expect((await stack.cli(['cluster', 'update', 'changed', '--egress', '2222=git.example.com:22'])).code).toBe(0);
    const { stdout: manifest } = await stack.cli(['cluster', 'import', 'changed']);
    expect(manifest).toContain('fairlead-egress');
    await using agent = await startLooseAgent(stack, { invitation: readInvitation(manifest), identity });
    await agent.event('link.established');
    expect(agent.watch.lines.join('\n')).not.toContain('agent.enrolling');
    const show = await stack.cli(['cluster', 'show', 'changed', '-o', 'json']);
    expect(JSON.parse(show.stdout)).toMatchObject({ generation: 1, egress: ['2222=git.example.com:22'] });
    expect((await recorded('cluster.changed', 'OK')).data).toMatchObject({ name: 'changed' });
  });

  it('of a cluster that was deleted gives way to a newer manifest: the agent enrols again by itself', async () => {
    const identity = await enrolled(await invitation('reborn'));
    expect((await running.stack.cli(['cluster', 'delete', 'reborn', '--yes'])).code).toBe(0);
    const invited = await invitation('reborn');
    await using agent = await startLooseAgent(running.stack, { invitation: invited, identity });
    expect(await agent.event('agent.identity.refused')).toMatchObject({ level: 'warn' });
    await agent.event('link.established');
    expect(innerIdentity(await agent.identity()).clusterId).not.toBe(innerIdentity(identity).clusterId);
  });

  it('is refused once its cluster was deleted', async () => {
    const invited = await invitation('cert-deleted');
    const identity = await enrolled(invited);
    expect((await running.stack.cli(['cluster', 'delete', 'cert-deleted', '--yes'])).code).toBe(0);
    await using agent = await startLooseAgent(running.stack, { invitation: invited, identity });
    expect(await agent.event('link.failed')).toMatchObject({ code: 'CERTIFICATE_REFUSED' });
  });
});

describe('the Kubernetes API door', () => {
  it('refuses an unknown cluster, a wrong token and none, with a Status and an event', async () => {
    const { stack } = running;
    const door = stack.gateways[1]?.doorUrl ?? '';
    const authorization = `Bearer ${await adminToken(stack)}`;
    const unknown = await https(stack, `${door}/clusters/nowhere/api`, { headers: { authorization } });
    expect(unknown).toMatchObject({ status: 404, type: 'application/json' });
    expect(JSON.parse(unknown.body)).toMatchObject({ kind: 'Status', reason: 'NotFound' });
    const none = await https(stack, `${door}/clusters/demo/api`);
    expect(none.status).toBe(401);
    expect(JSON.parse(none.body)).toMatchObject({ kind: 'Status', reason: 'Unauthorized' });
    const wrong = await https(stack, `${door}/clusters/demo/api`, { headers: { authorization: 'Bearer nobody' } });
    expect(wrong.status).toBe(401);
    expect((await recorded('access.refused', 'NOT_FOUND')).data).toMatchObject({ subject: 'cluster/nowhere' });
    expect((await recorded('access.refused', 'UNAUTHENTICATED')).data).toMatchObject({ gateway: 'gateway-b' });
  });
});

describe('an import link', () => {
  it('is spent by one GET: HEAD and unknown codes consume nothing, a second GET is told so', async () => {
    const { stack } = running;
    await stack.cli(['cluster', 'create', 'linked']);
    const authorization = `Bearer ${await adminToken(stack)}`;
    const created = await https(stack, `${stack.api.url}/v1/clusters/linked/import-links`, {
      method: 'POST',
      headers: { authorization },
    });
    expect(created.status).toBe(201);
    const { url } = JSON.parse(created.body) as { url: string };

    await https(stack, url, { method: 'HEAD' });
    expect((await https(stack, `${url.slice(0, -4)}aaaa`)).status).toBe(404);
    const first = await https(stack, url);
    expect(first.status).toBe(200);
    const invited = readInvitation(first.body);
    const second = await https(stack, url);
    expect(second).toMatchObject({ status: 410, type: expect.stringContaining('application/problem+json') });
    await using agent = await startLooseAgent(stack, { invitation: invited });
    await agent.event('link.established');
  });
});

interface StoredIdentity {
  readonly clusterId: string;
  readonly keyPem: string;
  readonly chainPem: string[];
  readonly rootsPem: string[];
}

function innerIdentity(file: string): StoredIdentity {
  return JSON.parse((JSON.parse(file) as { identity: string }).identity) as StoredIdentity;
}

/** The identity file of an agent that has enrolled and linked. */
async function enrolled(invited: Invitation): Promise<string> {
  await using agent = await startLooseAgent(running.stack, { invitation: invited });
  await agent.event('link.established');
  return await agent.identity();
}
