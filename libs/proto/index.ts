export * from './gen/fairlead/link/v1/link_pb.js';
export * from './gen/kubernetes/authorization/v1/review_pb.js';
