export * from './request-attributes.js';
export * from './rule.js';
