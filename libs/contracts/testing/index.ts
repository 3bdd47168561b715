export { passage, passages } from './passages.js';
