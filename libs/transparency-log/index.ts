export { EMPTY_ROOT, HASH_BYTES, hashChildren, hashLeaf, sameHash, type Hash } from './merkle/hashes.js';
export {
  EMPTY_EDGE,
  appendHashes,
  rootOf,
  type AppendedHashes,
  type TileData,
  type TreeEdge,
} from './merkle/growing-tree.js';
export {
  proveConsistency,
  proveInclusion,
  verifyConsistency,
  verifyInclusion,
  type ConsistencyClaim,
  type InclusionClaim,
} from './merkle/proofs.js';
export { EMPTY_LOG, appendBatch, type AppendedBatch, type BundleData, type LogEdge } from './append-batch.js';
export {
  TILE_WIDTH,
  entryBundlePath,
  hashesAtLevel,
  levelsOf,
  parsePath,
  partialTiles,
  tileAt,
  tilePath,
  type EntryBundle,
  type ParsedPath,
  type Tile,
} from './tiles/tile.js';
export { MAX_ENTRY_BYTES, decodeEntryBundle, encodeEntryBundle, type DecodedBundle } from './tiles/entry-bundle.js';
export { readEdge, type TileReader } from './tiles/tile-reader.js';
export { TileFolder } from './tiles/tile-folder.js';
export {
  cosignedAt,
  cosigner,
  noteSigner,
  parseVerifierKey,
  renamedVerifier,
  verifierKey,
  type NoteSigner,
  type NoteVerifier,
  type SignatureType,
} from './note/keys.js';
export {
  formatNote,
  openNote,
  parseNote,
  signNote,
  type NoteSignature,
  type OpenedNote,
  type SignedNote,
} from './note/signed-note.js';
export {
  formatCheckpoint,
  openCheckpoint,
  parseCheckpoint,
  signCheckpoint,
  type Checkpoint,
  type OpenedCheckpoint,
} from './checkpoint/checkpoint.js';
export { NONCE_BYTES, commitToBody, isCommittedBody, newNonce } from './erasable-body.js';
export {
  describeProblem,
  verifyLog,
  type KnownTree,
  type LogProblem,
  type LogVerdict,
  type ProblemKind,
} from './verify-log.js';
export {
  SIZE_MEDIA_TYPE,
  decodeAddCheckpoint,
  decodeSize,
  encodeAddCheckpoint,
  type AddCheckpoint,
} from './witness/add-checkpoint.js';
export {
  addCheckpoint,
  addSignatures,
  cosignByWitness,
  type AskOptions,
  type Witness,
  type WitnessAnswer,
  type WitnessRefusal,
  type WitnessedCheckpoint,
} from './witness/ask-witness.js';
export {
  countingPolicy,
  isFulfilledBy,
  parseWitnessPolicy,
  verifyPolicy,
  type PolicyVerdict,
  type PolicyWitness,
  type WitnessPolicy,
} from './witness/policy.js';
