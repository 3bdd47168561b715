import { Code, ConnectError } from '@connectrpc/connect';
import { FairleadError, isErrorCode, toFairleadError } from '@fairlead/errors';

/** Carries our own code beside gRPC's coarser one. */
export const CODE_HEADER = 'fairlead-code';

/** As an error of a gRPC call: status from the table, our code in the metadata. */
export function toConnectError(error: unknown): ConnectError {
  const { code, message, kind } = toFairleadError(error);
  return new ConnectError(message, kind.grpc, { [CODE_HEADER]: code });
}

/** The other way round, at the client. A failure of the transport itself is UNAVAILABLE. */
export function fromConnectError(error: unknown): FairleadError {
  if (error instanceof FairleadError) return error;
  const connectError = ConnectError.from(error);
  const code = connectError.metadata.get(CODE_HEADER);
  if (isErrorCode(code)) return new FairleadError(code, connectError.rawMessage, { cause: error });
  const unavailable = connectError.code === Code.DeadlineExceeded ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE';
  return new FairleadError(unavailable, connectError.rawMessage, { cause: error });
}
