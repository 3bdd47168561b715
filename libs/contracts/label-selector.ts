import { z } from 'zod';
import { LabelValue, QualifiedName } from './kubernetes-names.js';

const MAX_TEXT = 1_024;
const MAX_REQUIREMENTS = 16;
const MAX_VALUES = 32;

/** One condition of a selector, as apimachinery has them: NotIn also takes what has no such label. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** Empty for the last two. */
  readonly values: readonly string[];
}

/** As `kubectl --selector` takes it: `zone=eu,stage!=test,tier in (a,b),!old`. Without `>` and `<`. */
export const LabelSelector = z
  .string()
  .max(MAX_TEXT)
  .superRefine((text, context) => {
    const read = readSelector(text);
    if (typeof read === 'string') context.addIssue({ code: 'custom', message: read });
  });

/** The conditions of a LabelSelector; all of them have to hold. Throws RangeError for text that is none. */
export function parseLabelSelector(text: string): LabelRequirement[] {
  const read = readSelector(text);
  if (typeof read === 'string') throw new RangeError(read);
  return read;
}

/** Do the labels of something meet all conditions? */
export function selectsLabels(
  requirements: readonly LabelRequirement[],
  labels: Readonly<Record<string, string>>,
): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    const listed = value !== undefined && values.includes(value);
    return operator === 'In' ? listed : !listed;
  });
}

/** The requirements, or what is wrong with the text. */
function readSelector(text: string): LabelRequirement[] | string {
  const parts = splitAtCommas(text);
  if (parts.length > MAX_REQUIREMENTS) return `a selector has at most ${MAX_REQUIREMENTS} conditions`;
  const requirements: LabelRequirement[] = [];
  for (const part of parts) {
    const read = readRequirement(part.trim());
    if (typeof read === 'string') return read;
    requirements.push(read);
  }
  return requirements;
}

/** At those outside of parentheses. */
function splitAtCommas(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts;
}

const HOW =
  'write conditions as key=value, key!=value, key in (a,b), key notin (a,b), key or !key, with commas between them';

function readRequirement(text: string): LabelRequirement | string {
  const [, notKey] = /^!\s*(\S+)$/.exec(text) ?? [];
  if (notKey !== undefined) return checked({ key: notKey, operator: 'DoesNotExist', values: [] });
  const [, equalKey, sign, value] = /^([^\s!=()]+)\s*(==?|!=)\s*([^\s!=()]*)$/.exec(text) ?? [];
  if (equalKey !== undefined) {
    return checked({ key: equalKey, operator: sign === '!=' ? 'NotIn' : 'In', values: [value ?? ''] });
  }
  const [, setKey, word, list] = /^([^\s!=()]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text) ?? [];
  if (setKey !== undefined && list !== undefined) {
    const values = list.split(',').map((each) => each.trim());
    if (values.length > MAX_VALUES) return `a condition has at most ${MAX_VALUES} values`;
    return checked({ key: setKey, operator: word === 'in' ? 'In' : 'NotIn', values });
  }
  return /^[^\s!=<>(),]+$/.test(text) ? checked({ key: text, operator: 'Exists', values: [] }) : HOW;
}

function checked(requirement: LabelRequirement): LabelRequirement | string {
  const key = QualifiedName.safeParse(requirement.key);
  const value = z.array(LabelValue).safeParse(requirement.values);
  return key.error?.issues[0]?.message ?? value.error?.issues[0]?.message ?? requirement;
}
