import { lazily } from '../base/lazy.ts'
import type { OperationName } from '../base/names.ts'
import type { Operation } from './operation.ts'

/** An operation whose request and response types only its own dialects know. */
export type AnyOperation = Operation<unknown, unknown>

const audio = () => import('./audio/index.ts')
const images = () => import('./images/index.ts')

/**
 * The definition of every operation other than chat generation, loaded by its first call: a promise until then. A new operation
 * is added here, to `OperationName`, to `handlers` (dispatch.ts) and to the routes; the compiler reports what is missing.
 */
export const modelOperations: { readonly [O in OperationName]: () => AnyOperation | Promise<AnyOperation> } = {
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
  'realtime-sessions': lazily(() => import('./realtime/sessions.ts').then(({ realtimeSessions }) => realtimeSessions)),
}
