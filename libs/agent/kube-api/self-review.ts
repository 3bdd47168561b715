import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { MAX_REVIEW_BYTES, MAX_RULES_ANSWER_BYTES, askRules, narrowRules, reviewAccess } from '@fairlead/access-rules';
import { FairleadError } from '@fairlead/errors';
import { headerPairs, headerValues, type BodyFraming, type UpstreamAnswer } from '@fairlead/kube-http';
import { PROTOBUF, jsonOfReview } from './protobuf-review.js';
import type { RequestPlan } from './stated-requests.js';

/** A request's body, as it is sent on. */
export interface SentBody {
  readonly incoming: Readable & { readonly method?: string | undefined };
  readonly framing: BodyFraming;
}

/** What becomes of a review: an answer of ours, or a question with other groups and another body. */
export type Reviewed =
  | { readonly kind: 'answered'; readonly body: string }
  | {
      readonly kind: 'asked';
      readonly groups: readonly string[];
      readonly body: SentBody;
      /** Of the request, in the place of those that spoke of the old body. */
      readonly headers: readonly string[];
      /** What the answer is passed on as; absent: as it is. */
      readonly rewrite?: (answer: string) => string;
    };

/**
 * Reads a review of its sender's own rights, in JSON or in Kubernetes' protobuf, and decides it; it goes on as JSON. Throws UNSUPPORTED_MEDIA_TYPE for
 * another encoding, TOO_LARGE, and INVALID_ARGUMENT for one that cannot be read.
 */
export async function reviewRequest(
  incoming: IncomingMessage,
  { of, statement: { rules, statement }, as }: Extract<RequestPlan, { kind: 'review' }>,
): Promise<Reviewed> {
  const encoding = encodingOf(incoming);
  const bytes = await readAll(incoming, MAX_REVIEW_BYTES, 'the review');
  const text = encoding === 'protobuf' ? jsonOfReview(bytes, of) : bytes.toString('utf8');
  if (of === 'access') {
    const outcome = reviewAccess(rules, text, as);
    if (outcome.kind === 'answered') return outcome;
    return { kind: 'asked', groups: outcome.groups, ...sent(incoming, outcome.body) };
  }
  if (as)
    throw new FairleadError('FORBIDDEN', 'what somebody else may do is not listed here; ask for one verb and resource');
  const asked = askRules(statement.rules, text);
  return {
    kind: 'asked',
    groups: asked.groups,
    ...sent(incoming, asked.body, ['Accept', 'application/json']),
    rewrite: (answer) => narrowRules(statement.rules, asked.namespace, answer),
  };
}

/** Of an answer that is passed on as something else. Throws TUNNEL_RESET for one that breaks off. */
export async function readAnswer(answer: UpstreamAnswer): Promise<string> {
  return (await readAll(answer, MAX_RULES_ANSWER_BYTES, 'the kube-apiserver’s answer')).toString('utf8');
}

const ENCODINGS: Readonly<Record<string, 'json' | 'protobuf'>> = { 'application/json': 'json', [PROTOBUF]: 'protobuf' };

/** Nothing that speaks of another body than the one that is sent. */
const OF_THE_BODY = new Set(['content-length', 'content-type', 'content-encoding']);
const OF_THE_ANSWER = new Set(['accept', 'accept-encoding']);

/** The headers without those that are given here anew, and with those. */
export function withHeaders(raw: readonly string[], own: readonly string[]): string[] {
  const named = new Set([...headerPairs(own)].map(([name]) => name.toLowerCase()));
  const gone = (name: string): boolean =>
    named.has(name) || OF_THE_BODY.has(name) || (named.has('accept') && OF_THE_ANSWER.has(name));
  return [...[...headerPairs(raw)].filter(([name]) => !gone(name.toLowerCase())).flat(), ...own];
}

function sent(
  { method }: IncomingMessage,
  json: string,
  more: readonly string[] = [],
): { readonly body: SentBody; readonly headers: readonly string[] } {
  const bytes = Buffer.from(json);
  const incoming = Object.assign(Readable.from([bytes]), { method });
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(bytes.length), ...more];
  return { body: { incoming, framing: 'length' }, headers };
}

function encodingOf({ rawHeaders }: IncomingMessage): 'json' | 'protobuf' {
  const [type = 'application/json', ...others] = headerValues(rawHeaders, 'content-type');
  const [mediaType = ''] = type.split(';');
  const encoding = ENCODINGS[mediaType.trim().toLowerCase()];
  const isPlain = others.length === 0 && headerValues(rawHeaders, 'content-encoding').length === 0;
  if (encoding && isPlain) return encoding;
  const why = `a review of your own rights is read here as application/json or ${PROTOBUF}, uncompressed`;
  throw new FairleadError('UNSUPPORTED_MEDIA_TYPE', why);
}

/** Not by `for await`, which ends the connection of a request that it leaves early: its sender is to be told why. */
function readAll(from: Readable, maxBytes: number, what: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    from.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= maxBytes) pieces.push(piece);
      else reject(new FairleadError('TOO_LARGE', `${what} is larger than ${maxBytes} bytes`));
    });
    from.once('end', () => resolve(Buffer.concat(pieces)));
    const brokeOff = (): void => reject(new FairleadError('TUNNEL_RESET', `${what} broke off`));
    from.once('error', brokeOff).once('aborted', brokeOff).once('close', brokeOff);
  });
}
