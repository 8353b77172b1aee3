import type { Format } from '../../../base/names.ts'
import type { ObjectCall } from '../object-call.ts'
import type { BatchDialect } from './batch-dialect.ts'
import { fileBatches } from './file-batches.ts'
import { messageBatches } from './message-batches.ts'

/** The dialects of batches, by the format of the client. */
const batchDialects: { readonly [F in Format]?: BatchDialect } = {
  chat: fileBatches,
  messages: messageBatches,
}

/** Returns the dialect of a call about batches; undefined for other objects. */
export const batchDialectOf = ({ call, dialect }: Pick<ObjectCall, 'call' | 'dialect'>): BatchDialect | undefined =>
  dialect.isBatch === true ? batchDialects[call.codec.format] : undefined
