export * from './decide.js';
export { isForEverybody } from './for-everybody.js';
export * from './impersonation.js';
export { holds } from './narrowing.js';
export * from './read-attributes.js';
export * from './request-attributes.js';
export * from './rule.js';
