import { OutboxRow } from '@fairlead/events';
import * as entities from './store/entities.js';
import * as gitEntities from './store/git-entities.js';

export { meterCertificates } from './feature/meter-certificates.js';
export { masterKeyFrom, masterKeyGiven, masterKeyInFile, type KeySource, type MasterKey } from './store/master-key.js';
export { envelopeSealer, type KeyEncryption, type Sealer, type WrappedKey } from './store/sealer.js';
export { masterKeyInToken, type TokenKeyOptions } from './kms/pkcs11/master-key-in-token.js';
export { masterKeyInVault, type VaultKeyOptions } from './kms/vault/master-key-in-vault.js';
export { KEYS_MIGRATIONS } from './store/migrations.js';
export { CertificateIssuer } from './feature/certificate-issuer.js';
export { ClusterWatch, type BelongsTo, type CurrentEnrolment } from './feature/cluster-watch.js';
export { CurrentCa, type CurrentCaOptions } from './feature/current-ca.js';
export { importCa, requestIssuing, type Imported, type ImportedFiles } from './feature/import-ca.js';
export { DEFAULT_TRUST_DOMAIN } from './feature/load-ca.js';
export { LinkEndpoints } from './feature/link-endpoints.js';
export { raiseTrust } from './feature/raise-trust.js';
export { keepUp } from './feature/keep-up.js';
export { Revocations } from './feature/revocations.js';
export { SERVING_STEPS, rotateServingRoot, type ServingStep } from './feature/serving-rotation.js';
export { ReplicaWatch } from './feature/replica-watch.js';
export { rewrapMasterKey, sealedStatus, type RewrapOptions, type SealedStatus } from './feature/rewrap.js';
export { Rotation } from './feature/rotation.js';
export { KEYS_BUCKETS } from './feature/projected-buckets.js';
export { openGitKeys, type GitKeys, type GitKeysOptions } from './feature/git/git-keys.js';
export { watchHostKeys } from './feature/git/host-key-watch.js';
export { KeysModule } from './feature/keys.module.js';

export const KEYS_ENTITIES = [...Object.values(entities), ...Object.values(gitEntities), OutboxRow];
