/** What a replica reports as events. Implemented on JetStream by the app; must not block and must not throw. */
export interface GatewayEvents {
  agentConnected(session: { tenantId: string; clusterId: string; sessionId: string; generation: number }): void;
  agentDisconnected(session: { tenantId: string; clusterId: string; sessionId: string; generation: number }): void;
  accessRefused(refusal: {
    readonly code: string;
    readonly reason: string;
    readonly address: string;
    readonly door: 'link' | 'kube-api' | 'relay';
    readonly tenantId?: string;
    readonly cluster?: string;
    readonly user?: string;
  }): void;
}
