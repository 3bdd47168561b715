import { Code, ConnectError } from '@connectrpc/connect';
import { fullJitterMs, type Clock } from '@fairlead/clock';
import { BundleLimits, HANDOVER } from '@fairlead/desired-state/carried';
import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { Wake } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import { fromConnectError } from '@fairlead/tunnel/link';
import type { CarryingLink, HandoverMaps } from './ports.js';

const PIECE_TIMEOUT_MS = 15_000;
/** The largest has six pieces of the size that gateways give. */
const MAX_PIECES = 64;
const RETRY = { baseMs: 1_000, capMs: 120_000 };
/** A gateway that does not know the call is upgraded some day. */
const UNKNOWN_CALL_MS = 600_000;
/** The installer had so long to see what was brought; one that still wants it gets it anew. */
const SEEN_MS = 300_000;
const NO_LINK_MS = 5_000;
/** What came before one of these is good still. */
const GOES_ON: ReadonlySet<ErrorCode> = new Set(['DEADLINE_EXCEEDED', 'RATE_LIMITED', 'UNAVAILABLE']);

export interface BundleFetcherOptions {
  readonly maps: HandoverMaps;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Those that stand. */
  readonly links: () => readonly CarryingLink[];
}

/** What came so far of one that broke off. */
interface Pieces {
  readonly digest: string;
  readonly pieces: Uint8Array[];
  offset: number;
  /** 0: not known yet. */
  whole: number;
}

/** Fetches the bundle that the installer asks for and puts it where that finds it. Whether it is the right one, the installer sees. */
export class BundleFetcher {
  readonly #options: BundleFetcherOptions;
  readonly #wake = new Wake();
  #desired: string | null = null;
  #pieces: Pieces | null = null;
  #brought: { readonly digest: string; readonly atMs: number } | null = null;

  constructor(options: BundleFetcherOptions) {
    this.#options = options;
  }

  /** Null: none. */
  want(digest: string | null): void {
    if (digest === this.#desired) return;
    this.#desired = digest;
    this.#wake.call();
  }

  /** Until the signal; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let attempt = 0; !signal.aborted;) {
      const [digest, link] = [this.#desired, this.#anyLink()];
      if (digest === null || this.#isThere(digest) || !link) {
        attempt = 0;
        await this.#wake.wait(clock, (link ? SEEN_MS : NO_LINK_MS) * (0.5 + Math.random()), signal);
        continue;
      }
      const waitMs = await this.#bring(digest, link, attempt, signal);
      attempt = waitMs === 0 ? 0 : attempt + 1;
      if (waitMs > 0) await this.#wake.wait(clock, waitMs, signal);
    }
  }

  #isThere(digest: string): boolean {
    const { clock } = this.#options;
    return this.#brought?.digest === digest && clock.monotonicMs() - this.#brought.atMs < SEEN_MS;
  }

  /** Any: one replica that gives wrong bytes is not asked for ever. */
  #anyLink(): CarryingLink | undefined {
    const links = this.#options.links();
    return links[Math.floor(Math.random() * links.length)];
  }

  /** How long to wait before the next try; 0: it is there. */
  async #bring(digest: string, link: CarryingLink, attempt: number, signal: AbortSignal): Promise<number> {
    const { maps, clock, logger } = this.#options;
    try {
      const gzip = await this.#fetch(digest, link, signal);
      await maps.write(HANDOVER.bundle, { binaryData: { [HANDOVER.keys.bundle]: gzip.toString('base64') } });
      this.#brought = { digest, atMs: clock.monotonicMs() };
      this.#pieces = null;
      logger.info('bundle.brought', { digest, bytes: gzip.length });
      return 0;
    } catch (error) {
      const { code, message } = fromConnectError(error);
      if (!signal.aborted) logger.warn('bundle.not_brought', { digest, attempt, code, reason: message });
      if (!GOES_ON.has(code)) this.#pieces = null;
      return isUnknownCall(error) ? UNKNOWN_CALL_MS * (0.5 + Math.random()) : fullJitterMs(attempt + 1, RETRY) + 1;
    }
  }

  /** From where it broke off. PROTOCOL_ERROR for what is no bundle's pieces: larger than any, another size than said, or endless. */
  async #fetch(digest: string, link: CarryingLink, signal: AbortSignal): Promise<Buffer> {
    if (this.#pieces?.digest !== digest) this.#pieces = { digest, pieces: [], offset: 0, whole: 0 };
    const had = this.#pieces;
    while (had.whole === 0 || had.offset < had.whole) {
      const request = { digest, offset: had.offset };
      const { piece, compressedBytes } = await link.fetchBundle(request, { timeoutMs: PIECE_TIMEOUT_MS, signal });
      const same = had.whole === 0 || compressedBytes === had.whole;
      had.whole = compressedBytes;
      had.offset += piece.length;
      had.pieces.push(piece);
      const fits =
        had.whole <= BundleLimits.maxCompressedBytes && had.offset <= had.whole && had.pieces.length <= MAX_PIECES;
      if (!same || !fits || piece.length === 0) {
        throw new FairleadError('PROTOCOL_ERROR', 'the gateway sent pieces that make no bundle');
      }
    }
    return Buffer.concat(had.pieces);
  }
}

function isUnknownCall(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unimplemented;
}
