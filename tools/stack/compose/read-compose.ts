// docker-compose.yml as tests see it: with its defaults, and nothing filled in from the environment.
import { parse } from 'yaml';
import { readText } from '../control-plane/image-entries.js';

export interface ComposeService {
  readonly image: string;
  readonly build?: { readonly target: string };
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly pull_policy?: string;
  readonly restart?: string;
  readonly network_mode?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, object>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService | undefined>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** `${NAME:-default}` becomes its default, and `${NAME:+…}` nothing. */
export function readCompose(): Compose {
  const text = readText('docker-compose.yml');
  const plain = text
    .replaceAll(/\$\{\w+:\+(?:[^{}]|\{[^{}]*\})*\}/g, '')
    .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replaceAll('$$', '$');
  return parse(plain, { merge: true }) as Compose;
}

export interface Mount {
  readonly volume: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** What a container has of named volumes. */
export function volumesOf({ volumes = [] }: ComposeService): Mount[] {
  return volumes
    .map((text) => text.split(':'))
    .filter(([volume = '']) => !volume.startsWith('.'))
    .map(([volume = '', target = '', mode]) => ({ volume, target, readOnly: mode === 'ro' }));
}

/** The networks that a container is in. */
export function networksOf({ networks = [] }: ComposeService): readonly string[] {
  return Array.isArray(networks) ? (networks as readonly string[]) : Object.keys(networks);
}
