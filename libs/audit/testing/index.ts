export { newEpoch, passage, passages } from './audit-fixture.js';
