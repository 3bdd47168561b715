import { hostPort, secretFile } from '@fairlead/config';
import { CredentialName, type Role } from '@fairlead/contracts';
import { z } from 'zod';

/** Settings that every process of the control plane has: the log, and NATS. */
export const processSettings = {
  FAIRLEAD_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  FAIRLEAD_NATS_URL: z.string().min(1),
  /** nkey seed, 0600. */
  FAIRLEAD_NATS_SEED_FILE: z.string().min(1),
  /** PEM of the CA of nats-server's certificate. */
  FAIRLEAD_NATS_CA_FILE: z.string().optional(),
  /** Allows plain text to NATS and Postgres on other machines, where there is no CA file. */
  FAIRLEAD_INSECURE_PLAINTEXT: z.stringbool().default(false),
} as const;

/** The name of the process' NATS credential; by default its role. */
export function credentialOf(role: Role): z.ZodDefault<typeof CredentialName> {
  return CredentialName.default(role);
}

/** Settings of a Nest service besides: where its health is seen, and its database. */
export const serviceSettings = {
  ...processSettings,
  FAIRLEAD_HEALTH_LISTEN: hostPort.default('127.0.0.1:0'),
  FAIRLEAD_DATABASE_URL_FILE: secretFile,
  /** PEM of the CA of Postgres' certificate. */
  FAIRLEAD_DATABASE_CA_FILE: z.string().optional(),
} as const;

type Values<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** The part of its settings that a process is begun from. */
export interface ProcessConfig extends Values<typeof processSettings> {
  readonly FAIRLEAD_CREDENTIAL: string;
  /** Absent: no health server. */
  readonly FAIRLEAD_HEALTH_LISTEN?: string | undefined;
}

/** The same of a Nest service. */
export interface ServiceConfig extends Values<typeof serviceSettings> {
  readonly FAIRLEAD_CREDENTIAL: string;
}
