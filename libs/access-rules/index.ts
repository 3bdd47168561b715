export * from './decide.js';
export { isForEverybody } from './for-everybody.js';
export * from './impersonation.js';
export { holds } from './narrowing.js';
export * from './read-attributes.js';
export * from './request-attributes.js';
export * from './rule.js';
export { askRules, narrowRules, MAX_RULES_ANSWER_BYTES, type AskedRules } from './rules-review.js';
export { MAX_REVIEW_BYTES, reviewAccess, selfReviewOf, type ReviewOutcome } from './self-review.js';
