/** What the data path counts into. The metrics of gateway and agent are these; the path knows no registry and no names. */

/** Something that is counted, by labels. */
export interface Counted<Label extends string> {
  inc(labels: Readonly<Record<Label, string>>): void;
}

/** How many of something there are now. */
export interface Level {
  inc(): void;
  dec(): void;
}

/** Sums that grow elsewhere: read from now on, until the result is called. */
export interface Followed {
  follow(read: () => Readonly<Record<string, number>>): () => void;
}
