import type { Facts } from '@fairlead/proto';
import type { AgentFacts } from './ports.js';

/** As a message of the link. */
export function wireFacts({ nodes, capabilities = [], ...words }: AgentFacts): Facts {
  return {
    $typeName: 'fairlead.link.v1.Facts',
    distribution: '',
    provider: '',
    ...words,
    capabilities: [...capabilities],
    ...(nodes && { nodes: { $typeName: 'fairlead.link.v1.NodeCount', ...nodes } }),
  };
}
