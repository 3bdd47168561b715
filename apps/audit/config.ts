import { readFileSync } from 'node:fs';
import { witnessesToAsk } from '@fairlead/audit';
import { loadConfig } from '@fairlead/config';
import { messageOf } from '@fairlead/errors';
import { AddressRanges } from '@fairlead/outbound';
import { credentialOf, serviceSettings } from '@fairlead/service/process';
import { z } from 'zod';

function addressRanges(text: string, context: z.RefinementCtx): AddressRanges {
  try {
    return AddressRanges.parse(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: messageOf(error) });
    return z.NEVER;
  }
}

const witnessFile = z.string().transform((path, context) => {
  try {
    return witnessesToAsk(readFileSync(path, 'utf8'));
  } catch (error) {
    context.addIssue({ code: 'custom', message: `these witnesses cannot be asked: ${messageOf(error)}` });
    return z.NEVER;
  }
});

const Config = z.object({
  ...serviceSettings,
  FAIRLEAD_CREDENTIAL: credentialOf('audit'),
  /** Entries are kept for so many days; then the whole day goes. */
  FAIRLEAD_AUDIT_RETENTION_DAYS: z.coerce.number().int().min(1).max(36_500).default(400),
  /** Records that are missing between others are waited for so long before every log says so. After 30 s NATS hands out again what a process died with. */
  FAIRLEAD_AUDIT_GAP_SECONDS: z.coerce.number().int().min(1).max(3_600).default(60),
  /** What a gateway began is `unknown` once it has been silent, or gone, for so long. */
  FAIRLEAD_AUDIT_UNKNOWN_SECONDS: z.coerce.number().int().min(15).max(86_400).default(300),
  /** A file of witnesses that are asked to cosign the checkpoints of all logs: C2SP tlog-policy, of which those with a URL are asked. Absent: nobody is. */
  FAIRLEAD_AUDIT_WITNESSES: witnessFile.optional(),
  /** How often witnesses are asked about a log that has grown; after failures more and more seldom, down to once a minute. */
  FAIRLEAD_AUDIT_WITNESS_SECONDS: z.coerce.number().int().min(1).max(86_400).default(10),
  /** Addresses besides the public internet that webhooks of tenants may lead to, such as 10.20.0.0/16,fd00:1::/32. All others of private networks and of this machine are refused. */
  FAIRLEAD_WEBHOOK_ALLOWED_RANGES: z.string().default('').transform(addressRanges),
  /** Webhooks may be http:, too, but only to those addresses. */
  FAIRLEAD_WEBHOOK_ALLOW_HTTP: z.stringbool().default(false),
  /** PEM of an authority that webhooks' receivers are trusted by besides those of the system. */
  FAIRLEAD_WEBHOOK_CA_FILE: z.string().optional(),
});
export type Config = z.output<typeof Config>;

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return loadConfig(Config, env);
}
