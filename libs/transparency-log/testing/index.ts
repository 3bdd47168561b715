export { LogInMemory, entries } from './log-in-memory.js';
export { naiveConsistency, naiveInclusion, naiveRoot } from './naive-tree.js';
export { policyText, startTestWitness, type TestWitness, type TestWitnessOptions } from './test-witness.js';
