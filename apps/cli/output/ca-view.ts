import type { Io } from '../io.js';
import type { CertificateAuthority } from '../session/answers.js';
import { printLines, printTable } from './print.js';

type Rotation = NonNullable<CertificateAuthority['rotation']>;

const COLOURS = { active: 'green', next: 'yellow', retiring: 'yellow' } as const;

/** Roots and issuing CAs, one a line. */
export function printAuthorities(io: Io, { authorities }: CertificateAuthority): void {
  printTable(
    io,
    ['TREE', 'ROLE', 'STATE', 'UNTIL', 'KEY', 'PIN', 'SUBJECT'],
    authorities.map(({ tree, role, state, notAfter, key, pin, subject }) => {
      const colour = COLOURS[state as keyof typeof COLOURS];
      return [tree, role, colour ? { text: state, colour } : state, notAfter, key, pin.slice(0, 16), subject];
    }),
  );
}

/** How far a rotation is, who is waited for, and what comes next. */
export function printRotation(io: Io, { rotation, trustVersion }: CertificateAuthority): void {
  if (!rotation) return;
  const prepared = rotation.step === 'prepared';
  printLines(
    io,
    '',
    prepared
      ? `rotation: the next root was made ${rotation.since}; trust bundle ${trustVersion}`
      : `rotation: the next root signs since ${rotation.since}`,
    `clusters: ${rotation.clustersDone} of ${rotation.clusters} ${prepared ? 'trust it' : 'have a certificate of it'}`,
    ...waited(rotation),
    ...others(rotation),
    `next: ${nextOf(rotation, prepared)}`,
  );
}

function waited({ waitingFor, clusters, clustersDone }: Rotation): string[] {
  const lines = waitingFor.map(({ name, clusterId, heldVersion, waitedUntil }) => {
    const held = heldVersion === 0 ? 'nothing acknowledged' : `holds bundle ${heldVersion}`;
    return `  ${name ?? clusterId}: ${held}; could come back until ${waitedUntil}`;
  });
  const unnamed = clusters - clustersDone - waitingFor.length;
  return unnamed > 0 ? [...lines, `  and ${unnamed} more`] : lines;
}

function others({ gateways, otherCertificates, otherCertificatesUntil }: Rotation): string[] {
  return [
    ...gateways.map(({ credential, heldVersion }) => `replica ${credential}: holds bundle ${heldVersion}`),
    ...(otherCertificates > 0
      ? [
          `clients and gateways: ${otherCertificates} certificates of the old root, the last until ${otherCertificatesUntil ?? '?'}`,
        ]
      : []),
  ];
}

function nextOf(rotation: Rotation, prepared: boolean): string {
  const command = prepared ? 'fairlead ca activate' : 'fairlead ca retire';
  const waiting =
    rotation.clusters > rotation.clustersDone || rotation.gateways.length > 0 || rotation.otherCertificates > 0;
  return waiting ? `wait, or delete clusters that are gone for good; then: ${command}` : command;
}
