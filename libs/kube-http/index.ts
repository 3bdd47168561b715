export { locatedWithin } from './answer-location.js';
export { readAskedHost, type AskedHost } from './cluster-host.js';
export { relayAnswer } from './relay-answer.js';
export { assertAcceptable, impersonationHeaders, type TunnelIdentity } from './impersonation.js';
export { isLongRunning, isWatch, parseKubePath, whyAmbiguous, type KubePath } from './kube-path.js';
export { kubeRoute } from './kube-route.js';
export { toKubeStatus, type FailedAt, type KubeStatus } from './kube-status.js';
export {
  asksToImpersonate,
  bodyFraming,
  fromClient,
  fromServer,
  fromTunnel,
  headerPairs,
  headerValues,
  readImpersonation,
  withAuditId,
  type AskedImpersonation,
  type BodyFraming,
  type RawHeaders,
} from './request-headers.js';
export { requestHop, type HopAnswer, type UpstreamAnswer, type UpstreamRequest } from './request-hop.js';
export { ordinaryAnswer, switchProtocols } from './answer-upgrade.js';
export { readStreamRequest, type StreamRequest } from './stream-request.js';
export { tellUpstreamMs, upstreamMs } from './upstream-time.js';
export { CLOSE_CODES, FramePosition, closeFrame } from './websocket-frames.js';
export { protocolAsked, readUpgrade, requestUpgrade, upgradeHeaders, type Upgrade } from './upgrade.js';
