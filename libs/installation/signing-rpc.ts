import { X509Certificate } from 'node:crypto';
import {
  ClusterId,
  registrationRpc,
  type ClusterFacts,
  type Issued,
  type LinkProblem,
  type Rpc,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import {
  checkCsr,
  issueIdentity,
  issueServing,
  readPeerCertificate,
  verifyChain,
  type CheckedCsr,
  type IssuedCertificate,
  type PeerCertificate,
} from '@fairlead/pki';
import type { TestCa } from './test-ca.js';
import type { TestGitops } from './test-gitops.js';

/** The services behind a replica. */
export interface Asked {
  readonly ca: TestCa;
  readonly gitops: TestGitops;
}

/** `keys`, `gitops`, and registration's ear for link problems and facts, as far as a replica needs them here; the real service is exercised by its own tests and by e2e. */
export function signingRpc(
  { ca, gitops }: Asked,
  replica: string,
  problems: LinkProblem[] = [],
  facts: ClusterFacts[] = [],
): RpcClient {
  const answer = ({ service, method }: Rpc, tenantId: string, input: unknown): Promise<unknown> => {
    if (service === 'gitops') return gitops.answer(method, tenantId, input);
    const { trustDomain } = ca;
    switch (method) {
      case 'sign-gateway':
        return issue(ca, input as Request, (csr, life) =>
          issueIdentity(ca.issuing, { csr, id: { kind: 'gateway', trustDomain, name: replica }, ...life }),
        );
      case 'sign-serving':
        return issueDoor(ca, input as Request);
      case 'renew-agent':
        return issue(ca, input as Request, async (csr, life) => {
          const { id, generation } = await verified(ca, (input as Request).currentChain ?? []);
          return issueIdentity(ca.issuing, { csr, id, generation, ...life });
        });
      case 'enrol':
        return enrol(ca, input);
      case 'acknowledge-trust':
        for (const held of (input as Held).held) ca.acknowledged.push({ replica, ...held });
        return Promise.resolve({});
      case 'report-troubles':
        problems.push(...(input as { troubles: LinkProblem[] }).troubles);
        return Promise.resolve({});
      case 'report-facts':
        facts.push(...(input as { clusters: ClusterFacts[] }).clusters);
        return Promise.resolve({});
      default:
        return Promise.reject(new FairleadError('UNAVAILABLE', `${method} is not part of this test`));
    }
  };
  return { call: (rpc: Rpc, tenantId: string, input: unknown) => answer(rpc, tenantId, input) as never };
}

interface Request {
  readonly csr: string;
  readonly names?: string[];
  readonly currentChain?: readonly string[];
}

interface Held {
  readonly held: readonly { readonly clusterId: string; readonly version: number }[];
}

/** One that has ended counts, as it does for `keys`. CERTIFICATE_REFUSED. */
async function verified(ca: TestCa, chain: readonly string[]): Promise<PeerCertificate> {
  const { notAfter } = readPeerCertificate(new X509Certificate(chain[0] ?? '').raw);
  const at = new Date(Math.min(Date.now(), notAfter.getTime()));
  return verifyChain(chain, ca.roots, { at, usage: 'clientAuth' });
}

async function issueDoor({ serving: { issuing, root } }: TestCa, { csr, names = [] }: Request): Promise<Issued> {
  const life = lifeFromNow();
  const checked = await checkCsr(Buffer.from(csr, 'base64'));
  const { certificatePem, serial } = await issueServing(issuing, { csr: checked, names, ...life });
  const chain = [certificatePem, issuing.certificatePem, root.certificatePem];
  return { chain, roots: [root.certificatePem], serial, notAfter: life.notAfter.toISOString(), trustVersion: 0 };
}

interface Life {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

async function issue(
  ca: TestCa,
  request: Request,
  sign: (csr: CheckedCsr, life: Life) => Promise<IssuedCertificate>,
): Promise<Issued> {
  const life = lifeFromNow();
  const csr = await checkCsr(Buffer.from(request.csr, 'base64'));
  const { certificatePem, serial } = await sign(csr, life);
  const [chain, notAfter] = [ca.chainOf(certificatePem), life.notAfter.toISOString()];
  return { chain, roots: ca.roots, serial, notAfter, trustVersion: 0 };
}

/** For the cluster whose id the token's ends in: registration is not part of this. */
async function enrol(ca: TestCa, input: unknown) {
  const request = registrationRpc.enrol.input.parse(input);
  ca.enrolments.push(request);
  if (ca.enrolmentRefusal) throw ca.enrolmentRefusal;
  const clusterId = request.tokenId?.replace(/^p-/, '') ?? '';
  if (!ClusterId.safeParse(clusterId).success) throw new FairleadError('UNAVAILABLE', 'there is no registration here');
  const id = { kind: 'agent', trustDomain: ca.trustDomain, clusterId } as const;
  const issued = await issue(ca, request, (csr, life) =>
    issueIdentity(ca.issuing, { csr, id, generation: 1, ...life }),
  );
  return { clusterId, tenantId: 'default', generation: 1, chain: issued.chain, roots: issued.roots };
}

function lifeFromNow(): Life {
  return { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
}
