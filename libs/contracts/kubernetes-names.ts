import { z } from 'zod';

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
/** Of a label, and what follows the prefix of a label's or an annotation's key. */
const WORD = '[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?';

const subdomain = new RegExp(`^${SUBDOMAIN}$`);
const qualified = new RegExp(`^(${SUBDOMAIN}/)?${WORD}$`);

/** Of most objects of Kubernetes: a DNS subdomain. */
export const ObjectName = z
  .string()
  .max(253)
  .regex(subdomain, 'a name is lower-case letters, digits, dashes and dots, up to 253');

/** Key of a label or an annotation: a name of up to 63 characters, with the DNS name of an owner before it or none. */
export const QualifiedName = z
  .string()
  .max(317)
  .regex(
    qualified,
    'a key is up to 63 letters, digits, dashes, dots and underscores, after a DNS name and a slash or not, such as zone or example.com/zone',
  );

/** Value of a label; may be empty. */
export const LabelValue = z
  .string()
  .regex(
    new RegExp(`^(${WORD})?$`),
    'a value is up to 63 letters, digits, dashes, dots and underscores, with a letter or digit at both ends, or empty',
  );
