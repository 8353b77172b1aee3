import type { Codec } from '../formats/codec.ts'
import { speech, transcriptions, translations } from './audio/index.ts'
import { completions } from './completions/index.ts'
import { embeddings } from './embeddings/index.ts'
import { imageEdits, images, imageVariations } from './images/index.ts'
import { moderations } from './moderations.ts'
import type { Dialect, Operation, OperationName } from './operation.ts'
import { realtimeSessions } from './realtime-sessions.ts'
import { rerank } from './rerank/index.ts'

/** Every operation beside chat. A new one adds itself here and to the routes. */
export const operations: { readonly [O in OperationName]?: Operation<unknown, unknown> } = {
  completions,
  embeddings,
  rerank,
  moderations,
  images,
  'image-edits': imageEdits,
  'image-variations': imageVariations,
  transcriptions,
  translations,
  speech,
  'realtime-sessions': realtimeSessions,
}

/** The operation of a route and the dialect of its clients. Throws for a route whose operation is not there. */
export function operationOf(
  name: OperationName,
  dialectName: string | undefined,
): { readonly operation: Operation<unknown, unknown>; readonly dialect: Dialect<unknown, unknown> } {
  const operation = operations[name]
  const dialect = operation?.dialects.find((one) => one.name === dialectName)
  if (operation === undefined || dialect === undefined || (dialect.validate ?? dialect.form) === undefined)
    throw new TypeError(`No operation '${name}' in the dialect '${dialectName}'`)
  return { operation, dialect }
}

/** The codec of a route whose dialect has its own way to tell errors; else the codec as it is. */
export function tellingErrors(codec: Codec, name: OperationName, dialectName: string): Codec {
  const { encodeError } = operations[name]?.dialects.find((one) => one.name === dialectName) ?? {}
  if (encodeError === undefined) return codec
  return {
    ...codec,
    encodeError: (error, requestId) => ({
      ...codec.encodeError(error, requestId),
      body: encodeError(error, requestId),
    }),
  }
}
