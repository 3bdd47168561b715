export { SoftToken } from './soft-token.js';
