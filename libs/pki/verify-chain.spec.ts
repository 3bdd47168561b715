import { expect, it } from 'vitest';
import {
  checkCsr,
  createCsr,
  createIssuing,
  createRoot,
  generatePrivateKey,
  issueIdentity,
  verifyChain,
} from './index.js';

it('works', async () => {
  const v = { notBefore: new Date('2026-01-01'), notAfter: new Date('2055-01-01') };
  const root = await createRoot({ commonName: 'root', ...v });
  const issuing = await createIssuing(root, { commonName: 'issuing', ...v });
  const csr = await checkCsr(await createCsr(await generatePrivateKey()));
  const leaf = await issueIdentity(issuing, {
    csr,
    id: { kind: 'gateway', trustDomain: 'fairlead.local', name: 'gateway-a' },
    generation: 3,
    ...v,
  });
  const peer = await verifyChain(
    [leaf.certificatePem, issuing.certificatePem, root.certificatePem],
    [root.certificatePem],
    { at: new Date('2027-01-01'), usage: 'serverAuth' },
  );
  expect(peer).toMatchObject({
    serial: leaf.serial,
    generation: 3,
    id: { kind: 'gateway' },
    spkiSha256: csr.spkiSha256,
    ...v,
  });
});
