import { OutboxRow } from '@fairlead/events';
import { AuthorityRow, CertificateRow, RevocationRow } from './store/entities.js';

export { CertificateAuthority, type Authorities } from './domain/certificate-authority.js';
export { openAuthorities, type OpenAuthoritiesOptions } from './store/authority-store.js';
export { KEYS_MIGRATIONS } from './store/migrations.js';
export { CertificateIssuer, type CertificateIssuerOptions } from './feature/certificate-issuer.js';
export { Revocations, type RevocationsOptions } from './feature/revocations.js';
export { KEYS_BUCKETS } from './feature/projected-buckets.js';
export { KeysModule } from './feature/keys.module.js';

export const KEYS_ENTITIES = [AuthorityRow, CertificateRow, RevocationRow, OutboxRow];
