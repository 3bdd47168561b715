import { Document, visit } from 'yaml';
import type { KubernetesDocument } from './import-manifest-names.js';

/**
 * What kubectl, which reads YAML 1.1, takes for something else than YAML 1.2 does: line breaks that are no ASCII, by which a text would go on as fields
 * of the manifest, and numbers with underscores. https://yaml.org/spec/1.1/#b-break
 */
const NOT_PLAIN = /[^\n\u0020-\u007e]|^[-+.\d].*_/s;
/** In double quotes each has an escape. */
const ESCAPED = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** One document of a manifest. Every string in it is that string for readers of YAML 1.1 and of 1.2, whoever chose it. */
export function manifestYaml(object: KubernetesDocument): string {
  const document = new Document(object, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && NOT_PLAIN.test(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER });
  return text.replaceAll(ESCAPED, (odd) => `\\u${odd.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
