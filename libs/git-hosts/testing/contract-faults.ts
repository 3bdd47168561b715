import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { testAuthority } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { failsWith } from './fails-with.js';
import { answering, send, startFront, type Fault } from './front.js';
import { openUnderTest, type HostUnderTest } from './host-under-test.js';
import { newPublicKey } from './keys.js';

/** What a host does wrong, or a network: the same for all, whatever the API. */
export function faultContract(under: () => HostUnderTest): void {
  it('says until when it is limited, and asks nothing before that', async () => {
    const { front, repository, keysPath } = under();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs, sleep: async () => {} };
    await using host = openUnderTest(under(), { clock });
    front.clear();
    front.inject('GET', keysPath, answering(429, { 'retry-after': '30' }, 'Retry later'));
    const error = await failsWith('RATE_LIMITED', host.listDeployKeys(repository));
    expect(error.details).toEqual({ retryAt: new Date(nowMs + 30_000).toISOString(), retryAfterSeconds: 30 });
    nowMs += 29_000;
    await failsWith('RATE_LIMITED', host.findRepository(repository));
    expect(front.seen).toHaveLength(1);
    nowMs += 1_000;
    expect(await host.findRepository(repository)).toMatchObject({ state: 'found' });
  });

  it('asks again after a failure when that changes nothing, and gives up after a few', async () => {
    const { front, repository, keysPath } = under();
    await using host = openUnderTest(under());
    front.clear();
    front.inject('GET', keysPath, answering(502, {}, '<html>bad gateway</html>'), 2);
    expect(await host.listDeployKeys(repository)).toMatchObject({ state: 'listed' });
    front.clear();
    front.inject('GET', keysPath, answering(503), 100);
    await failsWith('UNAVAILABLE', host.listDeployKeys(repository));
    expect(front.seen).toHaveLength(3);
    front.clear();
    front.inject('GET', keysPath, (response) => response.destroy(), 100);
    await failsWith('UNAVAILABLE', host.listDeployKeys(repository));
    expect(front.seen).toHaveLength(3);
    front.clear();
  });

  it('has a budget for asking again, over all calls', async () => {
    const { front, repository, keysPath } = under();
    await using host = openUnderTest(under(), { limits: { retryBurst: 3, retryEveryMs: 3_600_000 } });
    front.clear();
    front.inject('GET', keysPath, answering(500), 100);
    for (let call = 0; call < 5; call++) await failsWith('UNAVAILABLE', host.listDeployKeys(repository));
    expect(front.seen).toHaveLength(5 + 3);
    front.clear();
  });

  it('never adds twice: it looks whether the key is there when the answer was lost', async () => {
    const { front, repository, keysPath } = under();
    await using host = openUnderTest(under());
    front.clear();
    front.inject('POST', keysPath, async (response, _, pass) => {
      await pass();
      response.destroy();
    });
    const publicKey = newPublicKey();
    expect(await host.addDeployKey(repository, { label: 'lost-1', publicKey })).toMatchObject({ state: 'added' });
    // In this time the host adds the key, and the look at its keys is over.
    await using hasty = openUnderTest(under(), { limits: { requestTimeoutMs: 10_000 } });
    front.inject('POST', keysPath, (_, __, pass) => pass());
    const late = hasty.addDeployKey(repository, { label: 'lost-0', publicKey: newPublicKey() });
    expect(await late).toMatchObject({ state: 'added' });
    front.inject('POST', keysPath, answering(502), 100);
    const call = host.addDeployKey(repository, { label: 'lost-2', publicKey: newPublicKey() });
    await failsWith('UNAVAILABLE', call);
    expect(front.seen.filter((line) => line.startsWith('POST'))).toHaveLength(3);
    front.clear();
  });

  it('finds the repository that it made when the answer was lost', async () => {
    const { front, owner, tokens } = under();
    await using host = openUnderTest(under(), { token: tokens.wide });
    for (const pathEnd of ['/repos', '/projects'])
      front.inject('POST', pathEnd, async (response, _, pass) => {
        await pass();
        response.destroy();
      });
    const path = { owner, name: `lost-${randomBytes(4).toString('hex')}` };
    expect(await host.createRepository(path)).toMatchObject({ path, visibility: 'private' });
    front.clear();
  });

  it('takes a key for gone when it was removed and the answer was lost', async () => {
    const { front, repository } = under();
    await using host = openUnderTest(under());
    const added = await host.addDeployKey(repository, { label: 'lost-3', publicKey: newPublicKey() });
    if (added.state === 'by-hand') throw new Error('not by hand');
    const { id, fingerprint } = added.key;
    front.inject('DELETE', `/${id}`, async (response, _, pass) => {
      await pass();
      send(response, { status: 502 });
    });
    // Gitea calls removed what was not there any more.
    const { state } = await host.removeDeployKey(repository, { id, fingerprint: fingerprint! });
    expect(['removed', 'gone']).toContain(state);
    expect(await under().idsOnHost()).not.toContain(id);
  });

  it('reads no more than it may, of one answer and of one list', async () => {
    const { front, repository, keysPath } = under();
    await using host = openUnderTest(under(), { limits: { maxBodyBytes: 100_000, maxPages: 7 } });
    let written = 0;
    front.inject('GET', keysPath, async (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const block = Buffer.alloc(65_536, '[');
      // Without end, until the other side has had enough.
      while (!response.destroyed && written < 200_000_000) {
        written += block.length;
        if (!response.write(block)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      }
    });
    await failsWith('PROTOCOL_ERROR', host.listDeployKeys(repository));
    expect(written).toBeLessThan(20_000_000);
    front.clear();
    let page = 1;
    const entry = JSON.stringify([{ id: 1, title: 'x', key: 'y', read_only: true, can_push: false }]);
    const endless = () => ({ link: `<${front.url}/?page=${++page}>; rel="next"`, 'x-next-page': String(page) });
    front.inject(
      'GET',
      keysPath,
      (response) => send(response, { status: 200, headers: endless(), body: entry }),
      1_000,
    );
    await failsWith('PROTOCOL_ERROR', host.listDeployKeys(repository));
    expect(front.seen).toHaveLength(7);
    front.clear();
  });

  it('takes nothing for an answer that is none', async () => {
    const { front, repository, keysPath } = under();
    await using host = openUnderTest(under());
    const bodies: unknown[] = [
      '<html></html>',
      '',
      'null',
      {},
      [{}],
      [{ id: '1' }],
      [{ id: -1, title: 'x', key: 'y' }],
    ];
    for (const body of [...bodies, '{"__proto__": []}', '['.repeat(50_000)]) {
      front.inject('GET', keysPath, answering(200, {}, body));
      await failsWith('PROTOCOL_ERROR', host.listDeployKeys(repository));
    }
    front.inject('GET', keysPath, answering(200, { 'content-encoding': 'gzip' }, '[]'));
    await failsWith('PROTOCOL_ERROR', host.listDeployKeys(repository));
    front.inject('GET', keysPath, answering(418));
    await failsWith('PROTOCOL_ERROR', host.listDeployKeys(repository));
  });

  it('follows no redirect to another place, and shows it nothing', async () => {
    const { front, repository, tokens } = under();
    await using elsewhere = await startFront(await testAuthority(), async () => ({ status: 200, body: '{}' }));
    await using host = openUnderTest(under());
    const places = [
      `${elsewhere.url}/api/v1/repos/a/b`,
      front.url.replace('https:', 'http:'),
      'http://169.254.169.254/latest/meta-data/',
      `${front.url}/admin`,
      `${front.url.replace('https://', 'https://user:password@')}/api/v1/x`,
      '//example.invalid/',
      '',
    ];
    for (const location of places) {
      front.inject('GET', `/${repository.name}`, answering(302, { location }));
      front.inject('GET', encodeURIComponent(`${repository.owner}/${repository.name}`), answering(302, { location }));
      await failsWith('PROTOCOL_ERROR', host.findRepository(repository), [tokens.enough]);
      front.clear();
    }
    expect(elsewhere.seen).toEqual([]);
  });

  it('waits for nobody longer than it should, nor when it is told to stop', async () => {
    const { front, repository, keysPath } = under();
    await using host = openUnderTest(under(), { limits: { requestTimeoutMs: 300 } });
    // Where this process is held up, a deadline may be over before the request arrives, which then comes late or not at all.
    const next = (fault: Fault): void => {
      front.clear();
      front.inject('GET', keysPath, fault, 100);
    };
    next(() => {});
    await failsWith('DEADLINE_EXCEEDED', host.listDeployKeys(repository));
    // That is no reason to ask again.
    expect(front.seen.length).toBeLessThanOrEqual(1);
    next((response) => {
      response.writeHead(200);
      const drip = setInterval(() => {
        if (response.destroyed) clearInterval(drip);
        else response.write(' ');
      }, 20);
    });
    await failsWith('DEADLINE_EXCEEDED', host.listDeployKeys(repository));
    await using patient = openUnderTest(under());
    const stop = new AbortController();
    next(() => stop.abort(new Error('enough')));
    await expect(patient.listDeployKeys(repository, { signal: stop.signal })).rejects.toThrow('enough');
    front.clear();
  });

  it('keeps the token out of errors, even when the host says it, and out of what is printed', async () => {
    const { front, repository, keysPath, tokens } = under();
    await using host = openUnderTest(under());
    const echo = { message: `\u001B[31mno ${tokens.enough}`, errors: [{ message: encodeURIComponent(tokens.enough) }] };
    front.inject('POST', keysPath, answering(403, {}, echo));
    const call = host.addDeployKey(repository, { label: 'demo', publicKey: newPublicKey() });
    const error = await failsWith('GIT_RIGHTS_MISSING', call, [tokens.enough, '\u001B']);
    expect(error.details?.['hostSaid']).toContain('[redacted]');
    expect(inspect(host, { depth: 20, showHidden: true })).not.toContain(tokens.enough);
    expect(JSON.stringify(host)).not.toContain(tokens.enough);
  });

  it('trusts only the authority it was given', async () => {
    const { front, repository } = under();
    const other = await testAuthority();
    await using host = openUnderTest(under(), { caPem: other.root.certificatePem });
    front.clear();
    await failsWith('UNTRUSTED_PEER', host.findRepository(repository));
    await using system = openUnderTest(under(), { caPem: undefined });
    await failsWith('UNTRUSTED_PEER', system.findRepository(repository));
    expect(front.seen).toEqual([]);
  });

  it('lets only so many calls wait', async () => {
    const { front, repository, keysPath } = under();
    await using host = openUnderTest(under(), { limits: { maxPending: 6, requestTimeoutMs: 5_000 } });
    const held: (() => void)[] = [];
    front.inject('GET', keysPath, (response) => held.push(() => response.destroy()), 100);
    const calls = Array.from({ length: 10 }, () => host.listDeployKeys(repository).catch((error: unknown) => error));
    const refused = await Promise.all(calls.slice(6));
    expect(refused.map((error) => (error as { code?: string }).code)).toEqual(Array(4).fill('UNAVAILABLE'));
    await host[Symbol.asyncDispose]();
    await Promise.all(calls);
    front.clear();
    for (const release of held) release();
  });
}

const once = (emitter: NodeJS.EventEmitter, name: string): Promise<unknown> =>
  new Promise((resolve) => emitter.once(name, resolve));
