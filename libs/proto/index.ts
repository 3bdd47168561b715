export * from './gen/fairlead/link/v1/link_pb.js';
