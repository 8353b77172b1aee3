import { lazy } from '../base/async.ts'
import type { OperationName } from '../base/names.ts'
import { type ModelPlaces, modelPlaces, routerPlaces } from '../formats/shared/model-places.ts'
import type { AnyOperation } from './operation.ts'
import { realtimePlaces } from './realtime/messages.ts'

const loadAudio = () => import('./audio/audio.ts')
const loadImages = () => import('./images/images.ts')

/**
 * The definition of every operation other than chat generation, a promise until its first call has loaded it. To add an operation,
 * add it here, to `OperationName` (base/names.ts) and to the routes; the compiler reports what is missing.
 */
export const modelOperations: { readonly [O in OperationName]: () => AnyOperation | Promise<AnyOperation> } = {
  completions: lazy(() => import('./completions/completions.ts').then(({ completions }) => completions)),
  embeddings: lazy(() => import('./embeddings/embeddings.ts').then(({ embeddings }) => embeddings)),
  rerank: lazy(() => import('./rerank/rerank.ts').then(({ rerank }) => rerank)),
  moderations: lazy(() => import('./moderations.ts').then(({ moderations }) => moderations)),
  images: lazy(() => loadImages().then(({ images }) => images)),
  'image-edits': lazy(() => loadImages().then(({ imageEdits }) => imageEdits)),
  'image-variations': lazy(() => loadImages().then(({ imageVariations }) => imageVariations)),
  transcriptions: lazy(() => loadAudio().then(({ transcriptions }) => transcriptions)),
  translations: lazy(() => loadAudio().then(({ translations }) => translations)),
  speech: lazy(() => loadAudio().then(({ speech }) => speech)),
  'realtime-sessions': lazy(() => import('./realtime/sessions.ts').then(({ realtimeSessions }) => realtimeSessions)),
}

/** Operations without fields of their own that name a model. */
const common = modelPlaces(routerPlaces)

/** A language model writes drawings in SVG. */
const drawings = modelPlaces({ ...routerPlaces, names: [...routerPlaces.names, 'svg.model'] })

/** Gemini's operations other than generation: each request of a batch repeats the path's model. */
const gemini = modelPlaces({
  ...routerPlaces,
  names: [...routerPlaces.names, 'requests[].model'],
  protobuf: true,
})

/** The members that name a model in the requests of each operation, by the client's dialect. */
const places: { readonly [O in OperationName]: { readonly [dialect: string]: ModelPlaces } } = {
  completions: { openai: common },
  embeddings: { openai: common, gemini: gemini, 'gemini-batch': gemini, vertex: gemini },
  rerank: { jina: common, cohere: common },
  moderations: { openai: common },
  images: { openai: drawings, imagen: gemini },
  'image-edits': { openai: drawings },
  'image-variations': { openai: drawings },
  transcriptions: { openai: common },
  translations: { openai: common },
  speech: { openai: common },
  'realtime-sessions': { 'client-secrets': realtimePlaces, sessions: realtimePlaces },
}

/** Returns the members of requests that name a model. Throws TypeError for a dialect without a list: its requests could name any model. */
export function placesOf(operation: OperationName, dialect: string): ModelPlaces {
  const found = places[operation][dialect]
  if (found === undefined) throw new TypeError(`No list of model places for '${operation}' in the dialect '${dialect}'`)
  return found
}
