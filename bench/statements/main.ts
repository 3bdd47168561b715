import { randomUUID } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { StatementVerifier, SignedTime, signAccessStatement, type AccessStatement } from '@fairlead/access-statement';
import { testAuthority } from '@fairlead/testing';

const STATEMENTS = 500;
/** The first ones meet code that was never run. */
const WARM_UP = 100;
const MINUTE_MS = 60_000;

await main();

/** What an agent does with a statement once per tunnel: each for the first time, and then once more. */
async function main(): Promise<void> {
  const authority = await testAuthority();
  const clusterId = randomUUID();
  const { privateKeyPem: keyPem, chain } = await authority.service('access-statements');
  const signer = { keyPem, chainPem: chain.slice(0, -1) };
  const { trustDomain, roots } = authority;
  const time = new SignedTime(() => Date.now());
  const verifier = new StatementVerifier({ trust: () => ({ trustDomain, rootsPem: roots }), time });
  const [first, again]: Sample[][] = [[], []];
  for (let i = -WARM_UP; i < STATEMENTS; i += 1) {
    const envelope = await signAccessStatement(statementFor(clusterId), signer);
    const took = [
      await timed(() => verifier.open(envelope, { clusterId })),
      await timed(() => verifier.open(envelope, { clusterId })),
    ];
    if (i < 0) continue;
    first?.push(took[0] as Sample);
    again?.push(took[1] as Sample);
  }
  const whole = (samples: Sample[] = []): Sample[] => samples.filter(({ wasInterrupted }) => !wasInterrupted);
  report({
    'a statement is verified for the first time': first ?? [],
    'the same, where the core was not taken away meanwhile': whole(first),
    'a further tunnel with the same one': again ?? [],
  });
}

/** As many rules as people mostly have. */
function statementFor(clusterId: string): AccessStatement {
  const at = (minutes: number): string => new Date(Date.now() + minutes * MINUTE_MS).toISOString();
  const rule = (namespace: string): AccessStatement['rules'][number] => {
    return {
      grantId: randomUUID(),
      effect: 'allow',
      groups: ['fairlead:view'],
      narrowing: { namespaces: [namespace] },
    };
  };
  return {
    version: 1,
    tenantId: 'default',
    clusterId,
    tokenId: randomUUID(),
    kind: 'login',
    user: 'corp:alice',
    rules: ['shop', 'bank', 'lab'].map(rule),
    notBefore: at(0),
    openUntil: at(30),
    streamsUntil: at(45),
    serial: randomUUID(),
  };
}

interface Sample {
  readonly tookUs: number;
  /** Another program had the core for a part of it. */
  readonly wasInterrupted: boolean;
}

async function timed(work: () => Promise<unknown>): Promise<Sample> {
  const interruptions = (): number => process.resourceUsage().involuntaryContextSwitches;
  const before = interruptions();
  const beganMs = performance.now();
  await work();
  const tookUs = (performance.now() - beganMs) * 1_000;
  return { tookUs, wasInterrupted: interruptions() > before };
}

function report(took: Readonly<Record<string, readonly Sample[]>>): void {
  const about = `${STATEMENTS} statements of three rules; ${availableParallelism()} cores, load average ${loadavg()[0]?.toFixed(1)}; Node ${process.version}`;
  const lines = Object.entries(took).map(([what, samples]) => {
    const sorted = samples.map(({ tookUs }) => tookUs).toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
    return `${what} (${sorted.length}): least ${at(0)} µs, p50 ${at(0.5)} µs, p99 ${at(0.99)} µs`;
  });
  process.stdout.write(`${[about, ...lines].join('\n')}\n`);
}
