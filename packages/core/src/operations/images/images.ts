import { modelPlaces, routerPlaces } from '../../formats/shared/model-places.ts'
import type { Operation } from '../operation.ts'
import { gemini, imagen } from './gemini.ts'
import { edits, generations, variations } from './openai.ts'
import type { ImagesAnswer, ImagesRequest } from './request.ts'

/** Drawings in SVG are written by a language model. */
const imagePlaces = modelPlaces({ ...routerPlaces, names: [...routerPlaces.names, 'svg.model'] })

const counts = {
  usageOf: ({ usage }: ImagesAnswer) => usage,
  unitsOf: ({ images }: ImagesAnswer) => ({ images: images.length }),
}

/** Images from words. */
export const images: Operation<ImagesRequest, ImagesAnswer> = {
  name: 'images',
  modelPlaces: imagePlaces,
  dialects: [generations, imagen, gemini],
  ...counts,
}

/** Images from images and words. */
export const imageEdits: Operation<ImagesRequest, ImagesAnswer> = {
  name: 'image-edits',
  modelPlaces: imagePlaces,
  dialects: [edits, { ...gemini, serves: (model) => imagen.serves?.(model) !== true }],
  ...counts,
}

/** Images like an image: nobody but OpenAI does that. */
export const imageVariations: Operation<ImagesRequest, ImagesAnswer> = {
  name: 'image-variations',
  modelPlaces: imagePlaces,
  dialects: [variations],
  ...counts,
}
