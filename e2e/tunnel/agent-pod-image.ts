/** What import manifests name where an agent is to run in a pod: no registry has it, the test kubelet does (`stories/agent-pod.ts`). */
export const AGENT_POD_IMAGE = 'registry.example.test/fairlead/agent:1';
