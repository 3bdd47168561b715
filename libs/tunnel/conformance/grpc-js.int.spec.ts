import { createHash } from 'node:crypto';
import { reportOf, type TestInstallation } from '@fairlead/installation';
import { eventually } from '@fairlead/testing';
import type { TunnelConnection } from '@fairlead/tunnel/link';
import { collect, pattern } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dialRelay, type ScriptedReplica } from './gateway-peers.js';
import { gatewaySubject, type GatewaySubject } from './gateway-subject.js';
import { GrpcJsAgent, type GrpcJsTunnel } from './grpc-js-agent.js';
import { ownSessions, type OwnSessions } from './own-session.js';
import { openOf } from './wire.js';

const MEGABYTE = pattern(1024 * 1024, 3);
const FIVE_MEGABYTES = pattern(5 * 1024 * 1024, 5);
const OK = 0;

let subject: GatewaySubject;
let own: OwnSessions;
let replica: ScriptedReplica;
const agents: GrpcJsAgent[] = [];
let serve: (tunnel: GrpcJsTunnel) => void = () => undefined;

beforeAll(async () => {
  // The bytes of an own session are only reachable inside a process: this part runs against this checkout alone.
  delete process.env['FAIRLEAD_CONFORMANCE_GATEWAY'];
  subject = await gatewaySubject();
  own = await ownSessions(subject.installation as TestInstallation);
  replica = await dialRelay(subject);
  for (const link of [subject.link, own.link]) {
    agents.push(await GrpcJsAgent.link({ ...subject, link }, (tunnel) => serve(tunnel)));
  }
});

afterAll(async () => {
  for (const agent of agents) agent[Symbol.dispose]();
  await replica?.[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
  await subject?.[Symbol.asyncDispose]();
});

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const ways: [string, () => Promise<TunnelConnection>][] = [
  ['an own session', () => own.opener()],
  ['the relay', () => Promise.resolve(replica.opener())],
];

describe('a stock gRPC client as the agent', () => {
  it('is told by Discover what an agent needs to know', async () => {
    for (const agent of agents) {
      const { endpoints, rootsPem, trustDomain } = await agent.discover();
      expect({ endpoints, rootsPem, trustDomain }).toEqual({
        endpoints: ['127.0.0.1:1'],
        rootsPem: subject.rootsPem,
        trustDomain: 'fairlead.local',
      });
    }
  });
});

describe('a stock gRPC client as the agent of a cluster with GitOps', () => {
  it('is told what is wanted, reports, and fetches a bundle', async () => {
    const { gitops, cluster } = subject.installation as TestInstallation;
    const [agent] = agents as [GrpcJsAgent];
    const { document } = await gitops.want(cluster, 3);
    const told = await eventually(() => {
      const message = agent.heard.find((heard) => heard.case === 'desiredState');
      if (!message) throw new Error('nothing was told');
      return message.value;
    });
    expect([told.revision, Buffer.from(told.document).toString('base64')]).toEqual([3n, document]);
    agent.report(Buffer.from(JSON.stringify(reportOf(cluster.clusterId, { observedRevision: 3 }))));
    await eventually(() => expect(gitops.reports.at(-1)?.report.observedRevision).toBe(3));
    const { digest, gzip } = gitops.addBundle(1_000);
    const { piece, compressedBytes } = await agent.fetchBundle(digest, 0);
    expect([Buffer.from(piece).equals(gzip), compressedBytes]).toEqual([true, 1_000]);
  });
});

describe.each(ways)('a stock gRPC client as the agent, through %s', (_, take) => {
  /** Opens a tunnel and has its far end do something. */
  async function opened(far: (tunnel: GrpcJsTunnel) => void): Promise<TunnelConnection> {
    serve = (tunnel) => {
      tunnel.accept();
      far(tunnel);
    };
    const tunnel = await take();
    await tunnel.open(openOf(subject.clusterId), AbortSignal.timeout(10_000));
    return tunnel;
  }

  it('is answered 1 MB after it heard the end of the question', async () => {
    const statuses: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const tunnel = await opened((far) => {
        void far.received().then((question) => {
          far.finish(Buffer.concat([question, MEGABYTE]));
          return far.close().then((status) => statuses.push(status));
        });
      });
      tunnel.end(MEGABYTE);
      const answer = await collect(tunnel);
      expect(sha256(answer)).toBe(sha256(Buffer.concat([MEGABYTE, MEGABYTE])));
    }
    await eventually(() => expect(statuses).toEqual(Array.from({ length: 20 }, () => OK)));
  });

  it('hears 1 MB after it ended its own direction', async () => {
    for (let round = 0; round < 20; round += 1) {
      let heard: Promise<Buffer> | undefined;
      const tunnel = await opened((far) => {
        far.finish(Buffer.from('first and last'));
        heard = far.received();
        void heard.then(() => far.close());
      });
      expect((await collect(tunnel)).toString()).toBe('first and last');
      tunnel.end(MEGABYTE);
      expect(sha256((await heard) as Buffer)).toBe(sha256(MEGABYTE));
    }
  });

  it('may write and close at once: to a fast reader and to a slow one, nothing is lost', async () => {
    for (const pauseMs of [0, 20]) {
      const tunnel = await opened((far) => {
        far.finish(FIVE_MEGABYTES);
        far.call.end();
      });
      tunnel.end();
      expect(sha256(await collect(tunnel, pauseMs))).toBe(sha256(FIVE_MEGABYTES));
    }
  });

  it('may speak first', async () => {
    const tunnel = await opened((far) => far.finish(Buffer.from('220 ready\r\n')));
    expect((await collect(tunnel)).toString()).toBe('220 ready\r\n');
    tunnel.end();
  });

  it('may refuse: the opener hears its code, and the next tunnel is not affected', async () => {
    serve = (tunnel) => {
      const value = {
        $typeName: 'fairlead.link.v1.Refused' as const,
        code: 'TARGET_UNREACHABLE',
        message: 'not there',
      };
      tunnel.send({ case: 'refused', value });
      tunnel.call.end();
    };
    const refusedOne = await take();
    await expect(refusedOne.open(openOf(subject.clusterId), AbortSignal.timeout(10_000))).rejects.toMatchObject({
      code: 'TARGET_UNREACHABLE',
      message: 'not there',
    });
    const next = await opened((far) => far.finish(Buffer.from('fine')));
    expect((await collect(next)).toString()).toBe('fine');
    next.end();
  });

  it('may reset: the opener hears its code', async () => {
    const value = { $typeName: 'fairlead.link.v1.Reset' as const, code: 'TARGET_UNREACHABLE', message: 'gone' };
    let far: GrpcJsTunnel | undefined;
    const tunnel = await opened((its) => (far = its));
    const broken = new Promise((resolve) => tunnel.once('error', resolve));
    far?.send({ case: 'reset', value });
    expect(await broken).toMatchObject({ code: 'TARGET_UNREACHABLE' });
    expect(await far?.close()).toBe(OK);
  });

  it('hears of a Reset by the opener', async () => {
    let far: GrpcJsTunnel | undefined;
    const tunnel = await opened((its) => (far = its));
    tunnel.destroy();
    const last = { case: 'reset', value: { code: 'TUNNEL_RESET' } };
    await eventually(() => expect(far?.frames.at(-1)).toMatchObject(last));
    expect(await far?.close()).toBe(OK);
  });

  it('is asked for tunnels when none is parked, and serves 32 at once', async () => {
    const tunnels = await Promise.all(
      Array.from({ length: 32 }, () =>
        opened((far) => {
          void far.received().then((question) => {
            far.finish(question);
            return far.close();
          });
        }),
      ),
    );
    const answers = tunnels.map((tunnel, i) => {
      tunnel.end(pattern(100_000 + i, i + 1));
      return collect(tunnel);
    });
    for (const [i, answer] of (await Promise.all(answers)).entries()) {
      expect(sha256(answer)).toBe(sha256(pattern(100_000 + i, i + 1)));
    }
    expect(agents.some(({ heard }) => heard.some((kind) => kind.case === 'openTunnels'))).toBe(true);
  });
});
