import { lazy } from '../base/lazy.ts'
import type { OperationName } from '../base/names.ts'
import type { Operation } from './operation.ts'

/** An operation whose request and response types only its own dialects know. */
export type AnyOperation = Operation<unknown, unknown>

const audio = () => import('./audio/audio.ts')
const images = () => import('./images/images.ts')

/**
 * The definition of every operation other than chat generation, loaded by its first call: a promise until then. A new operation
 * is added here, to `OperationName` (base/names.ts) and to the routes; the compiler reports what is missing.
 */
export const modelOperations: { readonly [O in OperationName]: () => AnyOperation | Promise<AnyOperation> } = {
  completions: lazy(() => import('./completions/completions.ts').then(({ completions }) => completions)),
  embeddings: lazy(() => import('./embeddings/embeddings.ts').then(({ embeddings }) => embeddings)),
  rerank: lazy(() => import('./rerank/rerank.ts').then(({ rerank }) => rerank)),
  moderations: lazy(() => import('./moderations.ts').then(({ moderations }) => moderations)),
  images: lazy(() => images().then(({ images }) => images)),
  'image-edits': lazy(() => images().then(({ imageEdits }) => imageEdits)),
  'image-variations': lazy(() => images().then(({ imageVariations }) => imageVariations)),
  transcriptions: lazy(() => audio().then(({ transcriptions }) => transcriptions)),
  translations: lazy(() => audio().then(({ translations }) => translations)),
  speech: lazy(() => audio().then(({ speech }) => speech)),
  'realtime-sessions': lazy(() => import('./realtime/sessions.ts').then(({ realtimeSessions }) => realtimeSessions)),
}
