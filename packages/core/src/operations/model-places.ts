import type { OperationName } from '../base/names.ts'
import { type ModelPlaces, modelPlaces, routerPlaces } from '../formats/shared/model-places.ts'
import { realtimePlaces } from './realtime/places.ts'

/** Operations that have no places of their own. */
const common = modelPlaces(routerPlaces)

/** Drawings in SVG are written by a language model. */
const images = modelPlaces({ ...routerPlaces, names: [...routerPlaces.names, 'svg.model'] })

/** Google's operations other than generation: each request of a batch repeats the path's model. */
const google = modelPlaces({
  ...routerPlaces,
  names: [...routerPlaces.names, 'requests[].model'],
  protobuf: true,
})

/** The members that name a model in requests of each operation, by the dialects of its clients. */
const places: { readonly [O in OperationName]: { readonly [dialect: string]: ModelPlaces } } = {
  completions: { openai: common },
  embeddings: { openai: common, gemini: google, 'gemini-batch': google, vertex: google },
  rerank: { jina: common, cohere: common },
  moderations: { openai: common },
  images: { openai: images, imagen: google },
  'image-edits': { openai: images },
  'image-variations': { openai: images },
  transcriptions: { openai: common },
  translations: { openai: common },
  speech: { openai: common },
  'realtime-sessions': { 'client-secrets': realtimePlaces, sessions: realtimePlaces },
}

/** Throws TypeError for a dialect without a list: its requests could name any model. */
export function placesOf(operation: OperationName, dialect: string): ModelPlaces {
  const found = places[operation][dialect]
  if (found === undefined) throw new TypeError(`No list of model places for '${operation}' in the dialect '${dialect}'`)
  return found
}
