export { decideTarget, type TargetDecision, type TargetGrant } from './granted-targets.js';
export { readConnectTarget, readTargetHost } from './target-address.js';
export { TargetPolicy, parseTargetRule, type TargetRule } from './target-policy.js';
