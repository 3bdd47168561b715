const MAX_CHARS = 200;

/**
 * What a host said about an error, fit to be shown: one short line without control characters and without our secrets, which a
 * host may well repeat. Undefined if it said nothing. Never decided upon: texts change.
 */
export function hostText(body: unknown, secrets: readonly string[]): string | undefined {
  const parts = textsOf(body).join(': ');
  if (parts === '') return undefined;
  // Secrets first: cut in two they would no longer be found.
  const clean = redact(parts.slice(0, 20_000), secrets)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return clean.length > MAX_CHARS ? `${clean.slice(0, MAX_CHARS)}…` : clean || undefined;
}

export function redact(text: string, secrets: readonly string[]): string {
  const spellings = secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]);
  return spellings.reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text);
}

/** `message`, `error` and what is in `errors`: GitHub's, GitLab's and Gitea's ways to say it. */
function textsOf(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return [];
  const { message, error, error_description: description, errors } = body as Record<string, unknown>;
  const inner = Array.isArray(errors) ? errors.slice(0, 5) : [];
  const said = [message, error, description, ...inner.map((entry: unknown) => innerText(entry))];
  return said.flatMap((value) => {
    if (typeof value === 'string') return [value];
    return typeof value === 'object' && value !== null ? fieldTexts(value) : [];
  });
}

/** GitLab's validation errors: {"message": {"field": ["what is wrong"]}}. Of anything deeper nothing is read. */
function fieldTexts(fields: object): string[] {
  return Object.entries(fields)
    .slice(0, 5)
    .map(([field, wrong]: [string, unknown]) => {
      const texts = (Array.isArray(wrong) ? wrong.slice(0, 5) : [wrong]).filter((text) => typeof text === 'string');
      return [field.slice(0, 100), ...texts].join(' ');
    });
}

function innerText(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null && 'message' in entry ? entry.message : entry;
}
