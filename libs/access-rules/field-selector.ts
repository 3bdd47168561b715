/** In the order in which they are looked for at each place. */
const OPERATORS = ['!=', '==', '='] as const;

/**
 * The one name of an object that a field selector asks for (`metadata.name=x`); undefined if it asks for none, or cannot be read. As apimachinery's
 * `fields.ParseSelector` and `RequiresExactMatch`, and apiserver's rule for names that could be a part of a path.
 */
export function nameSelected(selector: string): string | undefined {
  let name: string | undefined;
  // Of several the first counts, and they are sorted.
  for (const term of termsOf(selector).toSorted()) {
    if (term === '') continue;
    const read = readTerm(term);
    if (!read) return undefined;
    if (read.field === 'metadata.name' && read.operator !== '!=') name ??= read.value;
  }
  return name === undefined || name === '.' || name === '..' || /[/%]/.test(name) ? undefined : name;
}

/** At commas, but those behind a backslash. */
function termsOf(selector: string): string[] {
  const terms = [''];
  let escaped = false;
  for (const character of selector) {
    if (character === ',' && !escaped) terms.push('');
    else terms[terms.length - 1] += character;
    escaped = !escaped && character === '\\';
  }
  return terms;
}

interface Term {
  readonly field: string;
  readonly operator: (typeof OPERATORS)[number];
  readonly value: string;
}

function readTerm(term: string): Term | undefined {
  for (let at = 0; at < term.length; at += 1) {
    const operator = OPERATORS.find((each) => term.startsWith(each, at));
    if (!operator) continue;
    const value = unescapedValue(term.slice(at + operator.length));
    return value === undefined ? undefined : { field: term.slice(0, at), operator, value };
  }
  return undefined;
}

/** Backslashes, commas and equals signs of a value are escaped; anything else is no value. */
function unescapedValue(value: string): string | undefined {
  return /^(?:[^\\,=]|\\[\\,=])*$/s.test(value) ? value.replaceAll(/\\([\\,=])/g, '$1') : undefined;
}
