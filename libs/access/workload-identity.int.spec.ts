// @tier full: tokens of a real kube-apiserver; libs/access/logins exchanges tokens of their shape
import { Issuer } from '@fairlead/contracts';
import { silentLogger } from '@fairlead/observability';
import { kubectlOf, startKubernetes, type Kubectl, type KubeInfo, type Running } from '@fairlead/testbed';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Issuers } from './feature/issuers.js';
import { Logins } from './feature/logins.js';
import { accessDatabase, type AccessDatabase } from './testing/access-fixture.js';

const api = { role: 'api', credential: 'api' } as const;
let db: AccessDatabase;
let kubernetes: Running<KubeInfo>;
let kubectl: Kubectl;
let issuers: Issuers;
let logins: Logins;

beforeAll(async () => {
  db = await accessDatabase();
  kubernetes = await startKubernetes({ dataDir: db.scratch.file('kubernetes'), log: () => undefined });
  kubectl = await kubectlOf(kubernetes.info.adminKubeconfigPath);
  const runtime = {
    database: db.database,
    source: { role: 'access', credential: 'access' } as const,
    logger: silentLogger,
    onCommitted: () => {},
    now: () => new Date(),
  };
  [issuers, logins] = [new Issuers(runtime), new Logins(runtime, { loginSeconds: 900, sessionSeconds: 3_600 })];
});
afterAll(async () => {
  await kubernetes?.stop();
  await db?.[Symbol.asyncDispose]();
});

const tokenOf = async (account: string, ...audience: string[]): Promise<string> => {
  const audiences = audience.map((name) => `--audience=${name}`);
  return (await kubectl.insist(['create', 'token', account, ...audiences])).trim();
};
const logIn = (token: string) =>
  logins.exchange(api, { issuer: 'staging', token }).then(
    ({ user }) => user,
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );

it('lets a service account in by the token that its cluster signs, by keys that were given as a document', async () => {
  for (const account of ['ci', 'other']) await kubectl.insist(['create', 'serviceaccount', account]);
  const discovery = JSON.parse(await kubectl.insist(['get', '--raw', '/.well-known/openid-configuration'])) as {
    issuer: string;
  };
  await issuers.put(
    api,
    'default',
    { by: 'admin' },
    Issuer.parse({
      name: 'staging',
      kind: 'workload',
      url: discovery.issuer,
      audience: 'fairlead',
      prefix: 'staging:',
      jwks: JSON.parse(await kubectl.insist(['get', '--raw', '/openid/v1/jwks'])),
      requiredClaims: { sub: 'system:serviceaccount:default:ci*' },
    }),
  );
  const token = await tokenOf('ci', 'fairlead');
  const user = 'workload:staging:system:serviceaccount:default:ci';
  expect([await logIn(token), await logIn(token)]).toEqual([user, user]);
  expect(await logIn(await tokenOf('other', 'fairlead'))).toContain('required claim sub');
  expect(await logIn(await tokenOf('ci'))).toContain('another audience');
  expect(await logIn(await tokenOf('ci', 'fairlead', 'else'))).toContain('for others too');
  expect(await logIn(`${token.slice(0, -8)}AAAAAAAA`)).toContain('signature');
});
