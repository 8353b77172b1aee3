import type { WireCodec } from '../formats/codec.ts'
import type { ErrorInfo, JsonObject } from '../formats/ir.ts'
import { lazily } from '../lazily.ts'
import type { Operation, OperationName } from './operation.ts'
import { encodeError as encodeRerankError } from './rerank/error.ts'

type AnyOperation = Operation<unknown, unknown>

const audio = () => import('./audio/index.ts')
const images = () => import('./images/index.ts')

/** Every operation beside chat, each loaded by its first call. A new one adds itself here and to the routes. */
const operations: { readonly [O in OperationName]: () => AnyOperation | Promise<AnyOperation> } = {
  completions: lazily(() => import('./completions/index.ts').then(({ completions }) => completions)),
  embeddings: lazily(() => import('./embeddings/index.ts').then(({ embeddings }) => embeddings)),
  rerank: lazily(() => import('./rerank/index.ts').then(({ rerank }) => rerank)),
  moderations: lazily(() => import('./moderations.ts').then(({ moderations }) => moderations)),
  images: lazily(() => images().then(({ images }) => images)),
  'image-edits': lazily(() => images().then(({ imageEdits }) => imageEdits)),
  'image-variations': lazily(() => images().then(({ imageVariations }) => imageVariations)),
  transcriptions: lazily(() => audio().then(({ transcriptions }) => transcriptions)),
  translations: lazily(() => audio().then(({ translations }) => translations)),
  speech: lazily(() => audio().then(({ speech }) => speech)),
  'realtime-sessions': lazily(() => import('./realtime-sessions.ts').then((found) => found.realtimeSessions)),
}

/** The operation of a route: at once where it has been loaded. */
export const operationOf = (name: OperationName): AnyOperation | Promise<AnyOperation> => operations[name]()

/** What answers calls of every operation: at once where it has been loaded. */
export const operationAnswerer = lazily(() =>
  import('./answer-operation.ts').then(({ answerOperation }) => answerOperation),
)

/** The bodies of errors for clients of operations that read others than those of the route's format. */
const errorBodies: { readonly [O in OperationName]?: (error: ErrorInfo, requestId: string) => JsonObject } = {
  rerank: encodeRerankError,
}

/** The codec of a route whose operation has its own way to tell errors; else the codec as it is. */
export function tellingErrors(codec: WireCodec, name: OperationName): WireCodec {
  const errorBody = errorBodies[name]
  if (errorBody === undefined) return codec
  return {
    ...codec,
    encodeError: (error, requestId) => ({
      ...codec.encodeError(error, requestId),
      body: errorBody(error, requestId),
    }),
  }
}
