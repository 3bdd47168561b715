/** Why the installer cannot, or will not, do something: a code of libs/installer/README.md and a sentence for people. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: string;

  constructor(code: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}
